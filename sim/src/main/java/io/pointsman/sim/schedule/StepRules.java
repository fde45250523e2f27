package io.pointsman.sim.schedule;

/**
 * How an engine forms its steps.
 *
 * @param chunkedPrefill prompts are computed in chunks beside decoding sequences; if false, a
 *     prompt is computed as a whole, and no sequence decodes in a step that computes prompts
 * @param prefixCache prompts find blocks of earlier prompts
 * @param tokensPerStep mean tokens that a decoding sequence gains in a step: 1, or more with
 *     speculative decoding
 */
public record StepRules(boolean chunkedPrefill, boolean prefixCache, double tokensPerStep) {
  /** Chunks, a prefix cache, one token a step. */
  public static final StepRules DEFAULT = new StepRules(true, true, 1);

  /** Refuses a number of tokens that no engine produces. */
  public StepRules {
    if (!(tokensPerStep >= 1 && tokensPerStep <= 64)) {
      throw new IllegalArgumentException(
          "tokens-per-step: " + tokensPerStep + " (expected: 1 to 64)");
    }
  }
}
