package io.pointsman.tool.bench.proxies;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.OptionalDouble;
import java.util.stream.Stream;

/** All measurements so far, with medians over the valid repetitions. */
final class Results {
  private final List<Measurement> measurements = new ArrayList<>();

  void add(Measurement measurement) {
    measurements.add(measurement);
  }

  List<Measurement> all() {
    return Collections.unmodifiableList(measurements);
  }

  List<Measurement> of(String workload, String contender) {
    return measurements.stream()
        .filter(m -> m.workload().equals(workload) && m.contender().equals(contender))
        .toList();
  }

  /** Median of the valid repetitions; empty if none has the metric. */
  OptionalDouble median(String workload, String contender, MeasuredMetric metric) {
    MeasuredMetric through = metric.addedTo();
    return through == null
        ? measured(workload, contender, metric)
        : added(workload, contender, through);
  }

  private OptionalDouble added(String workload, String contender, MeasuredMetric metric) {
    OptionalDouble through = measured(workload, contender, metric);
    OptionalDouble direct = measured(workload, "direct", metric);
    return through.isPresent() && direct.isPresent()
        ? OptionalDouble.of(through.getAsDouble() - direct.getAsDouble())
        : OptionalDouble.empty();
  }

  private OptionalDouble measured(String workload, String contender, MeasuredMetric metric) {
    return median(of(workload, contender).stream().filter(Measurement::valid), metric);
  }

  /** Median of the runs that are invalid because too few events arrived; not for verdicts. */
  OptionalDouble medianBehind(String workload, String contender, MeasuredMetric metric) {
    return median(
        of(workload, contender).stream().filter(m -> m.error().isEmpty() && m.isBehind()), metric);
  }

  private static OptionalDouble median(Stream<Measurement> runs, MeasuredMetric metric) {
    double[] values =
        runs.filter(m -> m.values().containsKey(metric))
            .mapToDouble(m -> m.values().getOrDefault(metric, 0.0))
            .sorted()
            .toArray();
    if (values.length == 0) {
      return OptionalDouble.empty();
    }
    int middle = values.length / 2;
    return OptionalDouble.of(
        values.length % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2);
  }

  /**
   * Ratio of the medians of {@code contender} and {@code base}; empty if one is missing or the
   * second is 0.
   */
  OptionalDouble ratio(String workload, String contender, String base, MeasuredMetric metric) {
    OptionalDouble own = median(workload, contender, metric);
    OptionalDouble other = median(workload, base, metric);
    return own.isPresent() && other.isPresent() && other.getAsDouble() > 0
        ? OptionalDouble.of(own.getAsDouble() / other.getAsDouble())
        : OptionalDouble.empty();
  }
}
