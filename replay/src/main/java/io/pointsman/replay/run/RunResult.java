package io.pointsman.replay.run;

import io.pointsman.replay.trace.Trace;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** What came of a run. Times are milliseconds, shares 0 to 1. */
public final class RunResult {
  private final double[] ttft;
  private final double endToEndMean;
  private final double hit;
  private final double imbalance;
  private final int rejected;
  private final double meanAbsoluteError;
  private final double bias;
  private final double seconds;
  private final List<Integer> requestsByWorker;

  RunResult(Trace trace, Exchange[] exchanges, List<SimWorker> workers, int rejected, long nanos) {
    List<Exchange> ended = new ArrayList<>();
    for (Exchange exchange : exchanges) {
      if (exchange != null && exchange.ended()) {
        ended.add(exchange);
      }
    }
    ttft = ended.stream().mapToDouble(Exchange::ttftMillis).sorted().toArray();
    endToEndMean = ended.stream().mapToDouble(Exchange::endToEndMillis).average().orElse(0);
    double prompt = ended.stream().mapToLong(Exchange::inputTokens).sum();
    hit = ended.stream().mapToLong(Exchange::cachedTokens).sum() / Math.max(1, prompt);
    imbalance = imbalance(workers);
    requestsByWorker = workers.stream().map(SimWorker::requests).toList();
    this.rejected = rejected + trace.requests().size() - ended.size() - rejected;
    seconds = nanos / 1e9;
    meanAbsoluteError = ended.stream().mapToDouble(e -> Math.abs(error(e))).average().orElse(0);
    bias = ended.stream().mapToDouble(RunResult::error).average().orElse(0);
  }

  private static double error(Exchange exchange) {
    return exchange.predictedMillis() - exchange.ttftMillis();
  }

  /** Mean difference of predicted and measured time to first token; NaN without predictions. */
  public double meanAbsoluteError() {
    return meanAbsoluteError;
  }

  /** Mean of predicted less measured time to first token; NaN without predictions. */
  public double bias() {
    return bias;
  }

  /** Most prompt tokens that a worker computed, in parts of the mean. */
  private static double imbalance(List<SimWorker> workers) {
    double[] computed = workers.stream().mapToDouble(SimWorker::computedTokens).toArray();
    double mean = Arrays.stream(computed).average().orElse(0);
    return mean == 0 ? 1 : Arrays.stream(computed).max().orElse(0) / mean;
  }

  /** Requests that were answered. */
  public int requests() {
    return ttft.length;
  }

  /** Requests that were not. */
  public int rejected() {
    return rejected;
  }

  /** Share of prompt tokens that engines found in their caches. */
  public double hit() {
    return hit;
  }

  public double ttftMean() {
    return Arrays.stream(ttft).average().orElse(0);
  }

  /**
   * Time to first token that a share of the requests did not exceed.
   *
   * @param share above 0, at most 1
   */
  public double ttft(double share) {
    return ttft.length == 0 ? 0 : ttft[(int) Math.ceil(share * ttft.length) - 1];
  }

  public double endToEndMean() {
    return endToEndMean;
  }

  public double imbalance() {
    return imbalance;
  }

  /** Simulated seconds until the last answer ended. */
  public double seconds() {
    return seconds;
  }

  /** Requests placed on each engine, in the order in which they joined. */
  public List<Integer> requestsByWorker() {
    return requestsByWorker;
  }
}
