package io.pointsman.app.metrics;

import java.util.List;
import java.util.stream.Stream;

/**
 * Every metric that the router exposes under its own names, an enum for each family: the lists from
 * which the meters are made and {@code docs/reference/metrics.md} is written. Each label has a
 * bounded set of values.
 */
sealed interface Metric
    permits RequestMetric, DecisionMetric, KvMetric, FleetMetric, ProcessMetric {

  /** How values of a metric behave. */
  enum Kind {
    COUNTER,
    GAUGE,
    HISTOGRAM,
    /** A gauge that is always 1. */
    INFO
  }

  /** What a scraper and a reader are told of a metric. */
  record About(Kind kind, String metricName, String unit, String meaning, List<String> labels) {
    About(Kind kind, String metricName, String unit, String meaning, String... labels) {
      this(kind, metricName, unit, meaning, List.of(labels));
    }

    public About {
      labels = List.copyOf(labels);
    }
  }

  About about();

  default Kind kind() {
    return about().kind();
  }

  default String metricName() {
    return about().metricName();
  }

  default String unit() {
    return about().unit();
  }

  default String meaning() {
    return about().meaning();
  }

  default List<String> labels() {
    return about().labels();
  }

  default String[] labelNames() {
    return labels().toArray(new String[0]);
  }

  /** The metrics of all families, in the order of {@code docs/reference/metrics.md}. */
  static List<Metric> all() {
    return Stream.<Metric[]>of(
            RequestMetric.values(),
            DecisionMetric.values(),
            KvMetric.values(),
            FleetMetric.values(),
            ProcessMetric.values())
        .flatMap(Stream::of)
        .toList();
  }
}
