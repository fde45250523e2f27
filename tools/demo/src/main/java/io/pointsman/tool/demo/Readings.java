package io.pointsman.tool.demo;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** Times to first token: the latest of each worker, and those of all workers. Thread-safe. */
final class Readings {
  private static final int LATEST = 20;
  private static final int ALL = 1 << 14;

  private final Map<String, Ring> byWorker = new HashMap<>();
  private final Ring all = new Ring(ALL);
  private long answered;
  private long failed;

  synchronized void answered(String worker, long ttftNanos) {
    byWorker.computeIfAbsent(worker, _ -> new Ring(LATEST)).add(ttftNanos);
    all.add(ttftNanos);
    answered++;
  }

  synchronized void failed() {
    failed++;
  }

  synchronized long answered() {
    return answered;
  }

  synchronized long failures() {
    return failed;
  }

  /** Median of a worker's latest times, in milliseconds; NaN if there are none. */
  synchronized double latestMillis(String worker) {
    Ring ring = byWorker.get(worker);
    return ring == null ? Double.NaN : ring.millis(0.5);
  }

  /**
   * A quantile of all workers' times, in milliseconds; NaN if there are none.
   *
   * @param quantile 0 to 1
   */
  synchronized double millis(double quantile) {
    return all.millis(quantile);
  }

  /** The last values, up to a fixed number. */
  private static final class Ring {
    private final long[] nanos;
    private long count;

    Ring(int size) {
      nanos = new long[size];
    }

    void add(long value) {
      nanos[(int) (count++ % nanos.length)] = value;
    }

    double millis(double quantile) {
      int size = (int) Math.min(count, nanos.length);
      if (size == 0) {
        return Double.NaN;
      }
      long[] sorted = Arrays.copyOf(nanos, size);
      Arrays.sort(sorted);
      return sorted[Math.min((int) (quantile * size), size - 1)] / 1e6;
    }
  }
}
