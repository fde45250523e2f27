package io.pointsman.tool.bench.split;

import io.pointsman.tool.bench.plot.LinePlot;
import io.pointsman.tool.bench.plot.LinePlot.Line;
import io.pointsman.tool.bench.split.Rule.Kind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code ./pointsman bench pd-sweep}: compares rules for the requests that two workers serve. */
@Command(
    name = "pd-sweep",
    description = {
      "Compare rules that decide which requests use a prefill and a decode engine. Each rule serves"
          + " the same sessions on simulated engines: short chats, and texts of 8 K to 32 K tokens"
          + " with further questions. The rules are: always, never, above a number of input tokens,"
          + " and above a number of tokens that no decode engine has cached. Times are engine time."
    },
    mixinStandardHelpOptions = true)
public final class PdSweep implements Callable<Integer> {
  /** Permitted ratios of the best rule on uncached tokens to the best on input; runs vary. */
  private static final double LATENCY_SLACK = 1.05;

  private static final double THROUGHPUT_SLACK = 0.98;

  @Option(
      names = "--prefill",
      defaultValue = "2",
      description = "Number of prefill engines. Default: ${DEFAULT-VALUE}.")
  int prefills;

  @Option(
      names = "--decode",
      defaultValue = "2",
      description = "Number of decode engines. Default: ${DEFAULT-VALUE}.")
  int decodes;

  @Option(
      names = "--rate",
      defaultValue = "6",
      description = "Sessions per engine second. Default: ${DEFAULT-VALUE}.")
  double rate;

  @Option(
      names = "--seconds",
      defaultValue = "60",
      description = "Engine seconds during which sessions start. Default: ${DEFAULT-VALUE}.")
  double seconds;

  @Option(
      names = "--speed",
      defaultValue = "2",
      description = "Engine seconds per real second. Default: ${DEFAULT-VALUE}.")
  double speed;

  @Option(
      names = "--seed",
      defaultValue = "1",
      description = "Seed for the sessions. Default: ${DEFAULT-VALUE}.")
  long seed;

  @Option(
      names = "--thresholds",
      split = ",",
      defaultValue = "512,2048,4096,8192,16384",
      description = "Thresholds to compare, in tokens. Default: ${DEFAULT-VALUE}.")
  List<Integer> thresholds = List.of();

  @Option(names = "--plot", description = "Write a plot to this file (SVG).")
  @Nullable Path plot;

  @Option(
      names = "--check",
      description =
          "Exit with 1 if the best rule on uncached tokens is worse than the best rule on input"
              + " tokens. Worse means more than 5 %% in TTFT (mean of median and 95th percentile)"
              + " or 2 %% in throughput. Exit with 1 also if a request failed or KV blocks leaked.")
  boolean check;

  @Override
  public Integer call() throws InterruptedException, IOException {
    SweepOptions options = new SweepOptions(prefills, decodes, rate, seconds, speed, seed);
    List<RuleResult> outcomes = new ArrayList<>();
    head();
    for (Rule rule : rules()) {
      RuleResult outcome = SweepRun.of(rule, options);
      outcomes.add(outcome);
      print(outcome);
    }
    if (plot != null) {
      Files.writeString(plot, svg(outcomes));
    }
    return check && !holds(outcomes) ? 1 : 0;
  }

  private List<Rule> rules() {
    List<Rule> rules = new ArrayList<>();
    rules.add(new Rule(Kind.ALWAYS, 0));
    rules.add(new Rule(Kind.NEVER, 0));
    thresholds.forEach(tokens -> rules.add(new Rule(Kind.INPUT, tokens)));
    thresholds.forEach(tokens -> rules.add(new Rule(Kind.UNCACHED, tokens)));
    return rules;
  }

  private static void head() {
    System.out.printf(
        "%-18s %8s %7s  %15s  %15s  %15s  %9s %9s %6s %5s%n",
        "split",
        "requests",
        "split %",
        "TTFT p50/p95 ms",
        "short",
        "long",
        "token p95",
        "tokens/s",
        "failed",
        "leaks");
  }

  private static void print(RuleResult each) {
    System.out.printf(
        Locale.ROOT,
        "%-18s %8d %7.1f  %15s  %15s  %15s  %9.1f %9.0f %6d %5d%n",
        each.rule().name(),
        each.requests(),
        each.splitPercent(),
        pair(each.ttft()),
        pair(each.shortTtft()),
        pair(each.longTtft()),
        each.tokenMillis(),
        each.tokensPerSecond(),
        each.failures(),
        each.leaks());
    System.out.print(reasons(each));
  }

