package io.pointsman.engine.env;

/** The engine's only source of chance; safe for use by several threads. */
@FunctionalInterface
public interface Dice {
  /**
   * A uniformly distributed number in {@code [0, bound)}.
   *
   * @param bound at least 1
   */
  int roll(int bound);
}
