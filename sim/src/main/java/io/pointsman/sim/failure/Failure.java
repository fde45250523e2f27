package io.pointsman.sim.failure;

/**
 * A fault and when it strikes.
 *
 * @param fault what happens
 * @param probability that a request is struck, 0 to 1
 * @param count requests struck at most; 0: no limit
 * @param path prefix of the paths concerned; empty: every request that does work (never {@code
 *     /sim/...}, and health only where the prefix names it)
 */
public record Failure(Fault fault, double probability, int count, String path) {
  /** Refuses figures out of range. */
  public Failure {
    if (!(probability >= 0 && probability <= 1)) {
      throw new IllegalArgumentException("probability: " + probability + " (expected: 0 to 1)");
    }
    if (count < 0) {
      throw new IllegalArgumentException("count: " + count + " (expected: 0 or more)");
    }
  }

  /** Strikes every request. */
  public static Failure always(Fault fault) {
    return new Failure(fault, 1, 0, "");
  }

  /** Strikes the next {@code count} requests. */
  public static Failure times(int count, Fault fault) {
    return new Failure(fault, 1, count, "");
  }

  /** The same on paths that start with {@code prefix} only. */
  public Failure on(String prefix) {
    return new Failure(fault, probability, count, prefix);
  }

  /** The same with a probability. */
  public Failure withProbability(double share) {
    return new Failure(fault, share, count, path);
  }
}
