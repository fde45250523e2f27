package io.pointsman.tool.replay.run;

import io.pointsman.engine.policy.CacheMissAttribution;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The result of a run. Times are milliseconds, shares 0 to 1. */
public final class RunResult {
  private final List<ReplayedResponse> served = new ArrayList<>();
  private final double[] ttft;
  private final double endToEndMean;
  private final double hit;
  private final double imbalance;
  private final int rejected;
  private final int left;
  private final double seconds;
  private final List<Integer> requestsByWorker;
  private final List<Presence> engines;
  private final double mergedHit;
  private final double[] deferred;
  private final @Nullable CacheMissAttribution cacheMisses;

  /**
   * @param workers in the order in which they joined
   * @param mergedHit hits of one cache as large as all together
   * @param cacheMisses the policy's cache misses; null if it does not predict
   */
  RunResult(
      ReplayedRequest[] exchanges,
      List<SimWorker> workers,
      long nanos,
      double mergedHit,
      @Nullable CacheMissAttribution cacheMisses) {
    List<ReplayedRequest> ended = new ArrayList<>();
    for (ReplayedRequest exchange : exchanges) {
      if (exchange != null && exchange.ended()) {
        ended.add(exchange);
        if (exchange.answered()) {
          served.add(exchange.served());
        }
      }
    }
    ttft = ended.stream().mapToDouble(ReplayedRequest::ttftMillis).sorted().toArray();
    left = (int) ended.stream().filter(ReplayedRequest::left).count();
    endToEndMean = ended.stream().mapToDouble(ReplayedRequest::endToEndMillis).average().orElse(0);
    double prompt = ended.stream().mapToLong(ReplayedRequest::inputTokens).sum();
    hit = ended.stream().mapToLong(ReplayedRequest::cachedTokens).sum() / Math.max(1, prompt);
    imbalance = imbalance(workers);
    requestsByWorker = workers.stream().map(SimWorker::requests).toList();
    engines = workers.stream().map(SimWorker::presence).toList();
    rejected = exchanges.length - ended.size();
    seconds = nanos / 1e9;
    this.mergedHit = mergedHit;
    deferred =
        ended.stream().mapToDouble(ReplayedRequest::deferredMillis).filter(t -> t > 0).toArray();
    this.cacheMisses = cacheMisses;
  }

  /** Errors of the predicted times to first token. */
  public PredictionErrors predictions() {
    return new PredictionErrors(served);
  }

  /** The policy's reasons for computed prompt tokens; null if it does not predict. */
  public @Nullable CacheMissAttribution cacheMisses() {
    return cacheMisses;
  }

  /**
   * The run by windows.
   *
   * @param windowSeconds length of a window, above 0; doubled until there are at most 1,000
   */
  public TimeLine timeLine(double windowSeconds) {
    return new TimeLine(engines, served, seconds, windowSeconds);
  }

  /** Maximum of prompt tokens computed by a worker, relative to the mean. */
  private static double imbalance(List<SimWorker> workers) {
    double[] computed = workers.stream().mapToDouble(SimWorker::computedTokens).toArray();
    double mean = Arrays.stream(computed).average().orElse(0);
    return mean == 0 ? 1 : Arrays.stream(computed).max().orElse(0) / mean;
  }

  /** Requests that were answered, or had clients that left. */
  public int requests() {
    return ttft.length;
  }

  /**
   * Requests that were not: those too long for every engine, and requests that depended on them.
   */
  public int rejected() {
    return rejected;
  }

  /** Requests of clients that left before the end of the response; their times end there. */
  public int left() {
    return left;
  }

  /** Share of prompt tokens that engines found in their caches. */
  public double hit() {
    return hit;
  }

  /** Share of prompt tokens that one cache as large as all initial engines' would have found. */
  public double mergedHit() {
    return mergedHit;
  }

  /** Number of deferred requests. */
  public int deferred() {
    return deferred.length;
  }

  /** Mean deferral in milliseconds; 0 if there was none. */
  public double deferredMean() {
    return Arrays.stream(deferred).average().orElse(0);
  }

  /** Longest deferral in milliseconds. */
  public double deferredMax() {
    return Arrays.stream(deferred).max().orElse(0);
  }

  public double ttftMean() {
    return Arrays.stream(ttft).average().orElse(0);
  }

  /**
   * Quantile of the time to first token.
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

  /** Simulated seconds until the last response ended. */
  public double seconds() {
    return seconds;
  }

  /** Requests placed on each engine, in the order in which they joined. */
  public List<Integer> requestsByWorker() {
    return requestsByWorker;
  }
}
