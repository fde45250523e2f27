package io.pointsman.replay.random.draw;

import java.util.SplittableRandom;

/**
 * Lengths of prompts and answers, in tokens: log-normal around their means.
 *
 * @param input mean length of a prompt
 * @param output mean length of an answer; 0 if there are no tokens
 * @param inputSpread standard deviation of the logarithm
 * @param outputSpread the same of answers
 * @param longest prompt at most
 */
record Lengths(int input, int output, double inputSpread, double outputSpread, int longest) {
  /** Longest answer. */
  static final int LONGEST_ANSWER = 2000;

  /** Shortest prompt. */
  static final int SHORTEST = 100;

  /** A length around a mean. */
  int around(double mean, SplittableRandom random) {
    return (int) Math.clamp(mean * spread(inputSpread, random), 1, longest);
  }

  /** A length of a whole prompt. */
  int prompt(SplittableRandom random) {
    return Math.max(SHORTEST, around(input, random));
  }

  int answer(SplittableRandom random) {
    return output == 0
        ? 0
        : (int) Math.clamp(output * spread(outputSpread, random), 1, LONGEST_ANSWER);
  }

  /** A factor with mean 1. */
  private static double spread(double sigma, SplittableRandom random) {
    return Math.exp(sigma * random.nextGaussian() - sigma * sigma / 2);
  }
}
