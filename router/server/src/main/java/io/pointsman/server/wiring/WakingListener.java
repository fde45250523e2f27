package io.pointsman.server.wiring;

import io.pointsman.control.health.WakeOnDemand;
import io.pointsman.proxy.telemetry.ForwardingListener;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestEvent;
import io.pointsman.proxy.telemetry.RequestEvent.WorkerAwaited;
import java.util.function.BooleanSupplier;

/** Reports requests that wait for a worker to {@link WakeOnDemand}. */
final class WakingListener extends ForwardingListener {
  private final WakeOnDemand wakes;
  private final BooleanSupplier enabled;

  /**
   * @param enabled true if engines are woken; may change
   */
  WakingListener(ProxyListener next, WakeOnDemand wakes, BooleanSupplier enabled) {
    super(next);
    this.wakes = wakes;
    this.enabled = enabled;
  }

  @Override
  protected void read(RequestEvent event) {
    if (event instanceof WorkerAwaited awaited && awaited.begins() && enabled.getAsBoolean()) {
      wakes.wanted(awaited.model());
    }
  }
}
