package io.pointsman.sim.schedule;

import java.util.SplittableRandom;

/**
 * Step times that vary although the work does not, as on a machine that runs other programs: each
 * is multiplied by a log-normal factor, and some steps stall. The factor depends on the step alone,
 * so replays repeat.
 *
 * @param step mean step times, but for stalls
 * @param spread standard deviation of the logarithm of the factor, 0 to 2
 * @param stalls share of the steps that stall, 0 to 1
 * @param stallFactor multiple of its time that a stalled step takes, 1 to 1000
 */
public record UnevenLatency(LatencyModel step, double spread, double stalls, double stallFactor)
    implements LatencyModel {
  /** Refuses figures out of range. */
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
