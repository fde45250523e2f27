package io.pointsman.tool.replay.random.draw;

import java.util.Locale;
import java.util.SplittableRandom;

/** The arrival process; the mean interval is 1, in any unit. */
public enum ArrivalProcess {
  /** A Poisson process. */
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
  /** A rate that varies by ±80 %. */
  WAVES {
    @Override
    double gap(double at, SplittableRandom random) {
      return exponential(random, 1) / (1 + 0.8 * Math.sin(at / 60));
    }
  };

  /** Interval from an arrival at {@code at} to the next. */
  abstract double gap(double at, SplittableRandom random);

  /** Draws an exponentially distributed time with this mean. */
  static double exponential(SplittableRandom random, double mean) {
    return -mean * Math.log(1 - random.nextDouble());
  }

  /** The name in tables. */
  public String label() {
    return name().toLowerCase(Locale.ROOT);
  }
}
