package io.pointsman.replay;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.holdback.HoldBackSettings;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.cost.CostSettings;
import io.pointsman.replay.peer.Capacity;
import io.pointsman.replay.peer.ReplayPolicies;
import io.pointsman.replay.random.RandomOptions;
import io.pointsman.replay.random.RandomReplay;
import io.pointsman.replay.random.SeedRange;
import io.pointsman.replay.run.RunResult;
import io.pointsman.replay.run.Simulation;
import io.pointsman.replay.run.SimulationSettings;
import io.pointsman.replay.run.SimulationSettings.Announcements;
import io.pointsman.replay.run.SimulationSettings.Change;
import io.pointsman.replay.trace.MooncakeTrace;
import io.pointsman.replay.trace.Trace;
import io.pointsman.replay.trace.Workloads;
import io.pointsman.sim.schedule.ServiceProfile;
import io.pointsman.sim.schedule.ServiceProfiles;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ExitCode;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code pointsman replay}: policies side by side on a trace, in simulated time. */
@Command(
    name = "replay",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    showDefaultValues = true,
    description =
        "Replays a trace in simulated time through the production engine and simulated engines,"
            + " once for each policy.")
public final class ReplayCommand implements Callable<Integer> {
  private static final String AS_TEXT = "text:";

  @Spec private @Nullable CommandSpec spec;

  @Parameters(
      paramLabel = "TRACE",
      description =
          "A file in Mooncake's format (JSON lines with timestamp, input_length, output_length,"
              + " hash_ids), such as --trace-out writes, packed if it ends in .gz, or a workload by"
              + " name: best-of-n, multi-turn, tool-loops. random:SEED or random:FROM-TO: workloads"
              + " drawn at random; options replace what is drawn.")
  private String trace = "";

  @Option(names = "--workers", description = "Simulated engines; 8 if not given.")
  private @Nullable Integer workers;

  @Option(
      names = "--kv-tokens",
      description = "KV memory of each, in tokens; if not given, that of the kind of engine.")
  private @Nullable Integer kvTokens;

  @Mixin private final EngineFlags engine = new EngineFlags();

  @Mixin private final RandomFlags random = new RandomFlags();

  @Option(
      names = "--assumed-kv-tokens",
      description =
          "KV memory that policies take each to have until they learn better; engines tell it if"
              + " not given.")
  private @Nullable Integer assumedKvTokens;

  @Option(
      names = "--untold",
      description =
          "Engines do not tell what they found in their caches, and routers take prompts to be"
              + " longer or shorter by up to this share; 0 if not given: they are told everything.")
  private double untold;

  @Option(
      names = "--load",
      split = ",",
      description =
          "Load, in parts of what round robin can serve; several are replayed one after the other."
              + " 0.8 if --rate is not given either.")
  private List<Double> loads = List.of();

  @Option(names = "--rate", description = "Requests a second, instead of --load.")
  private @Nullable Double rate;

  @Option(
      names = "--policy",
      split = ",",
      description =
          "Policies by name: those of 'serve', other routers' and bounds; if not given,"
              + " round_robin,cache_aware,cost. Of random workloads the first one is compared"
              + " with the others; if not given, cost with seven routers and two bounds.")
  private List<String> policies = List.of();

  @Option(
      names = "--slow",
      paramLabel = "I=F",
      description = "Engine I takes F times as long for each step; can be repeated.")
  private Map<Integer, Double> slow = Map.of();

  @Option(
      names = "--change",
      split = ",",
      paramLabel = "SECONDS=I",
      description =
          "Engine I is lost at that second if it is there, else it comes, empty; in the order of"
              + " time.")
  private List<String> changes = List.of();

  @Option(
      names = "--capacity",
      description =
          "Requests a second that load 1.0 stands for, instead of round robin's measured capacity.")
  private @Nullable Double capacity;

  @Option(
      names = "--requests",
      defaultValue = "0",
      description = "Only the first so many; 0: all, or 2,500 of each random workload.")
  private int requests;

  @Option(
      names = "--kv-events",
      paramLabel = "ids|[text:]LATE[:LOST]",
      description =
          "Prompts come as token ids, and engines announce their caches LATE seconds late, with"
              + " a share of LOST batches; ids: they announce nothing; text: prompts come as text.")
  private @Nullable String events;

