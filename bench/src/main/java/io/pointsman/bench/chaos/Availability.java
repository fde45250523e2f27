package io.pointsman.bench.chaos;

import java.util.concurrent.TimeUnit;

/** How many workers the router had available, looked at over and over; for one thread. */
final class Availability {
  /** Between two looks: far less than any fault lasts. */
  static final int EVERY_MILLIS = 100;

  private int least = Integer.MAX_VALUE;
  private int looks;
  private long lastAt;
  private long longestGap;

  /**
   * Notes a look.
   *
   * @param now of {@link System#nanoTime}
   */
  void saw(int available, long now) {
    least = Math.min(least, available);
    longestGap = looks == 0 ? 0 : Math.max(longestGap, now - lastAt);
    lastAt = now;
    looks++;
  }

  /** The fewest workers of all looks. */
  int least() {
    return least;
  }

  int looks() {
    return looks;
  }

  /** Between two looks that followed each other. */
  long longestGapMillis() {
    return TimeUnit.NANOSECONDS.toMillis(longestGap);
  }
}
