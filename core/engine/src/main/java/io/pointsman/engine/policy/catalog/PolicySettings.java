package io.pointsman.engine.policy.catalog;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.policy.PrioritySettings;
import io.pointsman.engine.policy.cache.CacheAwareSettings;
import io.pointsman.engine.policy.cost.CostSettings;
import io.pointsman.engine.policy.hash.RingSettings;
import io.pointsman.engine.policy.kv.KvAwareSettings;
import io.pointsman.engine.policy.session.SessionAffinity;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.time.Duration;

/**
 * Settings of all policies; each policy reads its own.
 *
 * @param virtualNodes points of each worker on the ring of {@code consistent_hash}; 1 to 10,000.
 *     More points make the arcs more even. Each costs 8 bytes, and time when the fleet changes.
 * @param hashLoadFactor for hash policies: maximum load of a worker relative to the mean number of
 *     requests in flight; at least 1, or 0 for no bound. Excess requests go to the key's next
 *     worker. Near 1, loads are even but keys move often; from about 2, keys rarely move.
 * @param rayRing settings of {@code ray_consistent_hash}
 * @param cacheAware settings of {@code cache_aware}
 * @param cost settings of {@code cost}
 * @param kvAware settings of {@code kv_aware}
 * @param affinity session affinity for any policy
 * @param sessionTtl retention of a session after the end of its last request; more than 0
 * @param maxSessions maximum number of sessions; at least 1. Beyond it, the session that is idle
 *     for longest is removed.
 * @param priority settings of {@code priority}
 */
@RecordBuilder
public record PolicySettings(
    int virtualNodes,
    double hashLoadFactor,
    RingSettings rayRing,
    CacheAwareSettings cacheAware,
    CostSettings cost,
    KvAwareSettings kvAware,
    SessionAffinity.Mode affinity,
    Duration sessionTtl,
    int maxSessions,
    PrioritySettings priority)
    implements PolicySettingsBuilder.With {

  public static final PolicySettings DEFAULTS =
      new PolicySettings(160, 0, CacheAwareSettings.DEFAULTS, Duration.ofHours(2), 100_000);

  /** Uses defaults for the other policies, and no affinity. */
  public PolicySettings(
      int virtualNodes,
      double hashLoadFactor,
      CacheAwareSettings cacheAware,
      Duration sessionTtl,
      int maxSessions) {
    this(
        virtualNodes,
        hashLoadFactor,
        RingSettings.DEFAULTS,
        cacheAware,
        CostSettings.DEFAULTS,
        KvAwareSettings.DEFAULTS,
        SessionAffinity.Mode.OFF,
        sessionTtl,
        maxSessions,
        PrioritySettings.DEFAULTS);
  }

  public PolicySettings {
    requireNonNull(rayRing, "rayRing");
    requireNonNull(cacheAware, "cacheAware");
    requireNonNull(cost, "cost");
    requireNonNull(kvAware, "kvAware");
    requireNonNull(affinity, "affinity");
    requireNonNull(priority, "priority");
    if (virtualNodes < 1 || virtualNodes > 10_000) {
      throw new IllegalArgumentException(
          "virtualNodes: " + virtualNodes + " (expected: 1 to 10000)");
    }
    if (hashLoadFactor != 0
        && !(hashLoadFactor >= 1 && hashLoadFactor < Double.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException(
          "hashLoadFactor: " + hashLoadFactor + " (expected: >= 1, or 0 for no bound)");
    }
    if (!sessionTtl.isPositive()) {
      throw new IllegalArgumentException("sessionTtl: " + sessionTtl + " (expected: > 0)");
    }
    if (maxSessions < 1) {
      throw new IllegalArgumentException("maxSessions: " + maxSessions + " (expected: >= 1)");
    }
  }
}
