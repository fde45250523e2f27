package io.pointsman.engine.fleet;

import static java.util.Objects.requireNonNull;

/**
 * How the fleet keeps its workers.
 *
 * @param maxWorkers most workers at once; at least 1, at most 65,536
 * @param maxPrefills most requests in flight at once on a prefill worker that has no limit of its
 *     own; 0 means no limit. A prefill worker computes one prompt after the other, so that beyond a
 *     few requests a further one only waits there instead of being computed elsewhere.
 */
public record FleetSettings(
    int maxWorkers,
    HealthSettings health,
    BreakerSettings breaker,
    StallSettings stall,
    int maxPrefills) {

  public static final FleetSettings DEFAULTS =
      new FleetSettings(
          16_384, HealthSettings.DEFAULTS, BreakerSettings.DEFAULTS, StallSettings.DEFAULTS);

  /** Without a limit for prefill workers. */
  public FleetSettings(
      int maxWorkers, HealthSettings health, BreakerSettings breaker, StallSettings stall) {
    this(maxWorkers, health, breaker, stall, 0);
  }

  public FleetSettings {
    requireNonNull(health, "health");
    requireNonNull(breaker, "breaker");
    requireNonNull(stall, "stall");
    if (maxWorkers < 1 || maxWorkers > 65_536) {
      throw new IllegalArgumentException("maxWorkers: " + maxWorkers + " (expected: 1 to 65536)");
    }
    if (maxPrefills < 0) {
      throw new IllegalArgumentException("maxPrefills: " + maxPrefills + " (expected: >= 0)");
    }
  }
}
