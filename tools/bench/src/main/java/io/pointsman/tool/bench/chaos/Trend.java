package io.pointsman.tool.bench.chaos;

import java.util.List;

/**
 * Test for growth: compares the median of a run's last quarter with that of its second quarter. The
 * first quarter is warm-up.
 *
 * @param column the compared figure
 * @param factor permitted ratio of the two medians
 * @param slack permitted surplus on top, in the column's unit
 */
record Trend(Sample.Column column, double factor, double slack) {
  /**
   * Permitted surplus of p99 on top of the factor 1.5, in milliseconds. A p99 rises when more than
   * 1% of the responses meet a silent engine; each then waits for the router's silence limit of 3
   * s. The surplus reached 1.9 s over all two-minute stretches of a run of 30 minutes.
   */
  private static final double SLACK_OF_P99 = 2000;

  /** Memory and descriptors must not grow. Latency may follow the machine's load within bounds. */
  static final List<Trend> BOUNDS =
      List.of(
          new Trend(Sample.RESIDENT, 1.05, 8),
          new Trend(Sample.HEAP, 1.10, 2),
          new Trend(Sample.DIRECT, 1.10, 4),
          new Trend(Sample.DESCRIPTORS, 1.25, 40),
          new Trend(Sample.THREADS, 1, 4),
          new Trend(Sample.P50, 1.5, 100),
          new Trend(Sample.P99, 1.5, SLACK_OF_P99));

  /** Result of a comparison; medians in the column's unit. */
  record Finding(Trend trend, double second, double last) {
    boolean grows() {
      return last > second * trend.factor() + trend.slack();
    }
  }

  /**
   * Compares the second and the last quarter.
   *
   * @throws IllegalArgumentException for fewer than 4 samples
   */
  Finding over(List<Sample> samples) {
    int quarter = samples.size() / 4;
    if (quarter == 0) {
      throw new IllegalArgumentException(
          "samples: " + samples.size() + " (expected: at least 4; a longer run)");
    }
    return new Finding(
        this,
        median(samples.subList(quarter, 2 * quarter)),
        median(samples.subList(samples.size() - quarter, samples.size())));
  }

  private double median(List<Sample> samples) {
    double[] values = samples.stream().mapToDouble(column.value()).sorted().toArray();
    int middle = values.length / 2;
    return values.length % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  }
}
