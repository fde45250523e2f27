package io.pointsman.engine.policy.cache;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Prompt tokens that each worker was given to compute of late: in the present window of time and in
 * the one before. Two windows instead of a decay, so that adding is one atomic addition. Any thread
 * may add and read; what is added while a window turns may be lost. A thread whose time lies in a
 * window that has passed adds to the present one.
 */
final class RecentWork {
  /** Long enough to cover the arrival of a batch, short enough to forget a burst. */
  private static final long WINDOW_NANOS = 10_000_000_000L;

  private final AtomicLongArray even;
  private final AtomicLongArray odd;
  private final long origin;

  /** The present window, counted from the origin on. */
  private final AtomicLong window = new AtomicLong();

  /**
   * @param origin the present time
   */
  RecentWork(int maxWorkers, long origin) {
    this.origin = origin;
    even = new AtomicLongArray(maxWorkers);
    odd = new AtomicLongArray(maxWorkers);
  }

  void add(int slot, int tokens, long now) {
    turn(now);
    present(window.get()).getAndAdd(slot, tokens);
  }

  /**
   * Tokens given to the worker in {@code slot} within the last one to two windows, as of the last
   * {@link #turn}.
   */
  long tokens(int slot) {
    return even.getOpaque(slot) + odd.getOpaque(slot);
  }

  void forget(int slot) {
    even.set(slot, 0);
    odd.set(slot, 0);
  }

  /** Lets go of windows that have passed by {@code now}. */
  void turn(long now) {
    long next = Math.floorDiv(now - origin, WINDOW_NANOS);
    long last = window.get();
    if (next > last && window.compareAndSet(last, next)) {
      clear(present(next));
      if (next != last + 1) {
        clear(present(last));
      }
    }
  }

  private AtomicLongArray present(long window) {
    return (window & 1) == 0 ? even : odd;
  }

  private static void clear(AtomicLongArray tokens) {
    for (int slot = 0; slot < tokens.length(); slot++) {
      tokens.setOpaque(slot, 0);
    }
  }
}
