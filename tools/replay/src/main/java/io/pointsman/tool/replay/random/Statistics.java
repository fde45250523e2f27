package io.pointsman.tool.replay.random;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * Ratios over many workloads.
 *
 * @param count number of workloads
 * @param mean geometric mean
 * @param p95 95th percentile
 * @param worst maximum
 * @param worstSeed its seed
 */
record Statistics(
    int count, double mean, double p95, double worst, long worstSeed, List<Integer> above) {
  /** Thresholds for counting workloads by their ratio. */
  static final List<Double> MARKS = List.of(1.05, 1.10, 1.20);

  /** Computes the statistics of workloads with this ratio; at least one. */
  static Statistics of(List<PolicyComparison> rows, ToDoubleFunction<PolicyComparison> ratio) {
    double[] sorted = rows.stream().mapToDouble(ratio).sorted().toArray();
    double mean = Math.exp(Arrays.stream(sorted).map(Math::log).average().orElse(Double.NaN));
    PolicyComparison worst = rows.stream().max(Comparator.comparingDouble(ratio)).orElseThrow();
    List<Integer> above = MARKS.stream().map(mark -> count(sorted, mark)).toList();
    double p95 = sorted[(int) Math.ceil(0.95 * sorted.length) - 1];
    return new Statistics(
        sorted.length, mean, p95, sorted[sorted.length - 1], worst.draw().seed(), above);
  }

  private static int count(double[] ratios, double above) {
    return (int) Arrays.stream(ratios).filter(ratio -> ratio > above).count();
  }
}
