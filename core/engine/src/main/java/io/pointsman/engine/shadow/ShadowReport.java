package io.pointsman.engine.shadow;

/**
 * The results of two policies for the same requests, as sums since the start.
 *
 * @param acting the acting policy
 * @param shadow the shadow policy
 * @param agreed requests that both placed on the same worker
 * @param refused requests for which the shadow policy found no worker
 * @param dropped requests that the shadow policy skipped because it was too slow
 * @param failures exceptions that it threw
 */
public record ShadowReport(
    Side acting, Side shadow, long agreed, long refused, long dropped, long failures) {
  /**
   * The results of one policy. Hits and times are predicted by the same models for both, so they
   * are comparable.
   *
   * @param placed number of requests
   * @param promptTokens prompt tokens of these
   * @param cachedTokens prompt tokens expected in their workers' caches
   * @param ttftMillis sum of the predicted times to first token in milliseconds
   * @param imbalance recent prompt tokens computed by the busiest worker relative to the mean; 1 is
   *     even
   */
  public record Side(
      long placed, long promptTokens, long cachedTokens, double ttftMillis, double imbalance) {
    static final Side NOTHING = new Side(0, 0, 0, 0, 1);
  }

  /** Nothing was compared. */
  public static final ShadowReport NOTHING =
      new ShadowReport(Side.NOTHING, Side.NOTHING, 0, 0, 0, 0);
}
