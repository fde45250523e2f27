package io.pointsman.tool.bench.chaos;

import java.util.concurrent.TimeUnit;

/** Statistics of repeated polls of the number of available workers. For one thread. */
final class Availability {
  /** Interval of the polls in milliseconds; shorter than every fault. */
  static final int EVERY_MILLIS = 100;

  private int least = Integer.MAX_VALUE;
  private int looks;
  private long lastAt;
  private long longestGap;

  /**
   * Records one poll.
   *
   * @param available available workers
   * @param now time of {@link System#nanoTime}
   */
  void saw(int available, long now) {
    least = Math.min(least, available);
    longestGap = looks == 0 ? 0 : Math.max(longestGap, now - lastAt);
    lastAt = now;
    looks++;
  }

  /**
   * Smallest number of available workers of all polls; {@link Integer#MAX_VALUE} before the first.
   */
  int least() {
    return least;
  }

  int looks() {
    return looks;
  }

  /** Longest time between two successive polls, in milliseconds. */
  long longestGapMillis() {
    return TimeUnit.NANOSECONDS.toMillis(longestGap);
  }
}
