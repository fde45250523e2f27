package io.pointsman.app.metrics;

/** Metrics of decisions: policies, predictions, indexes. */
enum DecisionMetric implements Metric {
  DECISIONS(
      Kind.COUNTER,
      "pointsman_policy_decisions_total",
      "placements",
      "Requests placed on a worker, by the reason of the choice.",
      "policy",
      "reason"),
  POLICY_FAILURES(
      Kind.COUNTER,
      "pointsman_policy_failures_total",
      "failures",
      "Times a policy threw; the request was placed by least load. Always a bug."),
  REJECTS(
      Kind.COUNTER,
      "pointsman_rejects_total",
      "requests",
      "Times no worker could be chosen, by reason.",
      "reason"),
  PREFIX_MATCH_RATIO(
      Kind.HISTOGRAM,
      "pointsman_prefix_match_ratio",
      "ratio",
      "Share of the prompt that the chosen worker was thought to hold, for policies that look."),
  PREDICTED_TTFT(
      Kind.HISTOGRAM,
      "pointsman_predicted_ttft_seconds",
      "seconds",
      "First tokens that the policy predicted, from the placement on: when they were expected"
          + " (predicted), when they came (measured).",
      "kind"),
  TTFT_ERROR(
      Kind.HISTOGRAM,
      "pointsman_ttft_prediction_error_seconds",
      "seconds",
      "By how much predictions of first tokens were wrong: early if they were expected before they"
          + " came, else late. Bias is the sum of late less that of early.",
      "side"),
  HIT_ERROR(
      Kind.HISTOGRAM,
      "pointsman_hit_prediction_error_ratio",
      "ratio",
      "By how much the share of the prompt that was expected in the worker's cache differs from the"
          + " share that the worker found: over if too much was expected, else under. Of requests"
          + " whose worker told, and was chosen by what workers hold.",
      "side"),
  PROMPT_TOKENS(
      Kind.COUNTER,
      "pointsman_prompt_tokens_total",
      "tokens",
      "Prompt tokens of requests that ended well, for policies that predict: all (prompt), those"
          + " thought to be in the worker's cache (expected), those found there (cached).",
      "kind"),
  LOST_HITS(
      Kind.COUNTER,
      "pointsman_lost_hits_total",
      "requests",
      "Requests of which a part of the prompt had to be computed, by why it was not found in a"
          + " cache. A request counts once for each reason, as docs/observing-decisions.md defines"
          + " them.",
      "reason"),
  LOST_HIT_TOKENS(
      Kind.COUNTER,
      "pointsman_lost_hit_tokens_total",
      "tokens",
      "Prompt tokens that had to be computed, by why they were not found in a cache.",
      "reason"),
  SHADOW_PLACEMENTS(
      Kind.COUNTER,
      "pointsman_shadow_placements_total",
      "requests",
      "Requests that the shadow policy decided on: agreed with the acting policy, differed from it,"
          + " refused (it found nobody), dropped (it could not keep up).",
      "result"),
  SHADOW_TOKENS(
      Kind.COUNTER,
      "pointsman_shadow_prompt_tokens_total",
      "tokens",
      "Prompt tokens of these requests (prompt), and those expected in their workers' caches"
          + " (held), as placed by the acting policy and as the shadow policy would have placed"
          + " them.",
      "side",
      "kind"),
  SHADOW_TTFT(
      Kind.COUNTER,
      "pointsman_shadow_predicted_ttft_seconds_total",
      "seconds",
      "Sum of the times to first token that are expected of these requests under either policy.",
      "side"),
  SHADOW_IMBALANCE(
      Kind.GAUGE,
      "pointsman_shadow_imbalance",
      "ratio",
      "Prompt tokens that the busiest worker had to compute of late under either policy, in parts"
          + " of the mean; 1 is even.",
      "side"),
  SHADOW_FAILURES(
      Kind.COUNTER,
      "pointsman_shadow_failures_total",
      "failures",
      "Times the shadow policy threw. Always a bug; nobody is served worse for it."),
  PREFIX_INDEX_BYTES(
      Kind.GAUGE,
      "pointsman_prefix_index_bytes",
      "bytes",
      "Memory that the prefix index holds now."),
  PREFIX_INDEX_MAX_BYTES(
      Kind.GAUGE,
      "pointsman_prefix_index_max_bytes",
      "bytes",
      "Memory that the prefix index may hold at most; of cost.max-bytes half."),
  PREFIX_INDEX_BLOCKS(
      Kind.GAUGE,
      "pointsman_prefix_index_blocks",
      "blocks",
      "Blocks that the prefix index knows, each counted once."),
  PREFIX_INDEX_EVICTIONS(
      Kind.COUNTER,
      "pointsman_prefix_index_evictions_total",
      "blocks",
      "Blocks that the prefix index has forgotten to make room for others within its memory."),
  COST_CACHE_BYTES(
      Kind.GAUGE,
      "pointsman_cost_cache_bytes",
      "bytes",
      "Memory that cost's models of workers' caches hold. Near its bound they forget prompts early,"
          + " which counts as evicted among lost hits: raise cost.max-bytes."),
  COST_CACHE_MAX_BYTES(
      Kind.GAUGE,
      "pointsman_cost_cache_max_bytes",
      "bytes",
      "Memory that they may hold at most: cost.max-bytes without the prefix index's half and what"
          + " is of fixed size."),
  COST_FALLBACK(
      Kind.GAUGE,
      "pointsman_cost_fallback",
      "policies",
      "1 while policy cost places requests by least load, because measured times to first token"
          + " were far above those predicted for least load; else 0. With model-policies, the"
          + " number of cost policies that do."),
  COST_FALLBACKS(
      Kind.COUNTER,
      "pointsman_cost_fallbacks_total",
      "fallbacks",
      "Times that policy cost fell back to least load.");

  @SuppressWarnings("ImmutableEnumChecker") // its list is a List.copyOf
  private final About about;

  DecisionMetric(Kind kind, String metricName, String unit, String meaning, String... labels) {
    about = new About(kind, metricName, unit, meaning, labels);
  }

  @Override
  public About about() {
    return about;
  }
}
