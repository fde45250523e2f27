package io.pointsman.proxy.body;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/** Limit on the buffered bytes of all requests together. Thread-safe. */
public final class BodyBudget {
  private final long most;
  private final AtomicLong taken = new AtomicLong();
  private final LongAdder refused = new LongAdder();

  /**
   * @param most maximum number of bytes
   */
  public BodyBudget(long most) {
    this.most = most;
  }

  /** Reserves {@code bytes}. If that exceeds the limit, returns false and counts a refusal. */
  public boolean take(long bytes) {
    if (taken.addAndGet(bytes) <= most) {
      return true;
    }
    taken.addAndGet(-bytes);
    refused.increment();
    return false;
  }

  /** Releases bytes that {@link #take} reserved. */
  public void giveBack(long bytes) {
    taken.addAndGet(-bytes);
  }

  /** True if {@code bytes} are free at present. Counts a refusal if not. Reserves nothing. */
  public boolean admits(long bytes) {
    if (taken.get() + bytes <= most) {
      return true;
    }
    refused.increment();
    return false;
  }

  /**
   * True if more than three quarters are reserved. Callers should then buffer less where they can.
   */
  public boolean tight() {
    return taken.get() > most - most / 4;
  }

  /** Number of reserved bytes. */
  public long taken() {
    return taken.get();
  }

  /** Number of refusals since the start. */
  public long refused() {
    return refused.sum();
  }
}
