package io.pointsman.observe.logging;

/** Limit on the lines of one kind, because a flood could fill the disk. Any thread. */
final class LineRate {
  private final int most;
  private long second;
  private int count;
  private int missing;

  /**
   * @param most maximum number of lines in a second
   */
  LineRate(int most) {
    this.most = most;
  }

  /**
   * Takes a line.
   *
   * @param now the time in seconds
   * @return the number of lines that were refused since the last one; negative if this one is
   *     refused
   */
  synchronized int take(long now) {
    if (now != second) {
      second = now;
      count = 0;
    }
    if (count == most) {
      missing++;
      return -1;
    }
    count++;
    int before = missing;
    missing = 0;
    return before;
  }
}
