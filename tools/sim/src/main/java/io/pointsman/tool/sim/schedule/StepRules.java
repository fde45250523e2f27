package io.pointsman.tool.sim.schedule;

/**
 * The rules by which an engine forms its steps.
 *
 * @param chunkedPrefill true: prompts are computed in chunks together with decoding sequences.
 *     False: a prompt is computed as a whole, and no sequence decodes in such a step.
 * @param prefixCache true if prompts use blocks of earlier prompts
 * @param tokensPerStep mean tokens that a decoding sequence gains per step: 1, or more with
 *     speculative decoding
 * @param frontEndMillis time between the arrival of a request and its entry into the queue:
 *     parsing, the chat template, tokenization; 0 to 10,000
 */
public record StepRules(
    boolean chunkedPrefill, boolean prefixCache, double tokensPerStep, double frontEndMillis) {
  /** Chunks, a prefix cache, one token per step, no time in the front end. */
  public static final StepRules DEFAULT = new StepRules(true, true, 1, 0);

  /** Rejects values out of range. */
  public StepRules {
    if (!(tokensPerStep >= 1 && tokensPerStep <= 64)) {
      throw new IllegalArgumentException(
          "tokens-per-step: " + tokensPerStep + " (expected: 1 to 64)");
    }
    if (!(frontEndMillis >= 0 && frontEndMillis <= 10_000)) {
      throw new IllegalArgumentException(
          "front-end-millis: " + frontEndMillis + " (expected: 0 to 10000)");
    }
  }

  long frontEndNanos() {
    return Math.round(frontEndMillis * 1e6);
  }
}