  @Option(
      names = "--hold-beyond",
      paramLabel = "MS",
      description =
          "Requests are held back in the router while every engine would make them wait longer, if"
              + " the policy can tell; 0: never. As serve does if not given.")
  private @Nullable Double holdBeyond;

  @Option(names = "--seed", defaultValue = "1", description = "Of all chance.")
  private long seed;

  @Option(names = "--json", description = "Print a list of objects instead of a table.")
  private boolean json;

  @Option(
      names = "--window",
      paramLabel = "SECONDS",
      defaultValue = "10",
      description =
          "Length of the windows in which --json and --plot-shares tell what each engine had to"
              + " compute; doubled until there are at most 1,000.")
  private double window;

  @Option(names = "--plot", paramLabel = "FILE", description = "Write the results as an SVG too.")
  private @Nullable Path plot;

  @Option(
      names = "--plot-shares",
      paramLabel = "FILE",
      description = "Write each engine's share of the work, and mean TTFT, over time as an SVG.")
  private @Nullable Path sharePlot;

  @Option(
      names = "--plot-predictions",
      paramLabel = "FILE",
      description =
          "Write predicted against measured times to first token, and their errors, as an SVG.")
  private @Nullable Path predictionPlot;

  private final Ticker ticker;

  /**
   * @param ticker real time, to say how long a replay took
   */
  public ReplayCommand(Ticker ticker) {
    this.ticker = ticker;
  }

  @Override
  public Integer call() throws IOException {
    try {
      return run();
    } catch (IllegalArgumentException | NoSuchFileException e) {
      String message = e instanceof NoSuchFileException ? "no such file: " : "";
      throw new ParameterException(command().commandLine(), message + e.getMessage(), e);
    }
  }

  private int run() throws IOException {
    if (requests < 0) {
      throw new IllegalArgumentException("requests: " + requests + " (expected: at least 0)");
    }
    if (SeedRange.named(trace)) {
      return runRandom();
    }
    random.refuse();
    policies = policies.isEmpty() ? List.of("round_robin", "cache_aware", "cost") : policies;
    Trace whole = Workloads.has(trace) ? Workloads.make(trace, seed) : read();
    Trace replayed = requests > 0 ? whole.first(requests) : whole;
    policies.forEach(ReplayPolicies::of);
    positive("window", window);
    SimulationSettings settings = settings();
    PrintWriter out = command().commandLine().getOut();
    List<ReplayRow> rows = new ArrayList<>();
    for (double[] loadAndRate : rates(replayed, settings)) {
      Trace scaled = replayed.atRate(loadAndRate[1]);
      for (String policy : policies) {
        long begun = ticker.nanos();
        RunResult result = Simulation.run(scaled, ReplayPolicies.of(policy), settings);
        double took = (ticker.nanos() - begun) / 1e9;
        ReplayRow row = new ReplayRow(policy, loadAndRate[0], loadAndRate[1], took, result);
        rows.add(row);
        if (!json) {
          if (rows.size() == 1) {
            out.println(ReplayRow.HEADER);
          }
          out.println(row.text());
          out.flush();
        }
      }
    }
    if (json) {
      out.println(ReplayRow.json(rows, window));
      out.flush();
    }
    plot(replayed.name(), rows);
    return ExitCode.OK;
  }

  private int runRandom() throws IOException {
    if (plot != null || sharePlot != null || predictionPlot != null) {
      throw new IllegalArgumentException("plot: " + trace + " (expected: a single trace)");
    }
    if (loads.size() > 1) {
      throw new IllegalArgumentException(
          "load: " + loads + " (expected: one for random workloads)");
    }
    if (rate != null && !loads.isEmpty()) {
      throw new IllegalArgumentException("--load and --rate: expected only one of them");
    }
    policies.forEach(ReplayPolicies::of);
    RandomOptions options =
        new RandomOptions(
            policies.isEmpty() ? RandomOptions.POLICIES : policies,
            requests == 0 ? RandomOptions.REQUESTS : requests,
            random.threads(),
            workers,
            kvTokens,
            loads.isEmpty() ? null : positive("load", loads.getFirst()),
            rate == null ? null : positive("rate", rate),
            capacity == null ? null : positive("capacity", capacity),
            engine.profile(),
            engine.blockTokens(),
            slow.isEmpty() ? null : slow,
            changes.isEmpty() ? null : changes(),
            this::settings);
    SeedRange seeds = SeedRange.parse(trace);
    RandomReplay.run(seeds, options, random.reference(), json, command().commandLine().getOut());
    return ExitCode.OK;
  }

