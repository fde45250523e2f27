package io.pointsman.tool.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Result of one router for best-of-n sampling.
 *
 * @param requests requests served, per worker
 * @param hitPercent percentage of prompt tokens found in the engines' prefix caches
 */
record BestOfNRow(String name, List<Long> requests, double hitPercent, int failures) {
  /** Largest permitted difference between a worker's requests and its fair share. */
  private static final int SPREAD = 2;

  private static final double LEAST_HIT_PERCENT = 86;

  /** Missed targets, one message each; empty if all are reached. */
  List<String> misses() {
    List<String> misses = new ArrayList<>();
    double fair = requests.stream().mapToLong(Long::longValue).sum() / (double) requests.size();
    if (requests.stream().anyMatch(count -> Math.abs(count - fair) > SPREAD)) {
      misses.add(
          "requests per worker: %s (expected: %.0f +- %d)".formatted(requests, fair, SPREAD));
    }
    if (hitPercent < LEAST_HIT_PERCENT) {
      misses.add(
          String.format(
              Locale.ROOT,
              "hit rate: %.1f %% (expected: at least %.0f %%)",
              hitPercent,
              LEAST_HIT_PERCENT));
    }
    if (failures > 0) {
      misses.add("failures: %d (expected: none)".formatted(failures));
    }
    return misses;
  }
}
