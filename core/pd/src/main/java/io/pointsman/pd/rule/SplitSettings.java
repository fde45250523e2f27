package io.pointsman.pd.rule;

import static java.util.Objects.requireNonNull;

import io.pointsman.pd.plan.PromptLists;

/**
 * Settings for the split of requests into prefill and decode.
 *
 * @param threshold minimum estimated input tokens for a split; shorter requests go to one worker. 0
 *     splits all. If it is too low, short prompts wait for a transfer that takes longer than their
 *     prefill. If it is too high, long prompts delay the streams of decode workers.
 * @param uncachedThreshold minimum tokens outside every decode worker's cache for a split; 0
 *     disables the rule. For conversations, in which each turn is long and mostly cached.
 * @param cachedShare share of the prompt, above 0 to 1, that a decode worker must hold to skip
 *     prefill; above 1 disables the rule
 * @param maxLoadGap maximum excess of requests in flight of a prefix holder over the least loaded
 *     decode worker; at least 0
 * @param maxPendingPrefill pending prompt tokens on each prefill worker above which requests are
 *     not split; 0 disables the rule
 * @param decodeServesWhole true if decode workers may serve whole requests. If false and no other
 *     worker is available, a request is split against the rules.
 * @param prefillServesWhole true if prefill workers may serve whole requests when no other worker
 *     can
 * @param wholeWhenPrefillBusy true if one worker serves the request when all prefill workers are at
 *     their limit; otherwise it is rejected as busy and can wait
 * @param decodeWithoutPrefill true if a decode worker serves a long request alone while no prefill
 *     worker is available; only with {@code decodeServesWhole}
 * @param lists rules for lists of prompts
 */
public record SplitSettings(
    int threshold,
    int uncachedThreshold,
    double cachedShare,
    int maxLoadGap,
    long maxPendingPrefill,
    boolean decodeServesWhole,
    boolean prefillServesWhole,
    boolean wholeWhenPrefillBusy,
    boolean decodeWithoutPrefill,
    PromptLists lists) {

  public static final SplitSettings DEFAULTS =
      new SplitSettings(0, 0, 0.95, 8, 0, true, false, false);

  /** For protocols that require a handover for every request on prefill and decode workers. */
  public static final SplitSettings HALVES_ONLY =
      new SplitSettings(0, 0, 2, 8, 0, false, false, false);

  /** Settings in which decode workers serve alone while no prefill worker is available. */
  public SplitSettings(
      int threshold,
      int uncachedThreshold,
      double cachedShare,
      int maxLoadGap,
      long maxPendingPrefill,
      boolean decodeServesWhole,
      boolean prefillServesWhole,
      boolean wholeWhenPrefillBusy) {
    this(
        threshold,
        uncachedThreshold,
        cachedShare,
        maxLoadGap,
        maxPendingPrefill,
        decodeServesWhole,
        prefillServesWhole,
        wholeWhenPrefillBusy,
        true,
        PromptLists.DEFAULTS);
  }

  public SplitSettings {
    requireNonNull(lists, "lists");
    check("threshold", threshold);
    check("uncachedThreshold", uncachedThreshold);
    check("maxLoadGap", maxLoadGap);
    check("maxPendingPrefill", maxPendingPrefill);
    if (!(cachedShare > 0)) {
      throw new IllegalArgumentException("cachedShare: " + cachedShare + " (expected: > 0)");
    }
  }

  private static void check(String name, long value) {
    if (value < 0) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: >= 0)");
    }
  }
}
