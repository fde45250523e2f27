package io.pointsman.server.wiring;

import io.pointsman.proxy.telemetry.ForwardingListener;
import io.pointsman.proxy.telemetry.ProxyListener;
import java.util.function.Consumer;

/** Ends the sessions that clients end with their requests. */
final class SessionEnds extends ForwardingListener {
  private final Consumer<String> finish;

  SessionEnds(ProxyListener next, Consumer<String> finish) {
    super(next);
    this.finish = finish;
  }

  @Override
  public void sessionEnded(String session) {
    finish.accept(session);
    super.sessionEnded(session);
  }
}
