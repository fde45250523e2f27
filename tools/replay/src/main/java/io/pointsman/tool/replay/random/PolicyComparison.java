package io.pointsman.tool.replay.random;

import io.pointsman.tool.replay.random.draw.Draw;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * All policies on one workload; the first one is compared with the others.
 *
 * @param measures by policy, the subject first
 * @param rate requests per second
 */
record PolicyComparison(Draw draw, double rate, Map<String, Measure> measures) {
  /** Bounds, which know the exact state of every engine; no routers. */
  static final Set<String> BOUNDS = Set.of("greedy", "greedy_price");

  /** Times with a smaller difference count as equal, in milliseconds. */
  private static final double SAME_MILLIS = 2;

  private static final double LEAST_MILLIS = 1e-3;

  /**
   * The policy with the lowest value of a metric.
   *
   * @param policy its name
   */
  record Best(String policy, double millis) {}

  PolicyComparison {
    measures = new LinkedHashMap<>(measures);
  }

  String subject() {
    return measures.keySet().iterator().next();
  }

  Measure measure(String policy) {
    Measure measure = measures.get(policy);
    if (measure == null) {
      throw new IllegalArgumentException("policy: " + policy + " (expected: one that was run)");
    }
    return measure;
  }

  /** The best other router by a metric; null if there is none. */
  @Nullable Best best(ComparedTime metric) {
    return measures.entrySet().stream()
        .filter(entry -> !entry.getKey().equals(subject()) && !BOUNDS.contains(entry.getKey()))
        .map(entry -> new Best(entry.getKey(), metric.of(entry.getValue())))
        .min(Comparator.comparingDouble(Best::millis))
        .orElse(null);
  }

  /** The subject's time relative to the best other router's; NaN if there is none. */
  double ratio(ComparedTime metric) {
    Best best = best(metric);
    return best == null ? Double.NaN : ratio(metric.of(measure(subject())), best.millis());
  }

  /** A policy's time relative to the best router other than the subject. */
  double ratio(String policy, ComparedTime metric) {
    Best best = best(metric);
    return best == null ? Double.NaN : ratio(metric.of(measure(policy)), best.millis());
  }

  /** The subject's mean time to first token relative to round robin's; NaN if that was not run. */
  double ratioToRoundRobin() {
    Measure other = measures.get("round_robin");
    return other == null ? Double.NaN : ratio(measure(subject()).ttftMean(), other.ttftMean());
  }

  /** Ratio of two times; 1 if they differ by less than 2 ms. */
  static double ratio(double millis, double other) {
    return Math.abs(millis - other) < SAME_MILLIS ? 1 : millis / Math.max(LEAST_MILLIS, other);
  }
}