  private void plot(String name, List<ReplayRow> rows) throws IOException {
    if (plot != null) {
      Files.writeString(plot, ReplayPlot.svg(name, rows));
    }
    if (sharePlot != null) {
      Files.writeString(sharePlot, SharePlot.svg(name, rows, window));
    }
    if (predictionPlot != null) {
      Files.writeString(predictionPlot, PredictionPlot.svg(name, rows));
    }
  }

  private Trace read() throws IOException {
    Path file = Path.of(trace);
    if (!Files.exists(file)) {
      throw new IllegalArgumentException(
          "trace: %s (expected: a file, or one of %s)"
              .formatted(trace, String.join(", ", Workloads.names())));
    }
    try {
      return MooncakeTrace.read(file);
    } catch (IOException e) {
      throw new IllegalArgumentException(
          "trace: %s: %s (expected: a file of text, packed if it ends in .gz)".formatted(trace, e),
          e);
    }
  }

  private CommandSpec command() {
    if (spec == null) {
      throw new IllegalStateException("spec: not injected");
    }
    return spec;
  }

  /** Pairs of load, NaN if unknown, and rate. */
  private List<double[]> rates(Trace replayed, SimulationSettings settings) {
    if (rate != null) {
      if (!loads.isEmpty()) {
        throw new IllegalArgumentException("--load and --rate: expected only one of them");
      }
      return List.of(new double[] {Double.NaN, positive("rate", rate)});
    }
    double full =
        capacity != null
            ? positive("capacity", capacity)
            : Capacity.ofRoundRobin(replayed, settings);
    Stream<Double> all = loads.isEmpty() ? Stream.of(0.8) : loads.stream();
    return all.map(load -> new double[] {load, positive("load", load) * full}).toList();
  }

  private static double positive(String name, double value) {
    if (!(value > 0 && value < 1e6)) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: above 0)");
    }
    return value;
  }

  private SimulationSettings settings() {
    ServiceProfile kind = engine.profile() == null ? ServiceProfiles.DEFAULT : engine.profile();
    return settings(
        workers == null ? 8 : workers,
        kvTokens == null ? kind.kvTokens() : kvTokens,
        slow,
        changes(),
        kind,
        engine.blockTokens() == null ? 0 : engine.blockTokens());
  }

  private SimulationSettings settings(
      int engines,
      int memory,
      Map<Integer, Double> slowOnes,
      List<Change> changesOfFleet,
      ServiceProfile kind,
      int blockTokens) {
    int assumed = assumedKvTokens == null ? memory : assumedKvTokens;
    CostSettings cost = CostSettings.DEFAULTS.withKvTokens(assumed);
    return new SimulationSettings(
        engines,
        memory,
        slowOnes,
        changesOfFleet,
        seed,
        PolicySettings.DEFAULTS.withCost(cost),
        events == null ? null : announcements(events),
        untold,
        holdBack(),
        kind,
        blockTokens);
  }

  private List<Change> changes() {
    return changes.stream().map(ReplayCommand::change).toList();
  }

  private HoldBackSettings holdBack() {
    HoldBackSettings usual = HoldBackSettings.DEFAULTS;
    if (holdBeyond == null) {
      return usual;
    }
    double millis = holdBeyond == 0 ? 0 : positive("hold-beyond", holdBeyond);
    return usual.withBeyond(Duration.ofNanos((long) (millis * 1e6)));
  }

  private static Announcements announcements(String text) {
    if (text.equals("ids")) {
      return new Announcements(Double.POSITIVE_INFINITY, 0);
    }
    boolean prompts = text.startsWith(AS_TEXT);
    String[] parts = text.substring(prompts ? AS_TEXT.length() : 0).split(":", 2);
    try {
      double lost = parts.length == 1 ? 0 : Double.parseDouble(parts[1]);
      return new Announcements(Double.parseDouble(parts[0]), lost, prompts);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "kv-events: " + text + " (expected: ids|[text:]LATE[:LOST])", e);
    }
  }

  private static Change change(String text) {
    String[] parts = text.split("=", 2);
    try {
      return new Change(Double.parseDouble(parts[0]), Integer.parseInt(parts[parts.length - 1]));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("change: " + text + " (expected: SECONDS=I)", e);
    }
  }
}
