package io.pointsman.tool.replay.random;

import io.pointsman.tool.replay.random.PolicyComparison.Best;
import io.pointsman.tool.replay.random.draw.Draw;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Comparisons as text. */
final class ComparisonTable {
  static final String HEADER =
      "%6s %-11s %-14s %3s %5s %5s %4s %9s %9s %-16s %6s %6s %6s %6s  %s"
          .formatted(
              "seed", "family", "engine", "n", "KV k", "block", "load", "mean ms", "best ms",
              "best", "mean", "p99", "e2e", "/rr", "drawn");

  private ComparisonTable() {}

  /** One line for a workload. */
  static String row(PolicyComparison row) {
    Draw draw = row.draw();
    Best best = row.best(ComparedTime.MEAN);
    return String.format(
        Locale.ROOT,
        "%6d %-11s %-14s %3d %5d %5d %4.2f %9.1f %9s %-16s %6s %6s %6s %6s  %s",
        draw.seed(),
        draw.family().label(),
        draw.engine().name(),
        draw.workers(),
        draw.kvTokens() / 1000,
        draw.blockTokens(),
        draw.load(),
        row.measure(row.subject()).ttftMean(),
        best == null ? "-" : String.format(Locale.ROOT, "%.1f", best.millis()),
        best == null ? "-" : best.policy(),
        ratio(row.ratio(ComparedTime.MEAN)),
        ratio(row.ratio(ComparedTime.P99)),
        ratio(row.ratio(ComparedTime.END_TO_END)),
        ratio(row.ratioToRoundRobin()),
        draw.describe());
  }

  private static String ratio(double value) {
    return Double.isNaN(value) ? "-" : String.format(Locale.ROOT, "%.2f", value);
  }

  /** All policies on one workload. */
  static String details(PolicyComparison row) {
    Draw draw = row.draw();
    StringBuilder text = new StringBuilder();
    text.append(
        String.format(
            Locale.ROOT,
            "random:%d: %s, %s%n%d workers (%s), %d KV tokens in blocks of %d, load %.2f,"
                + " %.2f requests/s%n",
            draw.seed(),
            draw.family().label(),
            draw.describe(),
            draw.workers(),
            draw.engine().description(),
            draw.kvTokens(),
            draw.blockTokens(),
            draw.load(),
            row.rate()));
    text.append(
        String.format(
            "%-20s %6s %10s %10s %10s %6s %6s %6s %7s %6s%n",
            "policy",
            "hit %",
            "TTFT mean",
            "p99",
            "e2e ms",
            "mean",
            "p99",
            "e2e",
            "served",
            "left"));
    row.measures().forEach((policy, measure) -> text.append(line(row, policy, measure)));
    return text.toString();
  }

  private static String line(PolicyComparison row, String policy, Measure measure) {
    return String.format(
        Locale.ROOT,
        "%-20s %6.1f %10.1f %10.1f %10.1f %6s %6s %6s %7d %6d%s%n",
        policy,
        measure.hit() * 100,
        measure.ttftMean(),
        measure.ttftP99(),
        measure.endToEndMean(),
        ratio(row.ratio(policy, ComparedTime.MEAN)),
        ratio(row.ratio(policy, ComparedTime.P99)),
        ratio(row.ratio(policy, ComparedTime.END_TO_END)),
        measure.served(),
        measure.left(),
        PolicyComparison.BOUNDS.contains(policy) ? "  bound" : "");
  }

  /** Ratios over all workloads, by family and by kind of engine. */
  static String summary(List<PolicyComparison> rows) {
    StringBuilder text = new StringBuilder(String.format("%n%d workloads%n", rows.size()));
    List<PolicyComparison> compared =
        rows.stream().filter(row -> !Double.isNaN(row.ratio(ComparedTime.MEAN))).toList();
    if (!compared.isEmpty()) {
      text.append(heading("ratio to the best"));
      for (ComparedTime metric : ComparedTime.values()) {
        text.append(line(metric.title(), Statistics.of(compared, row -> row.ratio(metric))));
      }
      group(text, "family", compared, row -> row.draw().family().label());
      group(text, "engine", compared, row -> row.draw().engine().name());
      group(text, "disturbance", compared, row -> row.draw().disturbance().label());
    }
    List<PolicyComparison> robin =
        rows.stream().filter(row -> !Double.isNaN(row.ratioToRoundRobin())).toList();
    if (!robin.isEmpty()) {
      text.append(heading("ratio to round robin"));
      text.append(line("mean TTFT", Statistics.of(robin, PolicyComparison::ratioToRoundRobin)));
    }
    return text.toString();
  }

  private static void group(
      StringBuilder text,
      String name,
      List<PolicyComparison> rows,
      Function<PolicyComparison, String> key) {
    text.append(heading("mean TTFT by " + name));
    Map<String, List<PolicyComparison>> groups =
        rows.stream().collect(Collectors.groupingBy(key, TreeMap::new, Collectors.toList()));
    groups.forEach(
        (label, of) ->
            text.append(line(label, Statistics.of(of, r -> r.ratio(ComparedTime.MEAN)))));
  }

  private static String heading(String title) {
    return String.format(
        "%n%-24s %5s %6s %6s %6s %6s %6s %6s %6s%n",
        title, "n", "geo", "p95", "worst", "seed", ">1.05", ">1.10", ">1.20");
  }

  private static String line(String label, Statistics s) {
    return String.format(
        Locale.ROOT,
        "%-24s %5d %6.3f %6.2f %6.2f %6d %6d %6d %6d%n",
        label,
        s.count(),
        s.mean(),
        s.p95(),
        s.worst(),
        s.worstSeed(),
        s.above().get(0),
        s.above().get(1),
        s.above().get(2));
  }
}
