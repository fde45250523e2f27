package io.pointsman.tool.replay.random;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The worth of each part of a policy, as text. A row is a policy without one part. Its figures are
 * geometric means of its time relative to that of the whole policy on the same workload: above 1,
 * the part helps.
 */
final class AblationTable {
  private static final String FORMAT = "%-22s %6s %6s %6s  %-18s %-18s %-22s %-18s%n";

  private AblationTable() {}

  /**
   * @param rows at least one; the first policy of each is the whole one
   */
  static String text(List<PolicyComparison> rows) {
    StringBuilder text =
        new StringBuilder(
            String.format(
                FORMAT,
                rows.size() + " workloads",
                "mean",
                "p99",
                "e2e",
                "worst family",
                "worst family, p99",
                "worst engine",
                "worst disturbance"));
    PolicyComparison first = rows.getFirst();
    first.measures().keySet().stream()
        .filter(policy -> !policy.equals(first.subject()))
        .forEach(policy -> text.append(line(rows, policy)));
    return text.toString();
  }

  private static String line(List<PolicyComparison> rows, String policy) {
    Function<PolicyComparison, String> family = row -> row.draw().family().label();
    return String.format(
        Locale.ROOT,
        FORMAT,
        policy,
        number(mean(rows, policy, ComparedTime.MEAN)),
        number(mean(rows, policy, ComparedTime.P99)),
        number(mean(rows, policy, ComparedTime.END_TO_END)),
        worst(rows, policy, ComparedTime.MEAN, family),
        worst(rows, policy, ComparedTime.P99, family),
        worst(rows, policy, ComparedTime.MEAN, row -> row.draw().engine().name()),
        worst(rows, policy, ComparedTime.MEAN, row -> row.draw().disturbance().label()));
  }

  /** The group of workloads in which the part helps most, with its geometric mean. */
  private static String worst(
      List<PolicyComparison> rows,
      String policy,
      ComparedTime time,
      Function<PolicyComparison, String> group) {
    return rows.stream().collect(Collectors.groupingBy(group)).entrySet().stream()
        .map(each -> Map.entry(each.getKey(), mean(each.getValue(), policy, time)))
        .max(Map.Entry.<String, Double>comparingByValue().thenComparing(Map.Entry::getKey))
        .map(each -> number(each.getValue()) + " " + each.getKey())
        .orElseThrow();
  }

  private static double mean(List<PolicyComparison> rows, String policy, ComparedTime time) {
    return Statistics.of(rows, row -> ratio(row, policy, time)).mean();
  }

  private static double ratio(PolicyComparison row, String policy, ComparedTime time) {
    double whole = time.of(row.measure(row.subject()));
    return PolicyComparison.ratio(time.of(row.measure(policy)), whole);
  }

  private static String number(double ratio) {
    return String.format(Locale.ROOT, "%.3f", ratio);
  }
}
