package io.pointsman.bench.proxies;

import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;

/**
 * What one run of one contender gave.
 *
 * @param repetition from 1
 * @param error what went wrong, empty if nothing did
 */
record Measurement(
    String workload, String contender, int repetition, Map<Metric, Double> values, String error) {

  /**
   * Per cent of the events due that have to come: below, figures are those of another load. The
   * rest is for streams that begin anew and for events on their way at either end.
   */
  static final double LEAST_CAME = 95;

  private static final int LONGEST = 200;

  Measurement {
    values = values.isEmpty() ? Map.of() : Map.copyOf(new EnumMap<>(values));
  }

  /** Whether too few of the events came that were due. */
  boolean isBehind() {
    return value(Metric.CAME) < LEAST_CAME;
  }

  /** Whether it counts. */
  boolean valid() {
    return error.isEmpty() && !isBehind();
  }

  /** Why it does not count, empty if it does. */
  String problem() {
    if (valid() || !error.isEmpty()) {
      return error;
    }
    return String.format(
        Locale.ROOT,
        "%.1f %% of the events due came (the backend sent %.1f %%, of these 99 %% within %.0f ms"
            + " of when they were due, all within %.0f)",
        value(Metric.CAME),
        value(Metric.SENT),
        value(Metric.SENT_LATE_P99),
        value(Metric.SENT_LATE_MAX));
  }

  /** The first line of the problem, where it stands beside other text. */
  String problemLine() {
    String line = problem().lines().findFirst().orElse("");
    return line.length() > LONGEST ? line.substring(0, LONGEST) + " ..." : line;
  }

  /** Not a number if there is no such figure. */
  private double value(Metric metric) {
    return values.getOrDefault(metric, Double.NaN);
  }
}
