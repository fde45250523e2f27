package io.pointsman.engine.policy.hash;

import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import java.util.List;

/**
 * Keeps a popular key from flooding its worker: no worker takes more than {@code factor} times the
 * mean load (Mirrokni, Thorup, Zadimoghaddam, "Consistent Hashing with Bounded Loads", 2018).
 *
 * @param factor at least 1, or 0 for no bound
 */
public record LoadBound(double factor) {
  /** What a product that should be a whole number may exceed it by. */
  private static final double ROUNDING = 1e-9;

  /**
   * Most requests in flight that a worker may have before it gets this one: below {@code
   * ceil(factor * mean)}, the mean taken over the eligible workers with this request included. With
   * loads at rest at least one worker is below it. Without a bound, more than any load.
   */
  int below(Pool pool, long now, List<Worker> tried) {
    if (factor == 0) {
      return Pool.NOT_ELIGIBLE;
    }
    long total = 1;
    int eligible = 0;
    for (int i = 0; i < pool.size(); i++) {
      int load = pool.loadIfEligible(i, now, tried);
      if (load != Pool.NOT_ELIGIBLE) {
        total += load;
        eligible++;
      }
    }
    return (int) Math.ceil(factor * total / Math.max(eligible, 1) - ROUNDING);
  }
}
