package io.pointsman.bench.chaos;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/** What became of the requests; safe for use by several threads. */
final class Tally {
  /** Failures of a kind whose particulars are kept. */
  private static final int KEPT = 8;

  private static final int KEPT_CHARACTERS = 600;
  private static final long MOST_MICROS = TimeUnit.MINUTES.toMicros(2);

  private long start = System.nanoTime();
  private final Map<End, Integer> ends = new EnumMap<>(End.class);
  private final List<String> failures = new ArrayList<>();
  private final Histogram whole = new Histogram(MOST_MICROS, 3);
  private final Histogram sinceTaken = new Histogram(MOST_MICROS, 3);
  private int streams;

  /** The first request is about to be sent: times are told from here on. */
  synchronized void begin() {
    start = System.nanoTime();
  }

  /** Notes the end of a request. */
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

  /** How often each end came. */
  synchronized Map<End, Integer> ends() {
    return new EnumMap<>(ends);
  }

  /** The first failures that the target does not admit. */
  synchronized List<String> failures() {
    return List.copyOf(failures);
  }

  synchronized int requests() {
    return ends.values().stream().mapToInt(Integer::intValue).sum();
  }

  synchronized int streams() {
    return streams;
  }

  /** The time of answers that are no streams, in milliseconds. */
  synchronized double wholeMillis(double percentile) {
    return whole.getValueAtPercentile(percentile) / 1000.0;
  }

  /** The same of those since the last call: the 50th and the 99th percentile. */
  synchronized double[] takeWholeMillis() {
    double[] taken = {
      sinceTaken.getValueAtPercentile(50) / 1000.0, sinceTaken.getValueAtPercentile(99) / 1000.0
    };
    sinceTaken.reset();
    return taken;
  }
}
