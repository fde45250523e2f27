package io.pointsman.config.settings;

/**
 * Settings of the decision log.
 *
 * @param sample random share of decisions that are explained and kept, 0 to 1; above 0, a few per
 *     second are explained in addition. Each costs a prediction for every worker
 * @param keep maximum number of kept decisions, 0 to 10,000; 0: no log; each takes up to 10 KiB
 */
public record DecisionSettings(double sample, int keep) {
  /** Maximum of {@link #keep}. */
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
