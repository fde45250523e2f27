package io.pointsman.engine.env;

/** Source of random numbers for the engine. Safe for use by several threads. */
@FunctionalInterface
public interface RandomSource {
  /**
   * Returns a uniformly distributed number in {@code [0, bound)}.
   *
   * @param bound at least 1
   */
  int roll(int bound);
}
