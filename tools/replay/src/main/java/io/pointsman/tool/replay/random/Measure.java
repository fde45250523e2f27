package io.pointsman.tool.replay.random;

import io.pointsman.tool.replay.run.RunResult;

/**
 * The result of one policy on one workload. Times are milliseconds.
 *
 * @param hit share of prompt tokens found in caches
 * @param served requests that were answered, or had clients that left
 * @param left requests of clients that left
 */
record Measure(
    double ttftMean, double ttftP99, double endToEndMean, double hit, int served, int left) {
  static Measure of(RunResult result) {
    return new Measure(
        result.ttftMean(),
        result.ttft(0.99),
        result.endToEndMean(),
        result.hit(),
        result.requests(),
        result.left());
  }
}
