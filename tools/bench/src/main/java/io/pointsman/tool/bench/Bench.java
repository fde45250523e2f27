package io.pointsman.tool.bench;

import io.pointsman.tool.bench.chaos.ChaosCommand;
import io.pointsman.tool.bench.chaos.SoakCommand;
import io.pointsman.tool.bench.live.LiveCommand;
import io.pointsman.tool.bench.overload.Overload;
import io.pointsman.tool.bench.picks.Picks;
import io.pointsman.tool.bench.proxies.Proxies;
import io.pointsman.tool.bench.split.PdDelay;
import io.pointsman.tool.bench.split.PdSweep;
import java.util.concurrent.Callable;
import org.openjdk.jmh.Main;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** Main class of {@code ./pointsman bench}, with each benchmark as a subcommand. */
@Command(
    name = "bench",
    description =
        "Measure the router. The help of each benchmark describes its workload and comparison.",
    mixinStandardHelpOptions = true,
    subcommands = {
      BestOfN.class,
      Proxies.class,
      ChaosCommand.class,
      SoakCommand.class,
      PdSweep.class,
      PdDelay.class,
      Picks.class,
      LiveCommand.class,
      Overload.class
    })
public final class Bench {
  private Bench() {}

  public static void main(String[] args) {
    // Set before the first logger is created, because log lines would break up the tables.
    System.setProperty("logback.configurationFile", "bench-logback.xml");
    System.exit(commandLine().execute(args));
  }

  static CommandLine commandLine() {
    // Arguments after "jmh", options included, are passed on to JMH.
    CommandLine jmh = new CommandLine(new Jmh()).setUnmatchedOptionsArePositionalParams(true);
    return new CommandLine(new Bench()).addSubcommand("jmh", jmh);
  }

  /** Subcommand {@code jmh}: runs the JMH micro-benchmarks. */
  @Command(
      name = "jmh",
      description =
          "Run the JMH micro-benchmarks. The arguments are those of JMH, for example -h, -l or a"
              + " regular expression.")
  static final class Jmh implements Callable<Integer> {
    @Parameters(arity = "0..*", description = "Arguments for JMH.")
    String[] arguments = {};

    @Override
    public Integer call() throws Exception {
      Main.main(arguments);
      return 0;
    }
  }
}
