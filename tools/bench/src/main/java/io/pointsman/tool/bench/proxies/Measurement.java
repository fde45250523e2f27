package io.pointsman.tool.bench.proxies;

import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;

/**
 * Result of one run of one contender.
 *
 * @param repetition number of the repetition, from 1
 * @param error the error; empty if there is none
 */
record Measurement(
    String workload,
    String contender,
    int repetition,
    Map<MeasuredMetric, Double> values,
    String error) {

  /**
   * Smallest permitted share of due events that arrive, in percent. Below it, the run has a
   * different load. The tolerance covers restarting streams, and events in transit at start and
   * end.
   */
  static final double LEAST_CAME = 95;

  private static final int LONGEST = 200;

  Measurement {
    values = values.isEmpty() ? Map.of() : Map.copyOf(new EnumMap<>(values));
  }

  /** True if too few of the due events arrived. */
  boolean isBehind() {
    return value(MeasuredMetric.CAME) < LEAST_CAME;
  }

  /** True if the run counts. */
  boolean valid() {
    return error.isEmpty() && !isBehind();
  }

  /** The reason if the run does not count; otherwise empty. */
  String problem() {
    if (valid() || !error.isEmpty()) {
      return error;
    }
    return String.format(
        Locale.ROOT,
        "%.1f %% of the events due came (the backend sent %.1f %%, of these 99 %% within %.0f ms"
            + " of when they were due, all within %.0f)",
        value(MeasuredMetric.CAME),
        value(MeasuredMetric.SENT),
        value(MeasuredMetric.SENT_LATE_P99),
        value(MeasuredMetric.SENT_LATE_MAX));
  }

  /** First line of the problem, shortened, for tables. */
  String problemLine() {
    String line = problem().lines().findFirst().orElse("");
    return line.length() > LONGEST ? line.substring(0, LONGEST) + " ..." : line;
  }

  /** Value of the metric; NaN if it is missing. */
  private double value(MeasuredMetric metric) {
    return values.getOrDefault(metric, Double.NaN);
  }
}
