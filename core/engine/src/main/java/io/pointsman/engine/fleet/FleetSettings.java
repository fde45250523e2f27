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

  /**
   * Least number of slots of a fleet. All slots together cost 2 MB; in return, a running router can
   * raise {@link #maxWorkers} up to here.
   */
  public static final int LEAST_SLOTS = 16_384;

  public static final FleetSettings DEFAULTS =
      new FleetSettings(
          LEAST_SLOTS, HealthSettings.DEFAULTS, BreakerSettings.DEFAULTS, StallSettings.DEFAULTS);

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
    return next.maxWorkers <= slots() ? next : next.withMaxWorkers(maxWorkers);
  }

  /** The number of slots that a fleet with these settings has for its whole life. */
  public int slots() {
    return Math.max(maxWorkers, LEAST_SLOTS);
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
