package io.pointsman.tool.sim.live;

import java.util.Arrays;

/**
 * A Prometheus histogram of seconds, with the bucket bounds that engines use for latencies. Owned
 * by the event loop.
 */
public final class Histogram {
  private static final double[] BOUNDS = {
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40,
    80, 160, 640, 2560
  };

  private final long[] counts = new long[BOUNDS.length + 1];
  private double sum;
  private long count;

  Histogram() {}

  void observeNanos(long nanos) {
    double seconds = nanos / 1e9;
    int at = Arrays.binarySearch(BOUNDS, seconds);
    counts[at >= 0 ? at : -at - 1]++;
    sum += seconds;
    count++;
  }

  void reset() {
    Arrays.fill(counts, 0);
    sum = 0;
    count = 0;
  }

  /** Upper bounds of all buckets except the last, in seconds. */
  public double[] bounds() {
    return BOUNDS.clone();
  }

  /** Observations at or below bound {@code index}. */
  public long cumulative(int index) {
    long total = 0;
    for (int i = 0; i <= index; i++) {
      total += counts[i];
    }
    return total;
  }

  /** Sum of all observations in seconds. */
  public double sum() {
    return sum;
  }

  /** Number of observations. */
  public long count() {
    return count;
  }
}
