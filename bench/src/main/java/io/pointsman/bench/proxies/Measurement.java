package io.pointsman.bench.proxies;

import java.util.EnumMap;
import java.util.Map;

/**
 * What one run of one contender gave.
 *
 * @param repetition from 1
 * @param problem why it does not count, empty if it does
 */
record Measurement(
    String workload, String contender, int repetition, Map<Metric, Double> values, String problem) {
  Measurement {
    values = values.isEmpty() ? Map.of() : Map.copyOf(new EnumMap<>(values));
  }

  boolean valid() {
    return problem.isEmpty();
  }
}
