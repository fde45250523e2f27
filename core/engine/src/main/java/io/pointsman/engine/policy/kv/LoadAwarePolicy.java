package io.pointsman.engine.policy.kv;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.hash.Md5RingPolicy;
import org.jspecify.annotations.Nullable;

/**
 * The policy {@code load_aware}: the worker with the highest score. The score is the cached share
 * of the prompt, less {@code loadWeight} times the relative excess of the worker's load over the
 * mean. The formula is that of {@code loadaware} in release 0.1.13 of vLLM's production-stack.
 *
 * <p>Cached tokens are known as for {@code kv_aware}: from KV events, else from placements. A
 * prompt that no worker has cached goes to its session's worker as in {@code md5_ring}; without a
 * session it goes to the least loaded worker. Equal scores: fewest requests in flight, then random.
 */
public final class LoadAwarePolicy implements Policy {
  private final KvAwareSettings settings;
  private final KvLearner learner;
  private final RandomSource random;
  private final Policy uncached;

  public LoadAwarePolicy(KvAwareSettings settings, KvLearner learner, RandomSource random) {
    this.settings = settings;
    this.learner = learner;
    this.random = random;
    uncached = new Md5RingPolicy(random);
  }

  @Override
  public Picker picker(Pool pool) {
    learner.adopt(pool);
    Picker others = uncached.picker(pool);
    return (request, now) -> {
      Worker holder = best(pool, request, now);
      return holder == null ? others.pick(request, now) : holder;
    };
  }

  /** The worker with the highest score; null if no eligible worker has cached a part. */
  private @Nullable Worker best(Pool pool, RoutingRequest request, long now) {
    if (request.prefix().count() == 0 || request.role() == Role.DECODE) {
      return null;
    }
    int eligible = 0;
    long inFlight = 0;
    for (int i = 0; i < pool.size(); i++) {
      int load = pool.loadIfEligible(i, now, request.tried());
      if (load != Pool.NOT_ELIGIBLE) {
        eligible++;
        inFlight += load;
      }
    }
    return eligible == 0 ? null : best(pool, request, (double) inFlight / eligible, now);
  }

  private @Nullable Worker best(Pool pool, RoutingRequest request, double mean, long now) {
    KnownPrompt prompt = new KnownPrompt(request, learner, settings.credits(), now);
    LeastOrLikely choice = new LeastOrLikely(0, random);
    boolean cached = false;
    for (int i = 0; i < pool.size(); i++) {
      int load = pool.loadIfEligible(i, now, request.tried());
      if (load != Pool.NOT_ELIGIBLE) {
        double credit = prompt.credit(pool.slot(i));
        cached |= credit > 0;
        double excess = (load - mean) / Math.max(1, mean);
        choice.offer(i, settings.loadWeight() * excess - credit / prompt.input(), load);
      }
    }
    learner.knowledge().tally().count(prompt.outcome());
    if (!cached || choice.chosen() == Pool.ABSENT) {
      return null;
    }
    int matched = prompt.blocks(pool.slot(choice.chosen()));
    PickReason reason = matched > 0 ? PickReason.PREFIX_HIT : PickReason.LEAST_COST;
    request.picked(PickResult.of(reason, matched).withLookup(prompt.outcome()));
    return pool.worker(choice.chosen());
  }
}
