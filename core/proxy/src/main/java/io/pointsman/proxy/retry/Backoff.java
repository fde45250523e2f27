package io.pointsman.proxy.retry;

import io.pointsman.engine.env.RandomSource;

/** Delay before a retry. It grows geometrically and has jitter in both directions. Immutable. */
public final class Backoff {
  private static final int HALF_STEPS = 1000;

  private final RetrySettings settings;
  private final RandomSource random;

  public Backoff(RetrySettings settings, RandomSource random) {
    this.settings = settings;
    this.random = random;
  }

  /**
   * The delay before a retry, in nanoseconds.
   *
   * @param retries number of earlier retries
   */
  public long nanos(int retries) {
    double grown = (double) settings.initialBackoff().toNanos();
    grown *= Math.pow(settings.multiplier(), retries);
    double plain = Math.min(grown, (double) settings.maxBackoff().toNanos());
    int step = random.roll(2 * HALF_STEPS + 1) - HALF_STEPS;
    double spread = settings.jitter() * step / HALF_STEPS;
    return (long) (plain * (1 + spread));
  }
}
