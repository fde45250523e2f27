package io.pointsman.observe.metrics;

/** Metrics of decisions: policies, predictions, indexes. */
enum DecisionMetric implements Metric {
  DECISIONS(
      Kind.COUNTER,
      "pointsman_policy_decisions_total",
      "placements",
      "Requests placed on a worker, by policy and by reason of the choice.",
      "policy",
      "reason"),
  POLICY_FAILURES(
      Kind.COUNTER,
      "pointsman_policy_failures_total",
      "failures",
      "Exceptions in a policy; each request was placed by least load instead. Always a bug."),
  REJECTS(
      Kind.COUNTER,
      "pointsman_rejects_total",
      "requests",
      "Requests for which no worker could be chosen, by reason.",
      "reason"),
  PREFIX_MATCH_RATIO(
      Kind.HISTOGRAM,
      "pointsman_prefix_match_ratio",
      "ratio",
      "Expected cached share of the prompt on the chosen worker, for policies that use prefixes."),
  PREDICTED_TTFT(
      Kind.HISTOGRAM,
      "pointsman_predicted_ttft_seconds",
      "seconds",
      "Time from placement to first token, for policies that predict it: predicted and measured.",
      "kind"),
  TTFT_ERROR(
      Kind.HISTOGRAM,
      "pointsman_ttft_prediction_error_seconds",
      "seconds",
      "Error of predicted times to first token. early: the prediction was too early; late: it was"
          + " too late. The bias is the sum of late minus the sum of early.",
      "side"),
  HIT_ERROR(
      Kind.HISTOGRAM,
      "pointsman_hit_prediction_error_ratio",
      "ratio",
      "Error of the expected cached share of the prompt. over: too much was expected; under: too"
          + " little. Only requests that were placed by cached prefixes, on workers that reported"
          + " cached tokens.",
      "side"),
  PROMPT_TOKENS(
      Kind.COUNTER,
      "pointsman_prompt_tokens_total",
      "tokens",
      "Prompt tokens of successful requests, for policies that predict. prompt: all; expected:"
          + " those expected in the worker's cache; cached: those found there.",
      "kind"),
  CACHE_MISSES(
      Kind.COUNTER,
      "pointsman_cache_misses_total",
      "requests",
      "Requests with prompt tokens that were not found in a cache, by reason. A request counts once"
          + " for each reason that applies. See docs/observing-decisions.md for the reasons.",
      "reason"),
  CACHE_MISS_TOKENS(
      Kind.COUNTER,
      "pointsman_cache_miss_tokens_total",
      "tokens",
      "Prompt tokens that were not found in a cache, by reason.",
      "reason"),
  SHADOW_PLACEMENTS(
      Kind.COUNTER,
      "pointsman_shadow_placements_total",
      "requests",
      "Decisions of the shadow policy. agreed: same worker as the active policy; differed: another"
          + " worker; refused: no worker found; dropped: the shadow policy was overloaded.",
      "result"),
  SHADOW_TOKENS(
      Kind.COUNTER,
      "pointsman_shadow_prompt_tokens_total",
      "tokens",
      "Prompt tokens of requests with a shadow decision. prompt: all; expected: those in the"
          + " worker's cache. side is active or shadow.",
      "side",
      "kind"),
  SHADOW_TTFT(
      Kind.COUNTER,
      "pointsman_shadow_predicted_ttft_seconds_total",
      "seconds",
      "Sum of predicted times to first token of requests with a shadow decision. side is active"
          + " or shadow.",
      "side"),
  SHADOW_IMBALANCE(
      Kind.GAUGE,
      "pointsman_shadow_imbalance",
      "ratio",
      "Recent prompt tokens to compute on the busiest worker, divided by the mean of all workers. 1"
          + " is even. side is active or shadow.",
      "side"),
  SHADOW_FAILURES(
      Kind.COUNTER,
      "pointsman_shadow_failures_total",
      "failures",
      "Exceptions in the shadow policy. Always a bug; requests are not affected."),
  PREFIX_INDEX_BYTES(
      Kind.GAUGE, "pointsman_prefix_index_bytes", "bytes", "Memory in use by the prefix index."),
  PREFIX_INDEX_MAX_BYTES(
      Kind.GAUGE,
      "pointsman_prefix_index_max_bytes",
      "bytes",
      "Maximum memory of the prefix index. For the policy cost: half of cost.max-bytes."),
  PREFIX_INDEX_BLOCKS(
      Kind.GAUGE,
      "pointsman_prefix_index_blocks",
      "blocks",
      "Blocks in the prefix index, each counted once."),
  PREFIX_INDEX_EVICTIONS(
      Kind.COUNTER,
      "pointsman_prefix_index_evictions_total",
      "blocks",
      "Blocks removed from the prefix index because its memory was full."),
  COST_CACHE_BYTES(
      Kind.GAUGE,
      "pointsman_cost_cache_bytes",
      "bytes",
      "Memory in use by the cache models of the policy cost. Near the maximum, the models forget"
          + " prompts early, and cache misses count as evicted; increase cost.max-bytes."),
  COST_CACHE_MAX_BYTES(
      Kind.GAUGE,
      "pointsman_cost_cache_max_bytes",
      "bytes",
      "Maximum memory of the cache models: cost.max-bytes minus the half for the prefix index and"
          + " minus tables of fixed size."),
  COST_FALLBACK(
      Kind.GAUGE,
      "pointsman_cost_fallback",
      "policies",
      "1 while the policy cost places requests by least load, else 0. It does so if measured times"
          + " to first token are far above the predictions for least load. With model-policies: the"
          + " number of cost policies in this state."),
  COST_FALLBACKS(
      Kind.COUNTER,
      "pointsman_cost_fallbacks_total",
      "fallbacks",
      "Number of times that the policy cost fell back to least load.");

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
