package io.pointsman.tool.bench.live;

import io.pointsman.tool.bench.contender.Contender;
import io.pointsman.tool.bench.contender.Contenders;
import io.pointsman.tool.bench.proxies.Machine;
import io.pointsman.tool.replay.trace.MooncakeTrace;
import io.pointsman.tool.replay.trace.Trace;
import io.pointsman.tool.replay.trace.Workloads;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ./pointsman bench live}: compares routers on a trace, over sockets. */
@Command(
    name = "live",
    sortOptions = false,
    description = {
      "Send a trace over sockets through this router and others, one after the other. Compare"
          + " prefix hits and times to first token. Each contender uses the same number of new"
          + " simulated engines. Contenders that are not installed are listed and skipped;"
          + " tools/bench/setup installs them."
    },
    mixinStandardHelpOptions = true)
public final class LiveCommand implements Callable<Integer> {
  @Parameters(
      paramLabel = "TRACE",
      description =
          "Trace file in Mooncake's format, or a named workload: best-of-n, multi-turn,"
              + " tool-loops.")
  private String traceName = "";

  @Option(
      names = "--contenders",
      split = ",",
      paramLabel = "<name>",
      description =
          "Contenders, separated by commas, in the order in which they run. Default: all.")
  private List<String> contenderNames = List.of();

  @Option(
      names = "--rate",
      required = true,
      description = "Requests per second of trace time, in an open loop.")
  private double rate;

  @Option(
      names = "--requests",
      defaultValue = "1000",
      description = "Number of requests to send. Default: ${DEFAULT-VALUE}.")
  private int requests;

  @Option(
      names = "--speed",
      defaultValue = "2",
      description =
          "Seconds of trace and engine time per real second. If it is too high, the machine limits"
              + " the result: see the columns late and machine. Default: ${DEFAULT-VALUE}.")
  private double speed;

  @Option(
      names = "--limit",
      defaultValue = "300",
      description =
          "Maximum seconds per contender. Requests that are open then count as errors. Default:"
              + " ${DEFAULT-VALUE}.")
  private int limit;

  @Option(
      names = "--engines",
      defaultValue = "8",
      description = "Number of simulated engines. Default: ${DEFAULT-VALUE}.")
  private int engines;

  @Option(
      names = "--kv-tokens",
      defaultValue = "400000",
      description = "KV memory of each engine. Default: ${DEFAULT-VALUE}.")
  private int kvTokens;

  @Option(
      names = "--seed",
      defaultValue = "1",
      description = "Seed for named workloads. Default: ${DEFAULT-VALUE}.")
  private long seed;

  @Option(
      names = "--out",
      paramLabel = "<directory>",
      description =
          "Directory for live.txt, live.json, live.csv (each request), live.svg, and"
              + " live-prediction-NAME.svg (predicted first tokens). Default: no files.")
  private @Nullable Path out;

  @Option(names = "--json", description = "Print a JSON list instead of a table.")
  private boolean json;

  @Option(names = "--list", description = "Show all contenders and exit.")
  private boolean list;

  @Spec private @Nullable CommandSpec spec;

  private final Path home;
  private final List<Contender> known;

  public LiveCommand() {
    this(Contenders.home(), new Contenders(Contenders.home()).choosing());
  }

  /**
   * Creates the command.
   *
   * @param known all contenders that options can name
   */
  LiveCommand(Path home, List<Contender> known) {
    this.home = home;
    this.known = known;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    PrintWriter console = spec().commandLine().getOut();
    if (list) {
      known.forEach(c -> console.printf("%-24s %s %s%n", c.name(), c.version(), c.missing()));
      return 0;
    }
    try {
      return compare(console);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec().commandLine(), String.valueOf(e.getMessage()), e);
    }
  }

  private int compare(PrintWriter console) throws IOException, InterruptedException {
    List<Contender> contenders = new ArrayList<>();
    List<String> notes = new ArrayList<>();
    for (Contender contender : chosen()) {
      if (contender.installed()) {
        contenders.add(contender);
      } else {
        notes.add("%s: left out, %s".formatted(contender.name(), contender.missing()));
      }
    }
    LiveRig rig = rig();
    List<String> header = new ArrayList<>(Machine.description(home, contenders));
    header.add(description(rig.trace()));
    header.addAll(notes);
    String title =
        String.format(
            Locale.ROOT, "%s, %d engines, %s requests/s", rig.trace().name(), engines, rate);
    LiveReport report = new LiveReport(title, header, new ArrayList<>());
    if (!json) {
      header.forEach(console::println);
      console.printf("%n%s%n", LiveReport.HEADER);
      console.flush();
    }
    rig.warmUp();
    for (Contender contender : contenders) {
      LiveRow row = rig.run(contender);
      report.rows().add(row);
      if (!json) {
        console.println(LiveReport.line(row));
        console.flush();
      }
      if (out != null) {
        report.write(out);
      }
    }
    console.print(json ? report.json() : "\n" + LiveReport.LEGEND);
    console.flush();
    return 0;
  }

  private String description(Trace trace) {
    return String.format(
        Locale.ROOT,
        "%s: %d requests at %s/s of the trace, sent %s times as fast to %d engines of %d KV tokens"
            + " as fast; an open loop, fresh engines for each contender",
        trace.name(),
        trace.requests().size(),
        rate,
        speed,
        engines,
        kvTokens);
  }

  private LiveRig rig() throws IOException {
    positive("rate", rate);
    positive("speed", speed);
    positive("requests", requests);
    positive("limit", limit);
    positive("engines", engines);
    if (kvTokens < 1024) {
      throw new IllegalArgumentException("kv-tokens: " + kvTokens + " (expected: at least 1024)");
    }
    Trace whole = Workloads.has(traceName) ? Workloads.make(traceName, seed) : read();
    Trace part = whole.first(requests).atRate(rate);
    return new LiveRig(part, engines, kvTokens, speed, Duration.ofSeconds(limit));
  }

  private static void positive(String name, double value) {
    if (!(value > 0 && value <= 1e6)) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: above 0)");
    }
  }

  private Trace read() throws IOException {
    Path file = Path.of(traceName);
    if (!Files.exists(file)) {
      throw new IllegalArgumentException(
          "trace: %s (expected: a file, or one of %s)"
              .formatted(traceName, String.join(", ", Workloads.names())));
    }
    return MooncakeTrace.read(file);
  }

  private List<Contender> chosen() {
    List<Contender> chosen = new ArrayList<>();
    for (String name : contenderNames) {
      chosen.add(
          known.stream()
              .filter(contender -> contender.name().equals(name))
              .findFirst()
              .orElseThrow(() -> unknown(name)));
    }
    return chosen.isEmpty() ? known : chosen;
  }

  private IllegalArgumentException unknown(String name) {
    return new IllegalArgumentException(
        "--contenders: %s: unknown (expected: one of %s)"
            .formatted(name, String.join(", ", known.stream().map(Contender::name).toList())));
  }

  private CommandSpec spec() {
    if (spec == null) {
      throw new IllegalStateException("not run by a command line");
    }
    return spec;
  }
}
