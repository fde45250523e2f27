package io.pointsman.engine.policy.hash;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RandomPolicy;
import io.pointsman.engine.policy.RoutingRequest;
import org.jspecify.annotations.Nullable;

/**
 * The policy {@code ray_consistent_hash}: the ring of Ray Serve's {@code ConsistentHashRouter}, bit
 * for bit. Both routers can thus serve one fleet during a migration. Each worker has points at the
 * hash of {@code id:0}, {@code id:1} and so on. A session belongs to the first point after the hash
 * of its id. If that worker is not eligible, the next distinct workers serve it.
 *
 * <p>An ineligible worker keeps its points: its sessions go to its successors and return.
 */
public final class RayConsistentHashPolicy implements Policy {
  private static final int SEED = 0xF9B4CA77;

  private final RingSettings settings;
  private final RandomSource random;

  public RayConsistentHashPolicy(RingSettings settings, RandomSource random) {
    this.settings = settings;
    this.random = random;
  }

  @Override
  public Picker picker(Pool pool) {
    PointRing.Builder points = new PointRing.Builder();
    for (int index = 0; index < pool.size(); index++) {
      String id = pool.worker(index).id();
      for (int point = 0; point < settings.virtualNodes(); point++) {
        points.add(Murmur3.hash(id + ":" + point, SEED), 0, index);
      }
    }
    PointRing ring = points.build();
    return (request, now) -> {
      AffinityKey key = request.affinity();
      return key == null
          ? RandomPolicy.pick(pool, request, now, random)
          : walk(ring, ring.behind(Murmur3.hash(key.value(), SEED), -1), pool, request, now);
    };
  }

  /** Tries the owner, then its permitted successors, then the least loaded worker. */
  private @Nullable Worker walk(
      PointRing ring, int place, Pool pool, RoutingRequest request, long now) {
    int most = Math.min(1 + settings.fallbackWorkers(), pool.size());
    int passed = 0;
    for (int step = 0; step < ring.size() && passed < most; step++) {
      int index = ring.owner(place, step);
      if (seen(ring, place, step, index)) {
        continue;
      }
      if (pool.loadIfEligible(index, now, request.tried()) != Pool.NOT_ELIGIBLE) {
        request.picked(PickResult.of(passed == 0 ? PickReason.HASH : PickReason.HASH_SPILL));
        return pool.worker(index);
      }
      passed++;
    }
    request.picked(PickResult.of(PickReason.LEAST_LOAD));
    return pool.leastLoaded(now, request.tried(), random);
  }

  /**
   * Returns true if a worker had a point within the first {@code steps}, by a linear search because
   * there are few.
   */
  private static boolean seen(PointRing ring, int place, int steps, int index) {
    for (int step = 0; step < steps; step++) {
      if (ring.owner(place, step) == index) {
        return true;
      }
    }
    return false;
  }
}
