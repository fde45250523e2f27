package io.pointsman.tool.replay;

import io.pointsman.engine.env.Ticker;
import io.pointsman.tool.replay.peer.Capacity;
import io.pointsman.tool.replay.peer.CostPart;
import io.pointsman.tool.replay.peer.ReplayPolicies;
import io.pointsman.tool.replay.random.RandomOptions;
import io.pointsman.tool.replay.random.RandomReplay;
import io.pointsman.tool.replay.random.SeedList;
import io.pointsman.tool.replay.run.RunResult;
import io.pointsman.tool.replay.run.Simulation;
import io.pointsman.tool.replay.run.SimulationSettings;
import io.pointsman.tool.replay.trace.MooncakeTrace;
import io.pointsman.tool.replay.trace.Trace;
import io.pointsman.tool.replay.trace.Workloads;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
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

/** The command {@code pointsman replay}: compares policies on a trace in simulated time. */
@Command(
    name = "replay",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    showDefaultValues = true,
    description =
        "Replay a trace in simulated time, once for each policy. It uses the router's real policies"
            + " and simulated engines.")
public final class ReplayCommand implements Callable<Integer> {

  @Spec private @Nullable CommandSpec spec;

  @Parameters(
      paramLabel = "TRACE",
      description =
          "Trace file in Mooncake's format (JSON lines with timestamp, input_length, output_length,"
              + " hash_ids), as --trace-out writes it; gzip if it ends in .gz. Or a named workload:"
              + " best-of-n, multi-turn, tool-loops. Or random:SEED, random:FROM-TO, or a list as"
              + " random:1-10,21: random workloads; flags override the random values.")
  private String trace = "";

  @Mixin private final FleetFlags fleet = new FleetFlags();

  @Mixin private final RandomFlags random = new RandomFlags();

  @Option(
      names = "--load",
      split = ",",
      description =
          "Load as a share of the capacity of round robin. Several values are replayed one after"
              + " the other. Default: 0.8, without --rate.")
  private List<Double> loads = List.of();

  @Option(names = "--rate", description = "Requests per second, in place of --load.")
  private @Nullable Double rate;

  @Option(
      names = "--policy",
      split = ",",
      description =
          "Names of policies: those of 'serve', of other routers, and bounds. Default:"
              + " round_robin,cache_aware,cost. For random workloads, the first one is compared"
              + " with the others; default: cost with seven routers and two bounds.")
  private List<String> policies = List.of();

  @Option(
      names = "--without",
      paramLabel = "PART",
      completionCandidates = Parts.class,
      description =
          "Leave this part of the policy cost out, one of ${COMPLETION-CANDIDATES}. The policy is"
              + " then named cost-PART.")
  private @Nullable String without;

  @Option(
      names = "--capacity",
      description =
          "Requests per second at load 1.0. Default: the measured capacity of round robin.")
  private @Nullable Double capacity;

  @Option(
      names = "--requests",
      defaultValue = "0",
      description = "Replay only this many requests. 0: all, or 2,500 of each random workload.")
  private int requests;

  @Option(names = "--json", description = "Print a JSON list instead of a table.")
  private boolean json;

  @Option(
      names = "--window",
      paramLabel = "SECONDS",
      defaultValue = "10",
      description =
          "Window length in seconds for the computed tokens per engine in --json and --plot-shares."
              + " It is doubled until there are at most 1,000 windows.")
  private double window;

  @Option(
      names = "--plot",
      paramLabel = "FILE",
      description = "Write the results to this file as an SVG.")
  private @Nullable Path plot;

  @Option(
      names = "--plot-shares",
      paramLabel = "FILE",
      description =
          "Write each engine's share of the work and the mean TTFT over time to this file as an"
              + " SVG.")
  private @Nullable Path sharePlot;

  @Option(
      names = "--plot-predictions",
      paramLabel = "FILE",
      description =
          "Write predicted and measured times to first token, and the errors, to this file as an"
              + " SVG.")
  private @Nullable Path predictionPlot;

  private final Ticker ticker;

  /**
   * @param ticker real time, for the duration of a replay
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
    if (SeedList.named(trace)) {
      return runRandom();
    }
    random.refuse();
    policies = reduced(List.of("round_robin", "cache_aware", "cost"));
    Trace whole = Workloads.has(trace) ? Workloads.make(trace, fleet.seed()) : read();
    Trace replayed = requests > 0 ? whole.first(requests) : whole;
    policies.forEach(ReplayPolicies::of);
    positive("window", window);
    SimulationSettings settings = fleet.settings();
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
      throw new IllegalArgumentException("--load, --rate: both given (expected: one of them)");
    }
    policies = random.ablate() ? ablated() : reduced(RandomOptions.POLICIES);
    policies.forEach(ReplayPolicies::of);
    RandomOptions options =
        new RandomOptions(
            policies,
            requests == 0 ? RandomOptions.REQUESTS : requests,
            random.threads(),
            fleet.workers(),
            fleet.kvTokens(),
            loads.isEmpty() ? null : positive("load", loads.getFirst()),
            rate == null ? null : positive("rate", rate),
            capacity == null ? null : positive("capacity", capacity),
            fleet.engine(),
            fleet.blockTokens(),
            fleet.slow(),
            fleet.changes(),
            fleet::settings);
    SeedList seeds = SeedList.parse(trace);
    PrintWriter out = command().commandLine().getOut();
    if (random.ablate()) {
      RandomReplay.ablate(seeds, options, random.reference(), json, out);
    } else {
      RandomReplay.run(seeds, options, random.reference(), json, out);
    }
    return ExitCode.OK;
  }

  /** Returns the given policies, or the usual ones. Leaves the part out that a flag names. */
  private List<String> reduced(List<String> usual) {
    List<String> all = policies.isEmpty() ? usual : policies;
    if (without == null) {
      return all;
    }
    String reduced = CostPart.labelled(without).policy();
    if (!all.contains(CostPart.WHOLE)) {
      throw new IllegalArgumentException(
          "without: %s (expected: the policy cost among %s)".formatted(without, all));
    }
    return all.stream().map(each -> each.equals(CostPart.WHOLE) ? reduced : each).toList();
  }

  /** Returns {@code cost}, and {@code cost} without each of its parts. */
  private List<String> ablated() {
    if (!policies.isEmpty() || without != null) {
      throw new IllegalArgumentException(
          "ablate: set (expected: neither --policy nor --without beside it)");
    }
    Stream<String> reduced = Arrays.stream(CostPart.values()).map(CostPart::policy);
    return Stream.concat(Stream.of(CostPart.WHOLE), reduced).toList();
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
          "trace: %s: %s (expected: a text file, gzip if it ends in .gz)".formatted(trace, e), e);
    }
  }

  private CommandSpec command() {
    if (spec == null) {
      throw new IllegalStateException("spec: not injected");
    }
    return spec;
  }

  /** Pairs of load (NaN if unknown) and rate. */
  private List<double[]> rates(Trace replayed, SimulationSettings settings) {
    if (rate != null) {
      if (!loads.isEmpty()) {
        throw new IllegalArgumentException("--load, --rate: both given (expected: one of them)");
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

  /** The labels of the parts, for help texts. */
  static final class Parts implements Iterable<String> {
    @Override
    public Iterator<String> iterator() {
      return CostPart.labels().iterator();
    }
  }

  static double positive(String name, double value) {
    if (!(value > 0 && value < 1e6)) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: above 0)");
    }
    return value;
  }
}
