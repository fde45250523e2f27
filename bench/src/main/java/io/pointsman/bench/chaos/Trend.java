package io.pointsman.bench.chaos;

import java.util.List;

/**
 * Whether something grew: the median of the last quarter of a run against that of the second
 * quarter, the first being left out because things warm up.
 *
 * @param column what is looked at
 * @param factor by how many times it may be larger
 * @param slack by how much it may be larger on top, in the column's unit
 */
record Trend(Sample.Column column, double factor, double slack) {
  /**
   * What p99 may be larger by than half of itself, in ms. It depends on whether more than one
   * answer in a hundred met an engine that was silent, which costs the router's patience of 3 s:
   * over all stretches of two minutes of a run of 30 it went beyond the half by up to 1.9 s.
   */
  private static final double SLACK_OF_P99 = 2000;

  /** Memory and handles must not grow; latency may follow the machine's load to some extent. */
  static final List<Trend> BOUNDS =
      List.of(
          new Trend(Sample.RESIDENT, 1.05, 8),
          new Trend(Sample.HEAP, 1.10, 2),
          new Trend(Sample.DIRECT, 1.10, 4),
          new Trend(Sample.DESCRIPTORS, 1.25, 40),
          new Trend(Sample.THREADS, 1, 4),
          new Trend(Sample.P50, 1.5, 100),
          new Trend(Sample.P99, 1.5, SLACK_OF_P99));

  /** What was found; medians in the column's unit. */
  record Finding(Trend trend, double second, double last) {
    boolean grows() {
      return last > second * trend.factor() + trend.slack();
    }
  }

  /** Compares the quarters; needs four samples at least. */
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
