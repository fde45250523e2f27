package io.pointsman.tool.bench.split;

import io.pointsman.tool.bench.split.DelayRun.Route;
import io.pointsman.tool.bench.split.OverlapRun.Order;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * {@code ./pointsman bench pd-delay}: delay that the router adds, and time that sending at once
 * saves.
 */
@Command(
    name = "pd-delay",
    description = {
      "Measure the delay that the router adds with simulated prefill and decode engines. First"
          + " measurement: a client that sends both requests itself (nixl) against the router, and"
          + " the same for requests that decode serves alone. It shows the time to the first byte"
          + " and the delay of chunks. Second measurement: protocols that send both requests at"
          + " once against one after the other. It shows the time to the first byte, with a decode"
          + " engine that starts at once and with one that starts late."
    },
    mixinStandardHelpOptions = true)
public final class PdDelay implements Callable<Integer> {
  @Option(
      names = "--rounds",
      defaultValue = "40",
      description = "Number of rounds; each measures every way once. Default: ${DEFAULT-VALUE}.")
  int rounds;

  @Option(
      names = "--warmup",
      defaultValue = "30",
      description = "Number of warm-up rounds. Default: ${DEFAULT-VALUE}.")
  int warmup;

  @Option(
      names = "--prompt",
      defaultValue = "1024",
      description =
          "Prompt tokens; requests that decode serves alone have an eighth. Default:"
              + " ${DEFAULT-VALUE}.")
  int prompt;

  @Option(
      names = "--answer",
      defaultValue = "32",
      description = "Output tokens. Default: ${DEFAULT-VALUE}.")
  int answer;

  @Option(
      names = "--prefill-rate",
      defaultValue = "10000",
      description = "Prompt tokens per second. Default: ${DEFAULT-VALUE}.")
  double prefillRate;

  @Option(
      names = "--step",
      defaultValue = "10",
      description = "Milliseconds between two tokens. Default: ${DEFAULT-VALUE}.")
  double step;

  @Option(
      names = "--decode-wait",
      defaultValue = "60",
      description =
          "Milliseconds after which decode starts a request, in the second measurement. Default:"
              + " ${DEFAULT-VALUE}.")
  long decodeWait;

  @Option(
      names = "--limit",
      defaultValue = "10",
      description = "Limit for --check, in milliseconds. Default: ${DEFAULT-VALUE}.")
  double limit;

  @Option(
      names = "--check",
      description =
          "Exit with 1 if the router adds more than --limit to the median time of the first byte or"
              + " of a chunk. Exit with 1 also if sending both requests at once saves less than"
              + " half of decode's wait.")
  boolean check;

  @Override
  public Integer call() throws IOException, InterruptedException {
    double before = load();
    Map<Route, List<Timed>> delays = DelayRun.of(options(0));
    print(delays);
    Map<Order, List<Timed>> quick = OverlapRun.of(options(0));
    print(quick, 0);
    Map<Order, List<Timed>> waiting = OverlapRun.of(options(decodeWait));
    print(waiting, decodeWait);
    System.out.printf(
        Locale.ROOT,
        "%n%d rounds; load of the machine %.1f before, %.1f after; %d cores%n",
        rounds,
        before,
        load(),
        Runtime.getRuntime().availableProcessors());
    boolean good = adds(delays, step) <= limit && hides(waiting, decodeWait);
    return check && !good ? 1 : 0;
  }

  private DelayOptions options(long wait) {
    return new DelayOptions(rounds, warmup, prompt, answer, prefillRate, step, wait);
  }

  private static double load() {
    return ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage();
  }

  /**
   * Largest delay that the router adds to a median, in milliseconds: of first bytes and of chunks,
   * split and unsplit.
   */
  static double adds(Map<Route, List<Timed>> delays, double step) {
    double most = 0;
    for (Route route : List.of(Route.SPLIT_ROUTED, Route.WHOLE_ROUTED)) {
      List<Timed> routed = delays.getOrDefault(route, List.of());
      List<Timed> direct = delays.getOrDefault(other(route), List.of());
      double chunks = median(late(routed, step)) - median(late(direct, step));
      most = Math.max(most, Math.max(median(Turns.later(routed, direct)), chunks));
    }
    return most;
  }

  /** True if the router's concurrent requests hide at least half of the decode engine's delay. */
  static boolean hides(Map<Order, List<Timed>> orders, long wait) {
    return Stream.of(Order.MOONCAKE_ROUTED, Order.NIXL_PUSH_ROUTED, Order.MORIIO_WRITE_ROUTED)
        .mapToDouble(order -> saved(orders, order))
        .allMatch(saved -> saved > 0 && saved >= wait / 2.0);
  }

  private static double saved(Map<Order, List<Timed>> orders, Order order) {
    List<Timed> inTurn = orders.getOrDefault(order.inTurn(), List.of());
    return median(Turns.later(inTurn, orders.getOrDefault(order, List.of())));
  }

  private static Route other(Route route) {
    return switch (route) {
      case SPLIT_BY_HAND, SPLIT_ROUTED -> Route.SPLIT_BY_HAND;
      case WHOLE_DIRECT, WHOLE_ROUTED -> Route.WHOLE_DIRECT;
    };
  }

  private static double median(List<Double> values) {
    return RuleResult.percentile(values, 0.5);
  }

  private static List<Double> late(List<Timed> answers, double step) {
    return answers.stream().flatMap(each -> each.late(step).stream()).toList();
  }

  private void print(Map<Route, List<Timed>> delays) {
    System.out.printf(
        "%-46s %21s %9s %22s%n", "", "first byte p50/p95 ms", "added ms", "chunk late p50/p99 ms");
    delays.forEach(
        (route, answers) -> {
          List<Double> first = Turns.first(answers);
          List<Double> late = late(answers, step);
          System.out.printf(
              Locale.ROOT,
              "%-46s %12.2f / %6.2f %9.2f %13.2f / %6.2f%n",
              route.label(),
              median(first),
              RuleResult.percentile(first, 0.95),
              median(Turns.later(answers, delays.getOrDefault(other(route), List.of()))),
              median(late),
              RuleResult.percentile(late, 0.99));
        });
  }

  private static void print(Map<Order, List<Timed>> orders, long wait) {
    System.out.printf("%ndecode leaves requests alone for %d ms%n", wait);
    System.out.printf("%-46s %21s %9s%n", "", "first byte p50/p95 ms", "saved ms");
    orders.forEach(
        (order, answers) -> {
          List<Double> first = Turns.first(answers);
          System.out.printf(
              Locale.ROOT,
              "%-46s %12.2f / %6.2f %9.2f%n",
              order.label(),
              median(first),
              RuleResult.percentile(first, 0.95),
              saved(orders, order));
        });
  }
}
