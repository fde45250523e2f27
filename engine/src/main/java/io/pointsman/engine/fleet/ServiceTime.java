package io.pointsman.engine.fleet;

import java.util.concurrent.atomic.AtomicLong;

/**
 * How long a worker takes from the placing of a request to its end, smoothed over about the last
 * eight that it served. What it does in idle times does not count, so that the figure of a busy
 * hour is still there when the next one begins. Any thread.
 */
final class ServiceTime {
  private static final int WEIGHT = 8;

  private final AtomicLong mean = new AtomicLong();

  /** A request was served to its end after {@code nanos}. */
  void took(long nanos) {
    long counted = Math.max(1, nanos);
    mean.accumulateAndGet(
        counted, (before, now) -> before == 0 ? now : before + (now - before) / WEIGHT);
  }

  /** Mean in nanoseconds; 0 while nothing has been served. */
  long nanos() {
    return mean.get();
  }
}
