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
import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The policy {@code consistent_hash}. Each worker has many points on a ring, and a key belongs to
 * the first point at or after its hash (Karger et al., 1997). A worker that joins or leaves moves
 * only the keys of its points. The points of an ineligible worker are skipped. Its keys spread over
 * all others as if it had left, and return with it.
 */
public final class ConsistentHashPolicy implements Policy {
  private final int virtualNodes;
  private final LoadBound bound;
  private final RandomSource random;

  public ConsistentHashPolicy(int virtualNodes, LoadBound bound, RandomSource random) {
    this.virtualNodes = virtualNodes;
    this.bound = bound;
    this.random = random;
  }

  @Override
  public Picker picker(Pool pool) {
    long[] ring = ring(pool);
    return (request, now) ->
        request.keyed()
            ? walk(ring, pool, request, now)
            : RandomPolicy.pick(pool, request, now, random);
  }

  /**
   * Returns the sorted points of all workers: 48 bits of hash, then 16 bits of the worker's index,
   * which suffice for the largest fleet.
   */
  private long[] ring(Pool pool) {
    long[] ring = new long[pool.size() * virtualNodes];
    int n = 0;
    for (int index = 0; index < pool.size(); index++) {
      long worker = PrefixBlocks.mix(AffinityKey.hash(pool.worker(index).id()));
      for (int node = 0; node < virtualNodes; node++) {
        ring[n++] = place(worker + node) | index;
      }
    }
    Arrays.sort(ring);
    return ring;
  }

  private static long place(long hash) {
    return PrefixBlocks.mix(hash) & ~0xFFFFL;
  }

  private @Nullable Worker walk(long[] ring, Pool pool, RoutingRequest request, long now) {
    int start = Arrays.binarySearch(ring, place(request.affinityHash()));
    start = start < 0 ? -start - 1 : start;
    int below = bound.below(pool, now, request.tried());
    Worker overloaded = null;
    for (int step = 0; step < ring.length; step++) {
      int index = (int) (ring[(start + step) % ring.length] & 0xFFFF);
      int load = pool.loadIfEligible(index, now, request.tried());
      if (load < below) {
        return found(pool.worker(index), step == 0, request);
      }
      if (load != Pool.NOT_ELIGIBLE && overloaded == null) {
        overloaded = pool.worker(index);
      }
      if (step == pool.size() && pool.eligible(now, request.tried()) == 0) {
        return null;
      }
    }
    return overloaded == null ? null : found(overloaded, false, request);
  }

  private static Worker found(Worker worker, boolean first, RoutingRequest request) {
    request.picked(PickResult.of(first ? PickReason.HASH : PickReason.HASH_SPILL));
    return worker;
  }
}
