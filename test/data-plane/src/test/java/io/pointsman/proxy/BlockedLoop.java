package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.local.CallerCheck;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Blocks the event loop at each request with a key, before it chooses a worker. */
final class BlockedLoop implements CallerCheck {
  private final Semaphore blocked = new Semaphore(0);
  private final Semaphore go = new Semaphore(0);

  @Override
  public Verdict known(@Nullable String authorization) {
    if (authorization == null) {
      return Verdict.REFUSED; // asked whether clients need keys
    }
    blocked.release();
    go.acquireUninterruptibly();
    return Verdict.ADMITTED;
  }

  @Override
  public Verdict ask(String authorization) {
    return Verdict.ADMITTED;
  }

  /** Waits until a request blocks the loop. */
  void await() throws InterruptedException {
    assertThat(blocked.tryAcquire(60, TimeUnit.SECONDS)).isTrue();
  }

  /** Lets this number of requests pass. */
  void pass(int requests) {
    go.release(requests);
  }
}
