package io.pointsman.tool.bench.overload;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * The figures of a run.
 *
 * @param capacity requests per second that a single client gets served
 * @param before median time to the first token of the urgent client at a usual load, in seconds
 * @param seconds duration of the overload
 */
record OverloadResult(
    double capacity,
    double before,
    double seconds,
    ClientResult greedy,
    ClientResult polite,
    ClientResult urgent) {
  private static final double LEAST_SHARE = 0.9;
  private static final double MOST_DELAY = 1.2;

  /** Requests of the polite client that were served, relative to its demand or its fair share. */
  double politeShare() {
    double fair = Math.min(polite.sentCount(), capacity * seconds / 2);
    return polite.servedCount() / fair;
  }

  /** Time to the first token of the urgent client, relative to that at a usual load. */
  double urgentDelay() {
    return urgent.medianSeconds() / before;
  }

  /** Requests served per second, relative to the capacity. */
  double goodput() {
    int served = greedy.servedCount() + polite.servedCount() + urgent.servedCount();
    return served / seconds / capacity;
  }

  /** Targets that are missed; empty if all are reached. */
  List<String> misses() {
    List<String> misses = new ArrayList<>();
    if (!(politeShare() >= LEAST_SHARE)) {
      misses.add("polite client: %.2f of its share (at least 0.9)".formatted(politeShare()));
    }
    if (!(urgentDelay() <= MOST_DELAY)) {
      misses.add(
          "high priority: %.2f x its time at a usual load (at most 1.2)".formatted(urgentDelay()));
    }
    if (!(goodput() >= LEAST_SHARE)) {
      misses.add("goodput: %.2f of the capacity (at least 0.9)".formatted(goodput()));
    }
    int unexplained = 0;
    int failed = 0;
    for (ClientResult each : List.of(greedy, polite, urgent)) {
      unexplained += each.unexplainedCount();
      failed += each.failedCount();
    }
    if (unexplained + failed > 0) {
      misses.add(
          "%d refusals without a reason or Retry-After, %d failures (none)"
              .formatted(unexplained, failed));
    }
    return misses;
  }

  /** The figures as a table. */
  String markdown() {
    return """
    | client | sent | served | refused | median time to first token, ms |
    |---|---:|---:|---:|---:|
    %s%s%s
    Capacity %.1f requests/s; goodput %.2f of it. The polite client got %.2f of its share. High \
    priority took %.2f x its time at 80 %% of the capacity (%.0f ms).
    """
        .formatted(
            row("greedy", greedy),
            row("polite", polite),
            row("high priority", urgent),
            capacity,
            goodput(),
            politeShare(),
            urgentDelay(),
            1e3 * before);
  }

  private static String row(String name, ClientResult of) {
    return String.format(
        Locale.ROOT,
        "| %s | %d | %d | %d | %.0f |%n",
        name,
        of.sentCount(),
        of.servedCount(),
        of.shedCount(),
        1e3 * of.medianSeconds());
  }
}
