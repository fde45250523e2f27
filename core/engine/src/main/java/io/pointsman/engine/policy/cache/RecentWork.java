package io.pointsman.engine.policy.cache;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Prompt tokens that each worker had to compute in the current and the previous time window. Two
 * windows replace a decay, so adding is one atomic addition. Any thread may add and read. Tokens
 * added while a window changes may be lost. A thread with an outdated time adds to the current
 * window.
 */
final class RecentWork {
  /** Window of 10 s: it covers the arrival of a batch and forgets a burst soon. */
  private static final long WINDOW_NANOS = 10_000_000_000L;

  private final AtomicLongArray even;
  private final AtomicLongArray odd;
  private final long origin;

  /** Number of the current window since the origin. */
  private final AtomicLong window = new AtomicLong();

  /**
   * @param origin the current ticker time
   */
  RecentWork(int slots, long origin) {
    this.origin = origin;
    even = new AtomicLongArray(slots);
    odd = new AtomicLongArray(slots);
  }

  void add(int slot, int tokens, long now) {
    turn(now);
    present(window.get()).getAndAdd(slot, tokens);
  }

  /**
   * Tokens assigned to the worker in {@code slot} in the current and previous window, as of the
   * last {@link #turn}.
   */
  long tokens(int slot) {
    return even.getOpaque(slot) + odd.getOpaque(slot);
  }

  void forget(int slot) {
    even.set(slot, 0);
    odd.set(slot, 0);
  }

  /** Discards windows that have passed by {@code now}. */
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
