package io.pointsman.engine.fleet;

import static java.util.Objects.requireNonNull;

/**
 * How the fleet keeps its workers.
 *
 * @param maxWorkers most workers at once; at least 1, at most 65,536
 */
public record FleetSettings(
    int maxWorkers, HealthSettings health, BreakerSettings breaker, StallSettings stall) {

  public static final FleetSettings DEFAULTS =
      new FleetSettings(
          16_384, HealthSettings.DEFAULTS, BreakerSettings.DEFAULTS, StallSettings.DEFAULTS);

  public FleetSettings {
    requireNonNull(health, "health");
    requireNonNull(breaker, "breaker");
    requireNonNull(stall, "stall");
    if (maxWorkers < 1 || maxWorkers > 65_536) {
      throw new IllegalArgumentException("maxWorkers: " + maxWorkers + " (expected: 1 to 65536)");
    }
  }
}
