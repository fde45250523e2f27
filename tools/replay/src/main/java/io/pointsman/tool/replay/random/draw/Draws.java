package io.pointsman.tool.replay.random.draw;

import java.util.List;
import java.util.SplittableRandom;

/** Draws among values with equal probability; a value listed twice has twice the probability. */
final class Draws {
  private Draws() {}

  static int one(SplittableRandom random, int... of) {
    return of[random.nextInt(of.length)];
  }

  static double one(SplittableRandom random, double... of) {
    return of[random.nextInt(of.length)];
  }

  static <T> T one(SplittableRandom random, List<T> of) {
    return of.get(random.nextInt(of.size()));
  }
}
