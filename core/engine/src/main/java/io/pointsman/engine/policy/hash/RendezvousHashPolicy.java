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
import org.jspecify.annotations.Nullable;

/**
 * The policy {@code rendezvous_hash}: the worker with the highest hash of worker and key (Thaler
 * and Ravishankar, 1998). The shares are even without a ring, but the cost grows with the fleet.
 * The keys of an ineligible worker go to each key's second choice; all others stay.
 */
public final class RendezvousHashPolicy implements Policy {
  private final LoadBound bound;
  private final RandomSource random;

  public RendezvousHashPolicy(LoadBound bound, RandomSource random) {
    this.bound = bound;
    this.random = random;
  }

  @Override
  public Picker picker(Pool pool) {
    long[] hashes = new long[pool.size()];
    for (int i = 0; i < hashes.length; i++) {
      hashes[i] = PrefixBlocks.mix(AffinityKey.hash(pool.worker(i).id()));
    }
    return (request, now) ->
        request.keyed()
            ? highest(hashes, pool, request, now)
            : RandomPolicy.pick(pool, request, now, random);
  }

  private @Nullable Worker highest(long[] hashes, Pool pool, RoutingRequest request, long now) {
    long key = request.affinityHash();
    int below = bound.below(pool, now, request.tried());
    Highest home = new Highest();
    Highest allowed = new Highest();
    Highest overloaded = new Highest();
    for (int i = 0; i < hashes.length; i++) {
      long score = PrefixBlocks.mix(key ^ hashes[i]);
      home.offer(i, score);
      int load = pool.loadIfEligible(i, now, request.tried());
      if (load < below) {
        allowed.offer(i, score);
      } else if (load != Pool.NOT_ELIGIBLE) {
        overloaded.offer(i, score);
      }
    }
    // Loads change during the scan, so all of them may have passed the bound.
    int found = allowed.index >= 0 ? allowed.index : overloaded.index;
    if (found < 0) {
      return null;
    }
    request.picked(PickResult.of(found == home.index ? PickReason.HASH : PickReason.HASH_SPILL));
    return pool.worker(found);
  }

  /**
   * The highest score so far and its worker. It does not escape the pick, so the JIT avoids the
   * allocation.
   */
  private static final class Highest {
    private int index = -1;
    private long score;

    void offer(int candidate, long offered) {
      if (index < 0 || offered > score) {
        index = candidate;
        score = offered;
      }
    }
  }
}
