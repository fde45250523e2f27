package io.pointsman.observe.logging;

/** Limit on the lines for auditors of one kind, because a flood could fill the disk. Any thread. */
final class AuditRate {
  /** Maximum number of lines in a second. */
  static final int MOST = 20;

  private long second;
  private int count;
  private int missing;

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
    if (count == MOST) {
      missing++;
      return -1;
    }
    count++;
    int before = missing;
    missing = 0;
    return before;
  }
}
