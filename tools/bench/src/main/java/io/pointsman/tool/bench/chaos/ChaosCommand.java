package io.pointsman.tool.bench.chaos;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The command {@code bench chaos}. */
@Command(
    name = "chaos",
    description = {
      "Send streamed and other requests through the router, inject one engine fault per second, and"
          + " count the failures that clients see. One engine always stays without a fault. The"
          + " only failures allowed are streams that an engine cut, each with an error event, and"
          + " not more than the engines count. Exit with 1 after any other failure, or if a request"
          + " is still in flight at the end."
    },
    mixinStandardHelpOptions = true)
public final class ChaosCommand implements Callable<Integer> {
  private static final int SAMPLE_MILLIS = 10_000;

  @Mixin private ChaosOptions options = new ChaosOptions();

  @Option(
      names = "--minutes",
      defaultValue = "10",
      description = "Duration; fractions are allowed. Default: ${DEFAULT-VALUE}.")
  private double minutes;

  @Option(
      names = "--rate",
      defaultValue = "500",
      description = "Requests per second. Default: ${DEFAULT-VALUE}.")
  private int rate;

  @Option(
      names = "--hostile",
      description =
          "Faults of meaning instead: one request of 500 ends its engine, one engine takes requests"
              + " and never answers, one flaps, one is cut off for a third of the run, and one"
              + " client of ten leaves early. Needs 4 engines.")
  private boolean hostile;

  @Override
  public Integer call() throws Exception {
    ChaosReport report = ChaosRun.run(options.setup(minutes, rate, SAMPLE_MILLIS, hostile));
    Path out = Files.createDirectories(options.out);
    Files.writeString(out.resolve("chaos.md"), report.markdown());
    Files.writeString(out.resolve("chaos.csv"), report.csv());
    Files.writeString(out.resolve("chaos.svg"), report.plot("chaos, " + rate + " requests/s"));
    System.out.println(report.markdown());
    System.out.println("written: chaos.md, chaos.csv, chaos.svg in " + out);
    return report.reached() ? 0 : 1;
  }
}
