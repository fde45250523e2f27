package io.pointsman.engine.policy.kv;

import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.kv.KvTally;
import io.pointsman.engine.policy.LeastLoadPolicy;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import org.jspecify.annotations.Nullable;

/**
 * The policy {@code kv_aware}: the worker with the lowest product of two factors. The first is the
 * number of prompt tokens to compute there, for this request and those placed before. The second is
 * the number of requests in flight, including this one. Tokens that the worker announced as cached
 * need not be computed. The formula and its names are those of vllm-router 0.1.17.
 *
 * <p>Placements that are not announced yet count as cached too. For workers without KV events, and
 * for prompts with a salt or without known token ids, placements alone determine the hit. The same
 * holds for placements before the events were complete, if they give more. Ties are broken by
 * requests in flight, then at random. Prefill workers are compared by tokens only, decode workers
 * by requests only.
 */
public final class KvAwarePolicy implements Policy {
  private final KvAwareSettings settings;
  private final KvLearner learner;
  private final RandomSource random;

  public KvAwarePolicy(KvAwareSettings settings, KvLearner learner, RandomSource random) {
    this.settings = settings;
    this.learner = learner;
    this.random = random;
  }

  @Override
  public Picker picker(Pool pool) {
    learner.adopt(pool);
    return (request, now) -> pick(pool, request, now);
  }

  private @Nullable Worker pick(Pool pool, RoutingRequest request, long now) {
    if (request.prefix().count() == 0 || request.role() == Role.DECODE) {
      return LeastLoadPolicy.pick(pool, request, now, random);
    }
    KnownPrompt prompt = new KnownPrompt(request, learner, settings.credits(), now);
    LeastOrLikely choice = new LeastOrLikely(settings.temperature(), random);
    boolean byTokensAlone = request.role() == Role.PREFILL;
    for (int i = 0; i < pool.size(); i++) {
      int load = pool.loadIfEligible(i, now, request.tried());
      if (load != Pool.NOT_ELIGIBLE) {
        int slot = pool.slot(i);
        double uncached = Math.ceil(prompt.input() - prompt.credit(slot));
        double tokens = uncached + learner.prefillTokens(slot);
        choice.offer(i, byTokensAlone ? tokens : tokens * (load + 1.0), load);
      }
    }
    if (choice.chosen() == Pool.ABSENT) {
      return null;
    }
    KvTally.LookupOutcome outcome = prompt.outcome();
    learner.knowledge().tally().count(outcome);
    int matched = prompt.blocks(pool.slot(choice.chosen()));
    PickReason reason = matched > 0 ? PickReason.PREFIX_HIT : PickReason.LEAST_COST;
    request.picked(PickResult.of(reason, matched).withLookup(outcome));
    return pool.worker(choice.chosen());
  }
}
