package io.pointsman.tool.bench.chaos;

import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine.Option;

/** Options that {@code bench chaos} and {@code bench soak} share. */
final class ChaosOptions {
  /**
   * Silence limit of the router in seconds. Short, because every fault must show its effect within
   * a run.
   */
  private static final int PATIENCE_SECONDS = 3;

  @Option(
      names = "--engines",
      defaultValue = "8",
      description = "Number of simulated engines, at least 2. Default: ${DEFAULT-VALUE}.")
  int engines;

  @Option(
      names = "--seed",
      defaultValue = "1",
      description = "Seed for faults and requests. Default: ${DEFAULT-VALUE}.")
  long seed;

  @Option(
      names = "--out",
      defaultValue = "tools/bench/target/chaos",
      description = "Directory for the result files. Default: ${DEFAULT-VALUE}.")
  Path out = Path.of("");

  ChaosRun.Setup setup(double minutes, int rate, int sampleMillis, boolean hostile) {
    Path launcher = Path.of("pointsman").toAbsolutePath();
    List<String> router = List.of(launcher.toString(), "serve");
    return new ChaosRun.Setup(
        router,
        (int) Math.round(minutes * 60),
        engines,
        rate,
        seed,
        sampleMillis,
        PATIENCE_SECONDS,
        hostile);
  }
}
