package io.pointsman.observe.activity;

import io.pointsman.proxy.telemetry.ForwardingListener;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestEvent;
import io.pointsman.proxy.telemetry.RequestEvent.RequestEnded;
import io.pointsman.proxy.telemetry.RequestReport;

/** Counts the ends of requests. */
final class CountingListener extends ForwardingListener {
  private final FleetActivity activity;

  CountingListener(FleetActivity activity, ProxyListener next) {
    super(next);
    this.activity = activity;
  }

  @Override
  protected void read(RequestEvent event) {
    if (event instanceof RequestEnded(RequestReport report)) {
      activity.ended(report);
    }
  }
}
