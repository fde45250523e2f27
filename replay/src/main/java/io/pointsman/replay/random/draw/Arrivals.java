package io.pointsman.replay.random.draw;

import java.util.Locale;
import java.util.SplittableRandom;

/** How requests come; the mean time between them is 1, whatever the unit. */
public enum Arrivals {
  /** At any time with equal chance. */
  POISSON {
    @Override
    double gap(double at, SplittableRandom random) {
      return exponential(random, 1);
    }
  },
  /** Bursts at four times the rate, with long pauses between them. */
  BURSTS {
    @Override
    double gap(double at, SplittableRandom random) {
      boolean pause = random.nextDouble() < 1 / 20.0;
      return exponential(random, pause ? 15.25 : 0.25);
    }
  },
  /** A rate that rises and falls by four fifths. */
  WAVES {
    @Override
    double gap(double at, SplittableRandom random) {
      return exponential(random, 1) / (1 + 0.8 * Math.sin(at / 60));
    }
  };

  /** Time from an arrival at {@code at} to the next. */
  abstract double gap(double at, SplittableRandom random);

  /** A time with this mean. */
  static double exponential(SplittableRandom random, double mean) {
    return -mean * Math.log(1 - random.nextDouble());
  }

  /** Its name in tables. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
