package io.pointsman.observe.metrics;

import java.util.List;
import java.util.stream.Stream;

/**
 * All metrics with the router's own names, one enum per family. The meters and {@code
 * docs/reference/metrics.md} are generated from them. Each label has a limited set of values.
 */
sealed interface Metric
    permits RequestMetric, DecisionMetric, KvMetric, FleetMetric, ProcessMetric {

  /** The type of a metric. */
  enum Kind {
    COUNTER,
    GAUGE,
    HISTOGRAM,
    /** A gauge that is always 1. */
    INFO
  }

  /** Description of a metric, for scrapers and for the documentation. */
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
