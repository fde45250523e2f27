package io.pointsman.bench.split;

import java.util.List;
import java.util.Map;

/**
 * How a rule did.
 *
 * @param requests that were answered
 * @param failed sessions that had no whole answer, by reason
 * @param splitPercent of the requests, served by two workers
 * @param ttft median and 95th percentile of the time to the first token, milliseconds of engine
 *     time
 * @param shortTtft the same of sessions without a long text
 * @param longTtft the same of those with one
 * @param tokenMillis 95th percentile of the mean time between two tokens of an answer
 * @param tokensPerSecond of answers, per second of engine time
 * @param leaks prefills whose blocks nobody took
 */
record Outcome(
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
  Outcome {
    failed = Map.copyOf(failed);
  }

  /** Sessions that failed. */
  long failures() {
    return failed.values().stream().mapToLong(Long::longValue).sum();
  }

  /** Two percentiles. */
  record Pair(double p50, double p95) {
    static Pair of(List<Double> values) {
      return new Pair(percentile(values, 0.5), percentile(values, 0.95));
    }
  }

  /** NaN without values. */
  static double percentile(List<Double> values, double share) {
    if (values.isEmpty()) {
      return Double.NaN;
    }
    List<Double> sorted = values.stream().sorted().toList();
    return sorted.get((int) Math.min(sorted.size() - 1, Math.floor(share * sorted.size())));
  }
}
