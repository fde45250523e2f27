package io.pointsman.engine.disagg;

/**
 * When a request is split, and what serves it when it is not.
 *
 * @param threshold input tokens, estimated, from which on requests are split; shorter ones go to
 *     one worker. 0 splits all. Too low, and short prompts wait for a transfer that takes longer
 *     than computing them; too high, and long prompts hold up the streams of decode workers.
 * @param uncachedThreshold the same for tokens that no decode worker has in its cache; 0 turns the
 *     rule off. Meant for conversations, of which each turn is long and mostly known.
 * @param heldShare share of the prompt, above 0 to 1, that a decode worker must hold for prefill to
 *     be skipped; above 1 it never is
 * @param maxLoadGap requests in flight by which a decode worker that holds the prefix may exceed
 *     the least loaded one to be chosen for it; at least 0
 * @param maxPendingPrefill prompt tokens before each prefill worker above which requests are not
 *     split; 0 turns the rule off
 * @param decodeServesWhole whether decode workers may serve whole requests. Where they may not, a
 *     request that is better not split is split all the same if nobody else can serve it.
 * @param prefillServesWhole whether prefill workers may, when no other can
 * @param wholeWhenPrefillBusy whether a request is served whole when all prefill workers are at
 *     their limit; otherwise it is refused as busy, so that it can wait
 */
public record SplitSettings(
    int threshold,
    int uncachedThreshold,
    double heldShare,
    int maxLoadGap,
    long maxPendingPrefill,
    boolean decodeServesWhole,
    boolean prefillServesWhole,
    boolean wholeWhenPrefillBusy) {

  public static final SplitSettings DEFAULTS =
      new SplitSettings(0, 0, 0.95, 8, 0, true, false, false);

  /** For protocols under which workers of one role serve nothing without a hand-over. */
  public static final SplitSettings HALVES_ONLY =
      new SplitSettings(0, 0, 2, 8, 0, false, false, false);

  public SplitSettings {
    check("threshold", threshold);
    check("uncachedThreshold", uncachedThreshold);
    check("maxLoadGap", maxLoadGap);
    check("maxPendingPrefill", maxPendingPrefill);
    if (!(heldShare > 0)) {
      throw new IllegalArgumentException("heldShare: " + heldShare + " (expected: > 0)");
    }
  }

  private static void check(String name, long value) {
    if (value < 0) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: >= 0)");
    }
  }
}
