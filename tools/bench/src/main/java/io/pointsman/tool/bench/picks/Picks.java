package io.pointsman.tool.bench.picks;

import static java.util.Objects.requireNonNull;

import io.pointsman.tool.bench.contender.Contenders;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * {@code ./pointsman bench picks}: picks per second and their latency at several concurrencies, for
 * each way of picking.
 */
@Command(
    name = "picks",
    description = {
      "Measure how fast a running router picks workers, in a closed loop. The requests are chats of"
          + " 1,024 characters with eight shared system prompts of 768 characters. The two workers"
          + " answer at once. The ways are the built-in proxy, the endpoints for other proxies, and"
          + " HAProxy with SPOE. The ways take turns; results are medians over repetitions."
    },
    mixinStandardHelpOptions = true)
public final class Picks implements Callable<Integer> {
  @Option(
      names = "--ways",
      split = ",",
      defaultValue = "direct,proxy,decide,lease,route,haproxy,haproxy-spoe",
      description = "Ways to measure. Default: ${DEFAULT-VALUE}.")
  List<String> ways = List.of();

  @Option(
      names = "--concurrency",
      split = ",",
      defaultValue = "1,8,32,64",
      description = "Number of concurrent callers. Default: ${DEFAULT-VALUE}.")
  List<Integer> concurrency = List.of();

  @Option(
      names = "--policy",
      defaultValue = "cache_aware",
      description = "Policy of the router. Default: ${DEFAULT-VALUE}.")
  String policy = "";

  @Option(
      names = "--reps",
      defaultValue = "3",
      description = "Repetitions of each measurement. Default: ${DEFAULT-VALUE}.")
  int reps;

  @Option(
      names = "--seconds",
      defaultValue = "2",
      description = "Length of each measurement. Default: ${DEFAULT-VALUE}.")
  double seconds;

  @Option(
      names = "--warmup",
      defaultValue = "5",
      description =
          "Warm-up of each way before the first measurement, in seconds. Default:"
              + " ${DEFAULT-VALUE}.")
  double warmup;

  @Spec @Nullable CommandSpec spec;

  private final Path home;
  private final List<String> start;
  private final Map<PickMethod, Map<Integer, List<PickLoad.Result>>> results =
      new EnumMap<>(PickMethod.class);

  public Picks() {
    this(Contenders.home(), List.of(Contenders.home().resolve("pointsman").toString()));
  }

  /**
   * Creates the command.
   *
   * @param start first words of the command line of this program
   */
  Picks(Path home, List<String> start) {
    this.home = home;
    this.start = start;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    PrintWriter out = requireNonNull(spec).commandLine().getOut();
    List<PickMethod> chosen = chosen();
    double before = load();
    try (PicksRig rig = PicksRig.start(home, start, policy, chosen)) {
      measure(rig, chosen);
    }
    print(out, chosen);
    out.printf(
        Locale.ROOT,
        "%n%s, %d repetitions of %.1f s; load of the machine %.1f before, %.1f after; %d cores%n",
        policy,
        reps,
        seconds,
        before,
        load(),
        Runtime.getRuntime().availableProcessors());
    out.flush();
    return 0;
  }

  private List<PickMethod> chosen() {
    try {
      return PickMethod.named(ways);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(
          requireNonNull(spec).commandLine(), String.valueOf(e.getMessage()), e);
    }
  }

  private static double load() {
    return ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage();
  }

  /**
   * Measures the ways in turn, A/B/C, A/B/C, because changes on the machine then affect all of
   * them.
   */
  private void measure(PicksRig rig, List<PickMethod> chosen)
      throws IOException, InterruptedException {
    List<String> chats = RayPrompts.chats(PicksRig.MODEL);
    Map<PickMethod, List<byte[]>> requests = new EnumMap<>(PickMethod.class);
    for (PickMethod way : chosen) {
      requests.put(way, RayPrompts.requests(way, chats));
      PickLoad.run(way, rig.port(way), RayPrompts.requests(way, chats), 4, duration(warmup));
    }
    for (int rep = 0; rep < reps; rep++) {
      for (int callers : concurrency) {
        for (PickMethod way : chosen) {
          List<byte[]> own = requests.getOrDefault(way, List.of());
          results
              .computeIfAbsent(way, _ -> new TreeMap<>())
              .computeIfAbsent(callers, _ -> new ArrayList<>())
              .add(PickLoad.run(way, rig.port(way), own, callers, duration(seconds)));
        }
      }
    }
  }

  private static Duration duration(double seconds) {
    return Duration.ofNanos((long) (seconds * 1e9));
  }

  private void print(PrintWriter out, List<PickMethod> chosen) {
    out.printf("%-52s %7s %11s %9s %9s%n", "", "callers", "picks/s", "p50 us", "p99 us");
    for (PickMethod way : chosen) {
      results
          .getOrDefault(way, Map.of())
          .forEach(
              (callers, runs) ->
                  out.printf(
                      Locale.ROOT,
                      "%-52s %7d %,11.0f %,9.0f %,9.0f%n",
                      way.title(),
                      callers,
                      median(runs, PickLoad.Result::perSecond),
                      median(runs, PickLoad.Result::p50),
                      median(runs, PickLoad.Result::p99)));
    }
  }

  static double median(List<PickLoad.Result> runs, ToDoubleFunction<PickLoad.Result> figure) {
    double[] sorted = runs.stream().mapToDouble(figure).toArray();
    Arrays.sort(sorted);
    int middle = sorted.length / 2;
    return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
}
