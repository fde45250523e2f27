package io.pointsman.engine.policy.cost.latency;

/**
 * The prompts without a first token on one worker. All token counts are of uncached tokens.
 *
 * @param startedAt start of the current step; in the future if a decode step ends first
 * @param requests number of requests in the current step
 * @param stepTokens tokens of the current step
 * @param lateTokens tokens of prompts without a first token although their step has ended
 * @param queued number of requests that wait for a later step
 * @param queuedTokens tokens that wait for a later step
 */
public record PrefillState(
    long startedAt,
    int requests,
    double stepTokens,
    double lateTokens,
    int queued,
    double queuedTokens) {
  /** Returns the number of tokens that are not computed yet. */
  public double tokens() {
    return stepTokens + lateTokens + queuedTokens;
  }
}
