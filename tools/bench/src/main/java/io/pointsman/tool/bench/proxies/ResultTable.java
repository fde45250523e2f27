package io.pointsman.tool.bench.proxies;

import io.pointsman.tool.bench.contender.Contender;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;

/** The medians of one workload, one row per contender, as text or Markdown. */
record ResultTable(String title, List<String> header, List<List<String>> rows, List<String> notes) {
  /** The contender with which all are compared. */
  static final String BASE = "haproxy";

  static ResultTable of(Workload workload, List<Contender> contenders, Results results) {
    List<String> header = new ArrayList<>(List.of("contender"));
    for (MeasuredMetric metric : workload.kind().shown()) {
      header.add(metric.title());
      if (metric.isCompared()) {
        header.add("x HAProxy");
      }
    }
    List<List<String>> rows = new ArrayList<>();
    List<String> notes = new ArrayList<>();
    for (Contender contender : contenders) {
      List<Measurement> runs = results.of(workload.name(), contender.name());
      if (!runs.isEmpty()) {
        rows.add(row(workload, contender.name(), results));
        note(contender.name(), runs, notes);
      }
    }
    return new ResultTable(workload.name() + ": " + workload.title(), header, rows, notes);
  }

  private static List<String> row(Workload workload, String contender, Results results) {
    List<String> row = new ArrayList<>(List.of(contender));
    for (MeasuredMetric metric : workload.kind().shown()) {
      OptionalDouble median = results.median(workload.name(), contender, metric);
      OptionalDouble behind = results.medianBehind(workload.name(), contender, metric);
      // Parentheses mark a value that does not count.
      row.add(
          median.isPresent()
              ? shown(median, metric::format)
              : shown(behind, value -> "(" + metric.format(value) + ")"));
      if (metric.isCompared()) {
        row.add(
            shown(
                results.ratio(workload.name(), contender, BASE, metric),
                ratio -> String.format(Locale.ROOT, ratio < 10 ? "%.2f" : "%.1f", ratio)));
      }
    }
    return row;
  }

  private interface Format {
    String of(double value);
  }

  private static String shown(OptionalDouble value, Format format) {
    return value.isPresent() ? format.of(value.getAsDouble()) : "";
  }

  private static void note(String contender, List<Measurement> runs, List<String> notes) {
    List<String> problems =
        runs.stream().filter(run -> !run.valid()).map(Measurement::problemLine).distinct().toList();
    if (!problems.isEmpty()) {
      long invalid = runs.stream().filter(run -> !run.valid()).count();
      String rig =
          PerformanceTarget.isRigBehind(runs) ? ", so the rig itself cannot do this here" : "";
      notes.add(
          "%s: %d of %d runs do not count: %s%s"
              .formatted(contender, invalid, runs.size(), problems.getFirst(), rig));
    }
  }

  String text() {
    List<List<String>> all = new ArrayList<>();
    all.add(header);
    all.addAll(rows);
    StringBuilder out = new StringBuilder(title).append('\n');
    for (List<String> row : all) {
      StringBuilder line = new StringBuilder();
      for (int column = 0; column < row.size(); column++) {
        int at = column;
        int width = all.stream().mapToInt(each -> each.get(at).length()).max().orElse(0);
        String pad = " ".repeat(width - row.get(column).length());
        String cell = column == 0 ? row.get(column) + pad : "  " + pad + row.get(column);
        line.append(cell);
      }
      out.append(line.toString().stripTrailing()).append('\n');
    }
    notes.forEach(note -> out.append("  ").append(note).append('\n'));
    return out.toString();
  }

  String markdown() {
    StringBuilder out = new StringBuilder("### ").append(title).append("\n\n");
    markdownRow(out, header);
    markdownRow(out, Collections.nCopies(header.size(), "---"));
    rows.forEach(row -> markdownRow(out, row));
    notes.forEach(note -> out.append("\n").append(note).append('\n'));
    return out.toString();
  }

  private static void markdownRow(StringBuilder out, List<String> cells) {
    out.append("| ").append(String.join(" | ", cells)).append(" |\n");
  }
}
