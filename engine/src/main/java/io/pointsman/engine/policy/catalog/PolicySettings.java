package io.pointsman.engine.policy.catalog;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.policy.cache.CacheAwareSettings;
import io.pointsman.engine.policy.cost.CostSettings;
import io.pointsman.engine.policy.hash.RingSettings;
import io.pointsman.engine.policy.kv.KvAwareSettings;
import io.pointsman.engine.policy.session.SessionAffinity;
import java.time.Duration;

/**
 * The knobs of all policies. A policy reads its own and leaves the others alone.
 *
 * @param virtualNodes places of each worker on the ring of {@code consistent_hash}; 1 to 10,000.
 *     More of them even the arcs out and cost 8 bytes each and time when the fleet changes.
 * @param hashLoadFactor for the hash policies: a worker takes at most this many times the mean
 *     number of requests in flight, what exceeds it goes to the key's next worker; at least 1, or 0
 *     for no bound. Near 1 loads are even and keys wander; from about 2 on keys hardly ever wander.
 * @param rayRing the knobs of {@code ray_consistent_hash}
 * @param cacheAware the knobs of {@code cache_aware}
 * @param cost the knobs of {@code cost}
 * @param kvAware the knobs of {@code kv_aware}
 * @param affinity whether sessions stay with their workers, whatever the policy
 * @param sessionTtl how long a session is kept after the end of its last request; more than 0
 * @param maxSessions most sessions kept at once; at least 1. When there are more, the one idle for
 *     longest is given up.
 */
public record PolicySettings(
    int virtualNodes,
    double hashLoadFactor,
    RingSettings rayRing,
    CacheAwareSettings cacheAware,
    CostSettings cost,
    KvAwareSettings kvAware,
    SessionAffinity.Mode affinity,
    Duration sessionTtl,
    int maxSessions) {

  public static final PolicySettings DEFAULTS =
      new PolicySettings(160, 0, CacheAwareSettings.DEFAULTS, Duration.ofHours(2), 100_000);

  /** With the defaults for the policies that are not named, without affinity. */
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
        maxSessions);
  }

  public PolicySettings {
    requireNonNull(rayRing, "rayRing");
    requireNonNull(cacheAware, "cacheAware");
    requireNonNull(cost, "cost");
    requireNonNull(kvAware, "kvAware");
    requireNonNull(affinity, "affinity");
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

  /** The same with other knobs of {@code cost}. */
  public PolicySettings withCost(CostSettings cost) {
    return new PolicySettings(
        virtualNodes,
        hashLoadFactor,
        rayRing,
        cacheAware,
        cost,
        kvAware,
        affinity,
        sessionTtl,
        maxSessions);
  }

  /** The same with other knobs of {@code kv_aware}. */
  public PolicySettings withKvAware(KvAwareSettings kvAware) {
    return new PolicySettings(
        virtualNodes,
        hashLoadFactor,
        rayRing,
        cacheAware,
        cost,
        kvAware,
        affinity,
        sessionTtl,
        maxSessions);
  }

  /** The same with sessions that stay, or do not. */
  public PolicySettings withAffinity(SessionAffinity.Mode affinity) {
    return new PolicySettings(
        virtualNodes,
        hashLoadFactor,
        rayRing,
        cacheAware,
        cost,
        kvAware,
        affinity,
        sessionTtl,
        maxSessions);
  }
}
