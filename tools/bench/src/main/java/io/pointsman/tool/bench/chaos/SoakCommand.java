package io.pointsman.tool.bench.chaos;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The command {@code bench soak}. */
@Command(
    name = "soak",
    description = {
      "Run the faults of bench chaos for long at a moderate load, and check that nothing grows."
          + " Record and plot memory, descriptors, threads and latency every 10 s. Exit with 1 if a"
          + " value in the last quarter exceeds the second quarter by more than its bound. Exit"
          + " with 1 also after failures that bench chaos does not allow."
    },
    mixinStandardHelpOptions = true)
public final class SoakCommand implements Callable<Integer> {
  private static final int SAMPLE_MILLIS = 10_000;

  @Mixin private ChaosOptions options = new ChaosOptions();

  @Option(
      names = "--minutes",
      defaultValue = "30",
      description = "Duration; fractions are allowed. Default: ${DEFAULT-VALUE}.")
  private double minutes;

  @Option(
      names = "--rate",
      defaultValue = "150",
      description = "Requests per second. Default: ${DEFAULT-VALUE}.")
  private int rate;

  @Override
  public Integer call() throws Exception {
    ChaosReport report = ChaosRun.run(options.setup(minutes, rate, SAMPLE_MILLIS, false));
    List<Trend.Finding> findings =
        Trend.BOUNDS.stream().map(trend -> trend.over(report.samples())).toList();
    String text = report.markdown() + "\n" + table(findings);
    Path out = Files.createDirectories(options.out);
    Files.writeString(out.resolve("soak.md"), text);
    Files.writeString(out.resolve("soak.csv"), Sample.csv(report.samples()));
    Files.writeString(
        out.resolve("soak.svg"), report.plot("soak with faults, " + rate + " requests/s"));
    System.out.println(text);
    System.out.println("written: soak.md, soak.csv, soak.svg in " + out);
    boolean flat = findings.stream().noneMatch(Trend.Finding::grows);
    return flat && report.reached() ? 0 : 1;
  }

  private static String table(List<Trend.Finding> findings) {
    StringBuilder out =
        new StringBuilder(
            """
            | figure | second quarter, median | last quarter, median | bound | flat |
            |---|---:|---:|---:|---|
            """);
    for (Trend.Finding finding : findings) {
      Trend trend = finding.trend();
      out.append(
          String.format(
              Locale.ROOT,
              "| %s, %s | %.1f | %.1f | %.1f | %s |%n",
              trend.column().name(),
              trend.column().unit(),
              finding.second(),
              finding.last(),
              finding.second() * trend.factor() + trend.slack(),
              finding.grows() ? "no" : "yes"));
    }
    return out.toString();
  }
}
