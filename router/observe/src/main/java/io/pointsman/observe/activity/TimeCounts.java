package io.pointsman.observe.activity;

import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * Counts of times in buckets, four for each doubling, from 0.1 ms to 26 minutes. A percentile is
 * exact within 12 %. Counts may overflow: only differences are used. Thread-safe.
 */
final class TimeCounts {
  private static final int BUCKETS = 100;
  private static final long UNIT_NANOS = 25_000;
  private static final double UNIT_MILLIS = UNIT_NANOS / 1e6;

  private final AtomicIntegerArray counts = new AtomicIntegerArray(BUCKETS);

  void add(long nanos) {
    counts.getAndIncrement(bucket(nanos));
  }

  private static int bucket(long nanos) {
    long units = Math.max(4, nanos / UNIT_NANOS);
    int octave = 61 - Long.numberOfLeadingZeros(units);
    int index = 4 * octave + (int) (units >> octave) - 4;
    return Math.min(BUCKETS - 1, index);
  }

  private static double millis(int bucket) {
    return (4.5 + bucket % 4) * (1L << (bucket / 4)) * UNIT_MILLIS;
  }

  int[] read() {
    int[] now = new int[BUCKETS];
    for (int i = 0; i < BUCKETS; i++) {
      now[i] = counts.get(i);
    }
    return now;
  }

  /**
   * The percentile of the times that were added between two readings, in milliseconds; NaN if there
   * are none.
   *
   * @param share 0 to 1
   */
  static double percentile(int[] before, int[] after, double share) {
    long all = 0;
    for (int i = 0; i < BUCKETS; i++) {
      all += after[i] - before[i];
    }
    long rank = (long) Math.ceil(share * all);
    long seen = 0;
    for (int i = 0; i < BUCKETS && all > 0; i++) {
      seen += after[i] - before[i];
      if (seen >= rank && seen > 0) {
        return millis(i);
      }
    }
    return Double.NaN;
  }
}
