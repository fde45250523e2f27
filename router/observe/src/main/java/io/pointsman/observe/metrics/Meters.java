package io.pointsman.observe.metrics;

import io.prometheus.metrics.core.metrics.Counter;
import io.prometheus.metrics.core.metrics.CounterWithCallback;
import io.prometheus.metrics.core.metrics.GaugeWithCallback;
import io.prometheus.metrics.core.metrics.Histogram;
import io.prometheus.metrics.core.metrics.Info;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Consumer;

/** Creates the meters of {@link Metric} in one registry, each at most once. */
final class Meters {
  /**
   * Buckets in seconds for the first part of a response: from a cached prompt to a long prefill.
   */
  static final double[] FIRST_BYTE_SECONDS = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
    160
  };

  /** Buckets in seconds for a whole request: from an embedding to a long reasoning stream. */
  static final double[] DURATION_SECONDS = {
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600, 1800
  };

  static final double[] RATIO = {0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1};

  /** Receives one value with its labels, in the order of {@link Metric#labels}. */
  @FunctionalInterface
  interface Sink {
    void put(double value, String... labels);

    /** Receives a count; above 2^53 it is rounded. */
    default void put(long value, String... labels) {
      put((double) value, labels);
    }
  }

  private final PrometheusRegistry registry;
  private final Set<Metric> made = new HashSet<>();

  Meters(PrometheusRegistry registry) {
    this.registry = registry;
  }

  Counter counter(Metric metric) {
    claim(metric, Metric.Kind.COUNTER);
    return Counter.builder()
        .name(metric.metricName())
        .help(metric.meaning())
        .labelNames(metric.labelNames())
        .withoutExemplars()
        .register(registry);
  }

  Histogram histogram(Metric metric, double... bounds) {
    claim(metric, Metric.Kind.HISTOGRAM);
    return Histogram.builder()
        .name(metric.metricName())
        .help(metric.meaning())
        .classicOnly()
        .classicUpperBounds(bounds)
        .labelNames(metric.labelNames())
        .withoutExemplars()
        .register(registry);
  }

  /** Creates a gauge that is always 1; its labels carry the information. */
  void info(Metric metric, String... labels) {
    claim(metric, Metric.Kind.INFO);
    Info.builder()
        .name(metric.metricName())
        .help(metric.meaning())
        .labelNames(metric.labelNames())
        .register(registry)
        .setLabelValues(labels);
  }

  /** Creates a gauge or counter with values read at each scrape. */
  void pulled(Metric metric, Consumer<Sink> values) {
    switch (metric.kind()) {
      case GAUGE -> {
        claim(metric, Metric.Kind.GAUGE);
        GaugeWithCallback.builder()
            .name(metric.metricName())
            .help(metric.meaning())
            .labelNames(metric.labelNames())
            .callback(callback -> values.accept(callback::call))
            .register(registry);
      }
      case COUNTER -> {
        claim(metric, Metric.Kind.COUNTER);
        CounterWithCallback.builder()
            .name(metric.metricName())
            .help(metric.meaning())
            .labelNames(metric.labelNames())
            .callback(callback -> values.accept(callback::call))
            .register(registry);
      }
      case HISTOGRAM, INFO ->
          throw new IllegalArgumentException(
              "metric: " + metric + " (expected: a counter or a gauge)");
    }
  }

  private void claim(Metric metric, Metric.Kind kind) {
    if (metric.kind() != kind || !made.add(metric)) {
      throw new IllegalArgumentException(
          "metric: " + metric + " (expected: a " + kind + " that is not made yet)");
    }
  }

  /** The metrics created up to here. */
  Set<Metric> made() {
    return Set.copyOf(made);
  }
}
