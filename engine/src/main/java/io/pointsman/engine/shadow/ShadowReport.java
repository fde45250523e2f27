package io.pointsman.engine.shadow;

/**
 * What two policies did, or would have done, with the same requests, in sums since the start.
 *
 * @param acting the policy that acts
 * @param shadow the one that does not
 * @param agreed requests that both placed on the same worker
 * @param refused requests for which the shadow policy found nobody
 * @param dropped requests that it was not asked for, because it could not keep up
 * @param failures times that it threw
 */
public record ShadowReport(
    Side acting, Side shadow, long agreed, long refused, long dropped, long failures) {
  /**
   * One of the two policies. Hits and times are expected ones, for both by the same models, so that
   * they can be compared.
   *
   * @param placed requests
   * @param promptTokens of these
   * @param heldTokens how many of those their workers would have held
   * @param ttftMillis sum of the expected times to first token
   * @param imbalance prompt tokens that the busiest worker had to compute of late, in parts of the
   *     mean; 1 is even
   */
  public record Side(
      long placed, long promptTokens, long heldTokens, double ttftMillis, double imbalance) {
    static final Side NOTHING = new Side(0, 0, 0, 0, 1);
  }

  static final ShadowReport NOTHING = new ShadowReport(Side.NOTHING, Side.NOTHING, 0, 0, 0, 0);
}
