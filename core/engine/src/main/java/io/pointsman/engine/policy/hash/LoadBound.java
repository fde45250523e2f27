package io.pointsman.engine.policy.hash;

import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import java.util.List;

/**
 * A load limit that protects a worker from a popular key: at most {@code factor} times the mean
 * load. Source: Mirrokni, Thorup, Zadimoghaddam, "Consistent Hashing with Bounded Loads", 2018.
 *
 * @param factor at least 1, or 0 for no bound
 */
public record LoadBound(double factor) {
  /** Tolerance for floating-point products that should be integers. */
  private static final double ROUNDING = 1e-9;

  /**
   * Returns the exclusive upper bound of a worker's load before it receives this request: {@code
   * ceil(factor * mean)}. The mean covers the eligible workers and includes this request. With
   * constant loads at least one worker is below the bound. Without a factor, it exceeds any load.
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
