package io.pointsman.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * What one router did with best-of-n sampling.
 *
 * @param requests that each worker served
 * @param hitPercent share of prompt tokens that the engines found in their caches
 */
record BestOfNRow(String name, List<Long> requests, double hitPercent, int failures) {
  /** How far a worker may be from its fair share of requests. */
  private static final int SPREAD = 2;

  private static final double LEAST_HIT_PERCENT = 86;

  /** Why it is not good enough; empty if it is. */
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
