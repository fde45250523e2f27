package io.pointsman.proxy.body;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/** Bounds how many bytes are kept of all requests together. Safe for any number of threads. */
public final class BodyBudget {
  private final long most;
  private final AtomicLong taken = new AtomicLong();
  private final LongAdder refused = new LongAdder();

  /**
   * @param most bytes
   */
  public BodyBudget(long most) {
    this.most = most;
  }

  /** Takes so many bytes; false, and counted as a refusal, if that were more than there may be. */
  public boolean take(long bytes) {
    if (taken.addAndGet(bytes) <= most) {
      return true;
    }
    taken.addAndGet(-bytes);
    refused.increment();
    return false;
  }

  /** Gives back what {@link #take} took. */
  public void giveBack(long bytes) {
    taken.addAndGet(-bytes);
  }

  /** Whether so many bytes could be taken just now; counted as a refusal if not. */
  public boolean admits(long bytes) {
    if (taken.get() + bytes <= most) {
      return true;
    }
    refused.increment();
    return false;
  }

  /** Whether more than three quarters are taken: who can do with less should. */
  public boolean tight() {
    return taken.get() > most - most / 4;
  }

  /** Bytes that are taken. */
  public long taken() {
    return taken.get();
  }

  /** How many requests have been refused for want of room. */
  public long refused() {
    return refused.sum();
  }
}
