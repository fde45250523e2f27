package io.pointsman.server.wiring;

import io.pointsman.control.health.WakeOnDemand;
import io.pointsman.proxy.telemetry.ForwardingListener;
import io.pointsman.proxy.telemetry.ProxyListener;
import org.jspecify.annotations.Nullable;

/** Reports requests that wait for a worker to {@link WakeOnDemand}. */
final class WakingListener extends ForwardingListener {
  private final WakeOnDemand wakes;

  WakingListener(ProxyListener next, WakeOnDemand wakes) {
    super(next);
    this.wakes = wakes;
  }

  @Override
  public void awaitsWorker(@Nullable String model, boolean begins) {
    super.awaitsWorker(model, begins);
    if (begins) {
      wakes.wanted(model);
    }
  }
}
