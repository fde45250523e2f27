package io.pointsman.app.explain;

/**
 * Which decisions are kept to be looked at.
 *
 * @param sample share of all decisions that is explained and kept, drawn by chance; 0 to 1. Each
 *     costs a prediction for every worker.
 * @param keep so many of the newest are kept; 0 to 10,000, 0 turns the log off. Each takes up to 10
 *     KiB.
 */
public record DecisionSettings(double sample, int keep) {
  /** The bound of {@link #keep}. */
  public static final int MOST_KEPT = 10_000;

  public static final DecisionSettings DEFAULTS = new DecisionSettings(0.01, 256);

  public DecisionSettings {
    if (!(sample >= 0 && sample <= 1)) {
      throw new IllegalArgumentException("sample: " + sample + " (expected: 0 to 1)");
    }
    if (keep < 0 || keep > MOST_KEPT) {
      throw new IllegalArgumentException("keep: " + keep + " (expected: 0 to " + MOST_KEPT + ")");
    }
  }
}
