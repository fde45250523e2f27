package io.pointsman.tool.bench.split;

import java.util.List;
import java.util.Map;

/**
 * Results of one rule.
 *
 * @param requests answered requests
 * @param failed sessions without a complete response, by reason
 * @param splitPercent requests served by two workers, in percent
 * @param ttft median and 95th percentile of the time to first token, in milliseconds of engine time
 * @param shortTtft the same for sessions without a long text
 * @param longTtft the same for sessions with a long text
 * @param tokenMillis 95th percentile of a response's mean time between tokens, in milliseconds of
 *     engine time
 * @param tokensPerSecond output tokens per second of engine time
 * @param leaks prefills with blocks that no engine fetched
 */
record RuleResult(
    Rule rule,
    long requests,
    Map<String, Long> failed,
    double splitPercent,
    Pair ttft,
    Pair shortTtft,
    Pair longTtft,
    double tokenMillis,
    double tokensPerSecond,
    long leaks) {
  RuleResult {
    failed = Map.copyOf(failed);
  }

  /** Number of failed sessions. */
  long failures() {
    return failed.values().stream().mapToLong(Long::longValue).sum();
  }

  /** Median and 95th percentile. */
  record Pair(double p50, double p95) {
    static Pair of(List<Double> values) {
      return new Pair(percentile(values, 0.5), percentile(values, 0.95));
    }
  }

  /**
   * A quantile of the values; NaN without values.
   *
   * @param share 0 to 1
   */
  static double percentile(List<Double> values, double share) {
    if (values.isEmpty()) {
      return Double.NaN;
    }
    List<Double> sorted = values.stream().sorted().toList();
    return sorted.get((int) Math.min(sorted.size() - 1, Math.floor(share * sorted.size())));
  }
}
