package io.pointsman.tool.bench.proxies;

import io.pointsman.tool.bench.contender.Contender;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * All results as text, Markdown, CSV and plot.
 *
 * @param header lines that describe the measurement
 */
record ProxyReport(
    List<String> header, List<Workload> workloads, List<Contender> contenders, Results results) {

  private List<ResultTable> tables() {
    return workloads.stream()
        .map(workload -> ResultTable.of(workload, contenders, results))
        .filter(table -> !table.rows().isEmpty())
        .toList();
  }

  String text() {
    List<String> parts = new ArrayList<>();
    parts.add(String.join("\n", header) + "\n");
    tables().forEach(table -> parts.add(table.text()));
    parts.add(targets());
    return String.join("\n", parts);
  }

  /** The measured targets, each with its verdict. */
  String targets() {
    return outcomes().stream()
        .filter(outcome -> outcome.verdict() != PerformanceTarget.Verdict.NOT_MEASURED)
        .map(
            outcome ->
                "%-17s %s; %s\n"
                    .formatted(outcome.verdict().title(), outcome.target().row(), outcome.text()))
        .collect(Collectors.joining("", "targets\n", ""));
  }

  List<PerformanceTarget.TargetResult> outcomes() {
    return PerformanceTarget.all().stream().map(target -> counted(target.judge(results))).toList();
  }

  /** Adds the number of connections if the workload had fewer than planned. */
  private PerformanceTarget.TargetResult counted(PerformanceTarget.TargetResult outcome) {
    String name = outcome.target().workload();
    int whole = Workload.named(name).connections();
    return workloads.stream()
        .filter(workload -> workload.name().equals(name) && workload.connections() < whole)
        .findFirst()
        .map(
            workload ->
                new PerformanceTarget.TargetResult(
                    outcome.target(),
                    outcome.verdict(),
                    "%s, with %,d of %,d streams"
                        .formatted(outcome.text(), workload.connections(), whole)))
        .orElse(outcome);
  }

  private String markdown() {
    List<String> parts = new ArrayList<>();
    parts.add(String.join("  \n", header) + "\n");
    tables().forEach(table -> parts.add(table.markdown()));
    StringBuilder targets =
        new StringBuilder("### Targets\n\n| target | measured | |\n| --- | --- | --- |\n");
    for (PerformanceTarget.TargetResult outcome : outcomes()) {
      targets.append(
          "| %s | %s | %s |\n"
              .formatted(outcome.target().row(), outcome.text(), outcome.verdict().title()));
    }
    parts.add(targets.toString());
    return String.join("\n", parts);
  }

  /** One line for each metric of each run. */
  private String csv() {
    StringBuilder out = new StringBuilder("workload,contender,repetition,metric,value,problem\n");
    for (Measurement m : results.all()) {
      String run = m.workload() + "," + m.contender() + "," + m.repetition() + ",";
      String problem = '"' + m.problem().lines().findFirst().orElse("").replace('"', '\'') + '"';
      if (m.values().isEmpty()) {
        out.append(run).append(",,").append(problem).append('\n');
      }
      for (Map.Entry<MeasuredMetric, Double> value : sorted(m.values())) {
        out.append(run)
            .append(value.getKey().name().toLowerCase(Locale.ROOT))
            .append(',')
            .append(String.format(Locale.ROOT, "%.6g", value.getValue()))
            .append(',')
            .append(m.valid() ? "" : problem)
            .append('\n');
      }
    }
    return out.toString();
  }

  private static List<Map.Entry<MeasuredMetric, Double>> sorted(
      Map<MeasuredMetric, Double> values) {
    return values.entrySet().stream().sorted(Map.Entry.comparingByKey()).toList();
  }

  /** Explanations of the columns in the tables. */
  String legend() {
    Set<MeasuredMetric> shown = new LinkedHashSet<>();
    workloads.forEach(workload -> shown.addAll(workload.kind().shown()));
    return shown.stream()
        .map(metric -> "%-14s %s\n".formatted(metric.title(), metric.meaning()))
        .collect(Collectors.joining());
  }

  /** Writes {@code proxies.txt}, {@code .md}, {@code .csv} and {@code .svg}. */
  void write(Path directory) throws IOException {
    Files.createDirectories(directory);
    Files.writeString(directory.resolve("proxies.txt"), text() + "\n" + legend());
    Files.writeString(directory.resolve("proxies.md"), markdown());
    Files.writeString(directory.resolve("proxies.csv"), csv());
    Files.writeString(
        directory.resolve("proxies.svg"),
        Plot.svg("Side by side, medians", workloads, contenders, results));
  }
}
