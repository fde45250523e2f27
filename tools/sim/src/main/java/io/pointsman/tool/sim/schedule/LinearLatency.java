package io.pointsman.tool.sim.schedule;

/**
 * A constant prefill rate and a constant time per decoded token.
 *
 * @param prefillTokensPerSecond 0: prefill takes no time
 * @param decodeMillis time of a step with at least one decoding sequence; 0: none
 */
public record LinearLatency(double prefillTokensPerSecond, double decodeMillis)
    implements SimLatencyModel {
  /** Rejects negative values. */
  public LinearLatency {
    if (!(prefillTokensPerSecond >= 0) || !(decodeMillis >= 0)) {
      throw new IllegalArgumentException(
          "prefill-tokens-per-s, decode-ms: "
              + prefillTokensPerSecond
              + ", "
              + decodeMillis
              + " (expected: 0 or more)");
    }
  }

  /** Returns a model without any delay. */
  public static LinearLatency none() {
    return new LinearLatency(0, 0);
  }

  @Override
  public long stepNanos(Step step) {
    double prefill =
        prefillTokensPerSecond == 0 ? 0 : step.prefillTokens() / prefillTokensPerSecond;
    double decode = step.decoding() == 0 ? 0 : decodeMillis / 1e3;
    return Math.round((prefill + decode) * 1e9);
  }
}