  /** One line per reason, the most frequent first. */
  static String reasons(RuleResult outcome) {
    StringBuilder lines = new StringBuilder();
    outcome.failed().entrySet().stream()
        .sorted(
            Map.Entry.<String, Long>comparingByValue(Comparator.reverseOrder())
                .thenComparing(Map.Entry.comparingByKey()))
        .forEach(
            each ->
                lines.append(
                    String.format(
                        Locale.ROOT, "  %d failed: %s%n", each.getValue(), each.getKey())));
    return lines.toString();
  }

  private static String pair(RuleResult.Pair pair) {
    return String.format(Locale.ROOT, "%.0f / %.0f", pair.p50(), pair.p95());
  }

  static boolean holds(List<RuleResult> outcomes) {
    boolean clean = outcomes.stream().allMatch(each -> each.failures() + each.leaks() == 0);
    double latency = best(outcomes, Kind.UNCACHED, PdSweep::latency);
    double inputLatency = best(outcomes, Kind.INPUT, PdSweep::latency);
    double throughput = -best(outcomes, Kind.UNCACHED, each -> -each.tokensPerSecond());
    double inputThroughput = -best(outcomes, Kind.INPUT, each -> -each.tokensPerSecond());
    System.out.printf(
        Locale.ROOT,
        "best on uncached tokens: TTFT %.0f ms, %.0f tokens/s; on input: %.0f ms, %.0f tokens/s%n",
        latency,
        throughput,
        inputLatency,
        inputThroughput);
    return clean
        && latency <= LATENCY_SLACK * inputLatency
        && throughput >= THROUGHPUT_SLACK * inputThroughput;
  }

  private static double latency(RuleResult outcome) {
    return (outcome.ttft().p50() + outcome.ttft().p95()) / 2;
  }

  private static double best(
      List<RuleResult> outcomes, Kind kind, ToDoubleFunction<RuleResult> figure) {
    return outcomes.stream()
        .filter(each -> each.rule().kind() == kind)
        .mapToDouble(figure)
        .min()
        .orElse(Double.NaN);
  }

  private String svg(List<RuleResult> outcomes) {
    String title =
        String.format(
            Locale.ROOT,
            "%d prefill and %d decode engines, %.0f sessions/s: which requests are split",
            prefills,
            decodes,
            rate);
    LinePlot lines = new LinePlot(title, "threshold, thousands of tokens (0: all are split)");
    panel(lines, "TTFT p95, ms", outcomes, each -> each.ttft().p95());
    panel(lines, "TTFT p95 of short chats, ms", outcomes, each -> each.shortTtft().p95());
    panel(lines, "TTFT p50 of long texts, ms", outcomes, each -> each.longTtft().p50());
    panel(lines, "tokens per second", outcomes, RuleResult::tokensPerSecond);
    return lines.svg();
  }

  private static void panel(
      LinePlot plot, String name, List<RuleResult> outcomes, ToDoubleFunction<RuleResult> figure) {
    plot.panel(
        name,
        line("input", Kind.INPUT, outcomes, figure),
        line("uncached", Kind.UNCACHED, outcomes, figure),
        never(outcomes, figure));
  }

  /** Results over the thresholds; the value at 0 is for the rule that splits all. */
  private static Line line(
      String name, Kind kind, List<RuleResult> outcomes, ToDoubleFunction<RuleResult> figure) {
    List<Double> x = new ArrayList<>();
    List<Double> y = new ArrayList<>();
    for (RuleResult each : outcomes) {
      boolean all = each.rule().kind() == Kind.ALWAYS;
      if (all || each.rule().kind() == kind) {
        x.add(each.rule().threshold() / 1024.0);
        y.add(figure.applyAsDouble(each));
      }
    }
    return new Line(name, x, y);
  }

  private static Line never(List<RuleResult> outcomes, ToDoubleFunction<RuleResult> figure) {
    double value = best(outcomes, Kind.NEVER, figure);
    double right =
        outcomes.stream().mapToDouble(each -> each.rule().threshold() / 1024.0).max().orElse(1);
    return new Line("never split", List.of(0.0, right), List.of(value, value));
  }
}
