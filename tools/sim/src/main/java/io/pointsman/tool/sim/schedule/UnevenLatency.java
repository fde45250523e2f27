package io.pointsman.tool.sim.schedule;

import java.util.SplittableRandom;

/**
 * Step times with pseudo-random variation, as on a machine that also runs other programs.
 *
 * <p>Each step time is multiplied by a log-normal factor with mean 1. Some steps also stall. Factor
 * and stall are computed from the work of the step: equal work takes equal time, so replays repeat.
 *
 * @param step mean step times without stalls
 * @param spread standard deviation of the logarithm of the factor, 0 to 2
 * @param stalls share of the steps that stall, 0 to 1
 * @param stallFactor factor on the time of a stalled step, 1 to 1000
 */
public record UnevenLatency(SimLatencyModel step, double spread, double stalls, double stallFactor)
    implements SimLatencyModel {
  /** Rejects values out of range. */
  public UnevenLatency {
    if (!(spread >= 0 && spread <= 2)) {
      throw new IllegalArgumentException("spread: " + spread + " (expected: 0 to 2)");
    }
    if (!(stalls >= 0 && stalls <= 1)) {
      throw new IllegalArgumentException("stalls: " + stalls + " (expected: 0 to 1)");
    }
    if (!(stallFactor >= 1 && stallFactor <= 1000)) {
      throw new IllegalArgumentException("stall-factor: " + stallFactor + " (expected: 1 to 1000)");
    }
  }

  @Override
  public long stepNanos(Step work) {
    SplittableRandom random = new SplittableRandom(seed(work));
    double factor = Math.exp(spread * random.nextGaussian() - spread * spread / 2);
    double stalled = random.nextDouble() < stalls ? stallFactor : 1;
    return Math.round(step.stepNanos(work) * factor * stalled);
  }

  private static long seed(Step work) {
    return (work.contextTokens() * 31 + work.decoding()) * 31 + work.prefillTokens();
  }
}
