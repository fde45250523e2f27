package io.pointsman.bench.chaos;

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
      "Sends streams and whole answers through the router while one fault a second befalls its"
          + " engines, never the last sound one, and counts what clients see of it. Ends with 1 if"
          + " that is anything but streams that were cut on an engine, each ended with an error"
          + " event and no more than the engines count, or if a request is still in flight at the"
          + " end."
    },
    mixinStandardHelpOptions = true)
public final class ChaosCommand implements Callable<Integer> {
  private static final int SAMPLE_MILLIS = 10_000;

  @Mixin private ChaosOptions options = new ChaosOptions();

  @Option(
      names = "--minutes",
      defaultValue = "10",
      description = "How long; fractions count. Default: ${DEFAULT-VALUE}.")
  private double minutes;

  @Option(
      names = "--rate",
      defaultValue = "500",
      description = "Requests a second. Default: ${DEFAULT-VALUE}.")
  private int rate;

  @Override
  public Integer call() throws Exception {
    ChaosReport report = ChaosRun.run(options.setup(minutes, rate, SAMPLE_MILLIS));
    Path out = Files.createDirectories(options.out);
    Files.writeString(out.resolve("chaos.md"), report.markdown());
    Files.writeString(out.resolve("chaos.csv"), report.csv());
    Files.writeString(out.resolve("chaos.svg"), report.plot("chaos, " + rate + " requests/s"));
    System.out.println(report.markdown());
    System.out.println("written: chaos.md, chaos.csv, chaos.svg in " + out);
    return report.reached() ? 0 : 1;
  }
}
