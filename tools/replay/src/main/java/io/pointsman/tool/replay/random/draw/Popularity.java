package io.pointsman.tool.replay.random.draw;

import java.util.Arrays;
import java.util.SplittableRandom;

/** Draws one of several, the first ones more often, by Zipf's law. */
final class Popularity {
  private final double[] sums;

  /**
   * @param exponent 0: uniform
   */
  Popularity(int count, double exponent) {
    sums = new double[count];
    double sum = 0;
    for (int i = 0; i < count; i++) {
      sum += Math.pow(i + 1, -exponent);
      sums[i] = sum;
    }
  }

  int draw(SplittableRandom random) {
    int at = Arrays.binarySearch(sums, random.nextDouble() * sums[sums.length - 1]);
    return at < 0 ? Math.min(~at, sums.length - 1) : at;
  }
}
