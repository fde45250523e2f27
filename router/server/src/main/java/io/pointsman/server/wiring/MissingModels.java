package io.pointsman.server.wiring;

import io.pointsman.control.health.Prober;
import io.pointsman.proxy.telemetry.ForwardingListener;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestEvent;
import io.pointsman.proxy.telemetry.RequestEvent.ModelMissing;

/** Reads the models of a worker that does not serve one of them any more. */
final class MissingModels extends ForwardingListener {
  private final Prober prober;

  MissingModels(ProxyListener next, Prober prober) {
    super(next);
    this.prober = prober;
  }

  @Override
  protected void read(RequestEvent event) {
    if (event instanceof ModelMissing missing) {
      prober.modelMissing(missing.worker(), missing.model());
    }
  }
}
