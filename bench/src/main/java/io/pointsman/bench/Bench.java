package io.pointsman.bench;

import io.pointsman.bench.chaos.ChaosCommand;
import io.pointsman.bench.chaos.SoakCommand;
import io.pointsman.bench.live.Live;
import io.pointsman.bench.picks.Picks;
import io.pointsman.bench.proxies.Proxies;
import io.pointsman.bench.split.PdDelay;
import io.pointsman.bench.split.PdSweep;
import java.util.concurrent.Callable;
import org.openjdk.jmh.Main;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/** {@code ./pointsman bench}: every benchmark of the project by name. */
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
      Live.class
    })
public final class Bench {
  private Bench() {}

  public static void main(String[] args) {
    // Before the first logger: a table must not be torn by log lines.
    System.setProperty("logback.configurationFile", "bench-logback.xml");
    System.exit(commandLine().execute(args));
  }

  static CommandLine commandLine() {
    // What follows "jmh" is read by JMH, flags included.
    CommandLine jmh = new CommandLine(new Jmh()).setUnmatchedOptionsArePositionalParams(true);
    return new CommandLine(new Bench()).addSubcommand("jmh", jmh);
  }

  /** The micro-benchmarks. */
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
