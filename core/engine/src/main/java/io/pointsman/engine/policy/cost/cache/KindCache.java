package io.pointsman.engine.policy.cost.cache;

/**
 * Cache properties of all workers of one kind: the rounding of cache hits to whole blocks, and
 * whether the engines have a prefix cache. Any thread may read; changed under its own lock.
 */
public final class KindCache {
  /** A larger difference from the expected hit has another reason than rounding, in tokens. */
  private static final double MOST_ROUNDING = 256;

  private static final double FORGETTING = 0.99;

  /** Number of consecutive shared prompts without a hit after which no hits are expected. */
  private static final int MISSES_IN_A_ROW = 12;

  private double roundingTokens;
  private double roundingSamples = 20;
  private volatile double rounding;
  private volatile int misses;

  /** Copies the rounding of another kind. */
  public synchronized void beginFrom(KindCache former) {
    synchronized (former) {
      roundingTokens = former.roundingTokens;
      roundingSamples = former.roundingSamples;
      rounding = former.rounding;
    }
  }

  /**
   * Returns the number of cached tokens that engines compute again, because they match whole blocks
   * only. Negative if engines match more than the router's blocks show.
   */
  public double rounding() {
    return rounding;
  }

  /** Records that an engine found {@code tokens} fewer tokens than it has cached. */
  synchronized void rounded(double tokens) {
    if (Math.abs(tokens) <= MOST_ROUNDING) {
      roundingTokens = FORGETTING * roundingTokens + tokens;
      roundingSamples = FORGETTING * roundingSamples + 1;
      rounding = roundingTokens / roundingSamples;
    }
  }

  /**
   * Records the result of a cache look-up.
   *
   * @param hit true for a hit; false if an earlier request had the prompt and nothing was found
   */
  synchronized void found(boolean hit) {
    misses = hit ? 0 : Math.min(MISSES_IN_A_ROW, misses + 1);
  }

  /** Returns true if engines of this kind seem to have no prefix cache. */
  public boolean keepsNothing() {
    return misses == MISSES_IN_A_ROW;
  }
}
