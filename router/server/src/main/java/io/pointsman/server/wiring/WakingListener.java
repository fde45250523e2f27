package io.pointsman.server.wiring;

import io.pointsman.control.health.WakeOnDemand;
import io.pointsman.proxy.telemetry.ForwardingListener;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestEvent;
import io.pointsman.proxy.telemetry.RequestEvent.WorkerAwaited;

/** Reports requests that wait for a worker to {@link WakeOnDemand}. */
final class WakingListener extends ForwardingListener {
  private final WakeOnDemand wakes;

  WakingListener(ProxyListener next, WakeOnDemand wakes) {
    super(next);
    this.wakes = wakes;
  }

  @Override
  protected void read(RequestEvent event) {
    if (event instanceof WorkerAwaited awaited && awaited.begins()) {
      wakes.wanted(awaited.model());
    }
  }
}
