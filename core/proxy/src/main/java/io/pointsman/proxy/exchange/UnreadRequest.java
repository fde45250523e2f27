package io.pointsman.proxy.exchange;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.handler.Candidates;
import io.pointsman.proxy.handler.RequestHandler;
import io.pointsman.proxy.handler.ServedAnswer;
import io.pointsman.proxy.handler.Waits;
import io.pointsman.proxy.telemetry.RetryReason;

/** The strategy of a request before it was read: it has no worker and no attempt. */
final class UnreadRequest implements RequestHandler {
  static final UnreadRequest INSTANCE = new UnreadRequest();

  private UnreadRequest() {}

  @Override
  public void place() {
    throw new IllegalStateException("placed before it was read");
  }

  @Override
  public void failed(Worker failed, RetryReason reason) {
    throw new IllegalStateException("tried before it was read");
  }

  @Override
  public Candidates candidates() {
    return Candidates.ELIGIBLE;
  }

  @Override
  public Waits waits() {
    return Waits.NONE;
  }

  @Override
  public void over(ServedAnswer answer) {}
}
