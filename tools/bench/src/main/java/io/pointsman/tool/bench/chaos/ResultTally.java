package io.pointsman.tool.bench.chaos;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/** Counts of request results, and latencies of complete responses. Thread-safe. */
final class ResultTally {
  /** Number of failures of each kind that are kept with their details. */
  private static final int KEPT = 8;

  private static final int KEPT_CHARACTERS = 600;
  private static final long MOST_MICROS = TimeUnit.MINUTES.toMicros(2);

  private long start = System.nanoTime();
  private final Map<End, Integer> ends = new EnumMap<>(End.class);
  private final List<String> failures = new ArrayList<>();
  private final Histogram whole = new Histogram(MOST_MICROS, 3);
  private final Histogram sinceTaken = new Histogram(MOST_MICROS, 3);
  private int streams;

  /**
   * Sets the start of the run; failure messages give times since this moment. Called before the
   * first request.
   */
  synchronized void begin() {
    start = System.nanoTime();
  }

  /** Records the end of a request. */
  synchronized void ended(End end, boolean stream, long nanos, String detail) {
    ends.merge(end, 1, Integer::sum);
    streams += stream ? 1 : 0;
    if (!stream && end == End.SERVED) {
      long micros = Math.min(MOST_MICROS, nanos / 1000);
      whole.recordValue(micros);
      sinceTaken.recordValue(micros);
    }
    if (!end.allowed() && ends.getOrDefault(end, 0) <= KEPT) {
      String text = detail.substring(0, Math.min(detail.length(), KEPT_CHARACTERS));
      failures.add(
          "%.1f s: %s after %d ms: %s"
              .formatted((System.nanoTime() - start) / 1e9, end, nanos / 1_000_000, text));
    }
  }

  /** Number of requests of each result. */
  synchronized Map<End, Integer> ends() {
    return new EnumMap<>(ends);
  }

  /** First failures that the target does not permit. */
  synchronized List<String> failures() {
    return List.copyOf(failures);
  }

  synchronized int requests() {
    return ends.values().stream().mapToInt(Integer::intValue).sum();
  }

  synchronized int streams() {
    return streams;
  }

  /** Percentile of the latency of complete non-streamed responses, in milliseconds. */
  synchronized double wholeMillis(double percentile) {
    return whole.getValueAtPercentile(percentile) / 1000.0;
  }

  /** The 50th and 99th percentile of the same latency since the last call, in milliseconds. */
  synchronized double[] takeWholeMillis() {
    double[] taken = {
      sinceTaken.getValueAtPercentile(50) / 1000.0, sinceTaken.getValueAtPercentile(99) / 1000.0
    };
    sinceTaken.reset();
    return taken;
  }
}
