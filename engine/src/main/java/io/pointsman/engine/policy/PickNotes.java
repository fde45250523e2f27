package io.pointsman.engine.policy;

/**
 * Why the last pick of a request came out as it did. Written by the policy, read by whoever
 * explains; owned by the request's thread.
 */
public final class PickNotes {
  private PickReason reason = PickReason.FALLBACK;
  private int matchedBlocks;
  private double predictedMillis = Double.NaN;

  /** Notes a choice that had nothing to do with prefixes. */
  public void because(PickReason reason) {
    because(reason, 0);
  }

  /**
   * @param matchedBlocks blocks of the routing key that the chosen worker is thought to hold
   */
  public void because(PickReason reason, int matchedBlocks) {
    this.reason = reason;
    this.matchedBlocks = matchedBlocks;
    predictedMillis = Double.NaN;
  }

  /** Notes when the first token is expected, in milliseconds from the pick on. */
  public void predict(double millis) {
    predictedMillis = millis;
  }

  /**
   * When the policy expected the first token, in milliseconds from the pick on; NaN if it does not
   * predict.
   */
  public double predictedMillis() {
    return predictedMillis;
  }

  public PickReason reason() {
    return reason;
  }

  /**
   * Blocks of the routing key that the chosen worker is thought to hold; 0 where the policy does
   * not look.
   */
  public int matchedBlocks() {
    return matchedBlocks;
  }
}
