package io.pointsman.tool.replay.peer;

import io.pointsman.tool.replay.run.ReplayedRequest;
import io.pointsman.tool.replay.run.SimWorker;

/**
 * Cost functions of other routers, reimplemented with exact caches, as from KV events without
 * delay. Versions and sources: docs/evidence/routing-quality.md.
 */
final class Scorers {
  /** Minimum cached share for llm-d's affinity filter. */
  private static final double LLMD_AFFINITY = 0.8;

  /** Cost of a miss in llm-d's token load if a holder exists: 18 s of prefill. */
  private static final double LLMD_GIVE_UP = 18 * 15_928.0;

  private Scorers() {}

  /**
   * Tokens to compute including this request, times the requests in flight including it. This is
   * LMetric, and {@code kv_aware} of vllm-router 0.1.17 at temperature 0.
   */
  static double uncachedTimesInFlight(SimWorker engine, ReplayedRequest request) {
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
   * llm-d's default: first holders of most of the prompt, unless they are overloaded; then the
   * fewest pending uncached tokens. Placed prompts count as cached at once, like its speculative
   * inserts.
   */
  static double llmd(SimWorker engine, ReplayedRequest request) {
    int uncached = request.inputTokens() - engine.cachedOrComputing(request);
    double load = engine.pendingTokens() + (double) uncached;
    boolean holder = uncached <= (1 - LLMD_AFFINITY) * request.inputTokens();
    return holder ? load : load + LLMD_GIVE_UP;
  }

  private static int uncached(SimWorker engine, ReplayedRequest request) {
    return request.inputTokens() - engine.cached(request);
  }
}
