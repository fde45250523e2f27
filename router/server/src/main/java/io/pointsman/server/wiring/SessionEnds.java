package io.pointsman.server.wiring;

import io.pointsman.proxy.telemetry.ForwardingListener;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestEvent;
import io.pointsman.proxy.telemetry.RequestEvent.SessionEnded;
import java.util.function.Consumer;

/** Ends the sessions that clients end with their requests. */
final class SessionEnds extends ForwardingListener {
  private final Consumer<String> finish;

  SessionEnds(ProxyListener next, Consumer<String> finish) {
    super(next);
    this.finish = finish;
  }

  @Override
  protected void read(RequestEvent event) {
    if (event instanceof SessionEnded(String session)) {
      finish.accept(session);
    }
  }
}
