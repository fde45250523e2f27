package io.pointsman.tool.replay.random.draw;

import java.util.SplittableRandom;

/**
 * Lengths of prompts and responses in tokens, log-normal around their means.
 *
 * @param input mean length of a prompt
 * @param output mean length of a response; 0 if there are no tokens
 * @param inputSpread standard deviation of the logarithm
 * @param outputSpread the same of responses
 * @param longest maximum length of a prompt
 */
record TokenLengths(int input, int output, double inputSpread, double outputSpread, int longest) {
  /** Maximum length of a response. */
  static final int LONGEST_ANSWER = 2000;

  /** Minimum length of a prompt. */
  static final int SHORTEST = 100;

  /** Draws a length around a mean. */
  int around(double mean, SplittableRandom random) {
    return (int) Math.clamp(mean * spread(inputSpread, random), 1, longest);
  }

  /** Draws the length of a whole prompt. */
  int prompt(SplittableRandom random) {
    return Math.max(SHORTEST, around(input, random));
  }

  int answer(SplittableRandom random) {
    return output == 0
        ? 0
        : (int) Math.clamp(output * spread(outputSpread, random), 1, LONGEST_ANSWER);
  }

  /** Draws a factor with mean 1. */
  private static double spread(double sigma, SplittableRandom random) {
    return Math.exp(sigma * random.nextGaussian() - sigma * sigma / 2);
  }
}
