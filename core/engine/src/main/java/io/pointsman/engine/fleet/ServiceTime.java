package io.pointsman.engine.fleet;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Mean time of a worker from placement to the end of a request, smoothed over about the last eight
 * served requests. Idle time does not change it. Any thread.
 */
final class ServiceTime {
  private static final int WEIGHT = 8;

  private final AtomicLong mean = new AtomicLong();

  /** Records that a request took {@code nanos} nanoseconds. */
  void took(long nanos) {
    long counted = Math.max(1, nanos);
    mean.accumulateAndGet(
        counted, (before, now) -> before == 0 ? now : before + (now - before) / WEIGHT);
  }

  /** Mean in nanoseconds; 0 before the first served request. */
  long nanos() {
    return mean.get();
  }
}
