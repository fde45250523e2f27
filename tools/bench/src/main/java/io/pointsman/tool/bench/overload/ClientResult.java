package io.pointsman.tool.bench.overload;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Results of one client. Thread-safe. */
final class ClientResult {
  private final List<Double> firstTokenSeconds = new ArrayList<>();
  private int sent;
  private int shed;
  private int unexplained;
  private int failed;
  private final long until;

  /**
   * @param until end of the measurement by {@link System#nanoTime}; later answers do not count
   */
  ClientResult(long until) {
    this.until = until;
  }

  synchronized void sent() {
    sent++;
  }

  /** Counts an answer that has arrived whole. */
  synchronized void served(double secondsToFirstToken) {
    if (System.nanoTime() - until <= 0) {
      firstTokenSeconds.add(secondsToFirstToken);
    }
  }

  /**
   * Counts a refusal because of load.
   *
   * @param explained true if it has a reason and {@code Retry-After}
   */
  synchronized void shed(boolean explained) {
    shed++;
    unexplained += explained ? 0 : 1;
  }

  synchronized void failed() {
    failed++;
  }

  synchronized int sentCount() {
    return sent;
  }

  synchronized int servedCount() {
    return firstTokenSeconds.size();
  }

  synchronized int shedCount() {
    return shed;
  }

  /** Number of refusals without a reason or {@code Retry-After}. */
  synchronized int unexplainedCount() {
    return unexplained;
  }

  /** Number of requests that ended neither with an answer nor with a refusal. */
  synchronized int failedCount() {
    return failed;
  }

  /** Median time to the first token in seconds; NaN without answers. */
  synchronized double medianSeconds() {
    double[] sorted = firstTokenSeconds.stream().mapToDouble(Double::doubleValue).toArray();
    Arrays.sort(sorted);
    return sorted.length == 0 ? Double.NaN : sorted[sorted.length / 2];
  }
}
