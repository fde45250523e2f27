package io.pointsman.replay.peer;

import io.pointsman.replay.run.Exchange;
import io.pointsman.replay.run.SimWorker;

/**
 * Other routers' costs, in our own words, with exact caches as their KV events would tell them at
 * once. Versions and sources: docs/evidence/routing-quality.md.
 */
final class Scorers {
  /** Hits from this share on are followed by llm-d's affinity filter. */
  private static final double LLMD_AFFINITY = 0.8;

  /** What a miss costs in llm-d's token load when a holder is to be followed: 18 s of prefill. */
  private static final double LLMD_GIVE_UP = 18 * 15_928.0;

  private Scorers() {}

  /**
   * Tokens to compute with this request, times the requests in flight with it: LMetric, and
   * vllm-router 0.1.17's {@code kv_aware} at temperature 0.
   */
  static double uncachedTimesInFlight(SimWorker engine, Exchange request) {
    double tokens = uncached(engine, request) + engine.pendingTokens();
    return tokens * (engine.inFlight() + 1);
  }

  /** Dynamo 1.6's cost in blocks, with its weight on prefill. */
  static Scorer dynamo(double prefillWeight) {
    return (engine, request) -> {
      double block = engine.scheduler().limits().blockSize();
      double prefill = (engine.pendingTokens() + uncached(engine, request)) / block;
      return prefillWeight * prefill + engine.activeBlocksWith(request);
    };
  }

  /**
   * llm-d's default: holders of most of the prompt before others unless they are overloaded, then
   * the fewest uncached tokens that are yet to be computed. What was sent counts as held at once,
   * as its speculative inserts have it.
   */
  static double llmd(SimWorker engine, Exchange request) {
    int uncached = request.inputTokens() - engine.held(request);
    double load = engine.pendingTokens() + (double) uncached;
    boolean holder = uncached <= (1 - LLMD_AFFINITY) * request.inputTokens();
    return holder ? load : load + LLMD_GIVE_UP;
  }

  private static int uncached(SimWorker engine, Exchange request) {
    return request.inputTokens() - engine.cached(request);
  }
}
