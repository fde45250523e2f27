package io.pointsman.engine.fleet;

import static java.util.Objects.requireNonNull;

import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Duration;

/**
 * Settings of the fleet.
 *
 * @param maxWorkers maximum number of workers at once; 1 to 65,536
 * @param maxPrefills maximum number of requests in flight on a prefill worker without its own
 *     limit; 0 means no limit. A prefill worker computes prompts one after the other. Beyond a few
 *     requests, a further one only waits there although another worker could compute it.
 * @param slowStart time in which a worker that becomes healthy gets its full share of the load; 0:
 *     at once
 */
@RecordBuilder
public record FleetSettings(
    int maxWorkers,
    HealthSettings health,
    BreakerSettings breaker,
    StallSettings stall,
    int maxPrefills,
    Duration slowStart)
    implements FleetSettingsBuilder.With {

  public static final FleetSettings DEFAULTS =
      new FleetSettings(
          16_384, HealthSettings.DEFAULTS, BreakerSettings.DEFAULTS, StallSettings.DEFAULTS);

  /** Sets no limit for prefill workers. */
  public FleetSettings(
      int maxWorkers, HealthSettings health, BreakerSettings breaker, StallSettings stall) {
    this(maxWorkers, health, breaker, stall, 0, Duration.ZERO);
  }

  /** Settings without a slow start. */
  public FleetSettings(
      int maxWorkers,
      HealthSettings health,
      BreakerSettings breaker,
      StallSettings stall,
      int maxPrefills) {
    this(maxWorkers, health, breaker, stall, maxPrefills, Duration.ZERO);
  }

  /** Copy in which breakers may exclude all workers. */
  public FleetSettings withoutEjectionLimit() {
    return withBreaker(breaker.withMaxEjectedShare(1));
  }

  /** Copy with the parts of {@code next} that a running fleet can take over. */
  public FleetSettings withLive(FleetSettings next) {
    return with()
        .health(next.health)
        .breaker(next.breaker)
        .stall(next.stall)
        .slowStart(next.slowStart)
        .build();
  }

  public FleetSettings {
    requireNonNull(health, "health");
    requireNonNull(breaker, "breaker");
    requireNonNull(stall, "stall");
    requireNonNull(slowStart, "slowStart");
    if (maxWorkers < 1 || maxWorkers > 65_536) {
      throw new IllegalArgumentException("maxWorkers: " + maxWorkers + " (expected: 1 to 65536)");
    }
    if (maxPrefills < 0) {
      throw new IllegalArgumentException("maxPrefills: " + maxPrefills + " (expected: >= 0)");
    }
  }
}
