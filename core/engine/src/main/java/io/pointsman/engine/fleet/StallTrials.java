package io.pointsman.engine.fleet;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Admission of requests to one stalled worker: one trial at a time. The pause before a trial
 * doubles with each trial without output. If no other worker is left, further requests are
 * permitted. Any thread.
 */
final class StallTrials {
  private static final long FIRST_PAUSE_NANOS = 5_000_000_000L;
  private static final long MOST_PAUSE_NANOS = 60_000_000_000L;

  private final AtomicInteger permitted = new AtomicInteger();
  private volatile boolean running;
  private volatile long dueAt;
  private long pause;

  /** Starts with a stall. */
  synchronized void begin(long now, StallSettings settings) {
    pause = Math.min(FIRST_PAUSE_NANOS, settings.patience().toNanos());
    dueAt = now + pause;
    running = false;
    permitted.set(0);
  }

  /** Returns true if a request would be admitted. */
  boolean admits(long now) {
    return permitted.get() > 0 || due(now);
  }

  private boolean due(long now) {
    return !running && now - dueAt >= 0;
  }

  /** Permits one request, because no other worker is left. */
  void permit() {
    permitted.incrementAndGet();
  }

  /** Admits a request: a permitted one, or the trial. */
  synchronized StallTurn admit(long now) {
    if (permitted.get() > 0) {
      permitted.decrementAndGet();
      return StallTurn.PERMITTED;
    }
    if (!due(now)) {
      return StallTurn.REFUSED;
    }
    running = true;
    return StallTurn.TRIAL;
  }

  /** Result of {@link #admit}. */
  enum StallTurn {
    REFUSED,
    PERMITTED,
    TRIAL
  }

  /** Records the end of a trial without output. */
  synchronized void failed(long now) {
    running = false;
    pause = Math.min(2 * pause, MOST_PAUSE_NANOS);
    dueAt = now + pause;
  }
}
