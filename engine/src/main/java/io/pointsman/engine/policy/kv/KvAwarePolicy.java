package io.pointsman.engine.policy.kv;

import io.pointsman.engine.env.Dice;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.kv.KvTally;
import io.pointsman.engine.policy.LeastLoadPolicy;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import org.jspecify.annotations.Nullable;

/**
 * {@code kv_aware}: the worker with the least of (prompt tokens to compute there, this request's
 * and those placed before) times (requests in flight, with this one), where the tokens that a
 * worker need not compute are those that it has announced to hold. The formula and its names are
 * those of vllm-router 0.1.17.
 *
 * <p>What was placed and has yet to be announced counts as held too. Of workers that announce
 * nothing, and of prompts whose token ids are not known or that have a salt, the hit is what was
 * placed there before; so is that of what was placed before all announcements were heard, where it
 * is more. Equal costs are decided by requests in flight, then by chance. Prefill workers are
 * compared by tokens alone, decode workers by requests alone.
 */
public final class KvAwarePolicy implements Policy {
  private final KvAwareSettings settings;
  private final KvLearner learner;
  private final Dice dice;

  public KvAwarePolicy(KvAwareSettings settings, KvLearner learner, Dice dice) {
    this.settings = settings;
    this.learner = learner;
    this.dice = dice;
  }

  @Override
  public Picker picker(Pool pool) {
    learner.adopt(pool);
    return (request, now) -> pick(pool, request, now);
  }

  private @Nullable Worker pick(Pool pool, RoutingRequest request, long now) {
    if (request.prefix().count() == 0 || request.role() == Role.DECODE) {
      return LeastLoadPolicy.pick(pool, request, now, dice);
    }
    KnownPrompt prompt = new KnownPrompt(request, learner, settings.credits(), now);
    LeastOrLikely choice = new LeastOrLikely(settings.temperature(), dice);
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
    KvTally.Outcome outcome = prompt.outcome();
    learner.knowledge().tally().count(outcome);
    int held = prompt.blocks(pool.slot(choice.chosen()));
    request.notes().because(held > 0 ? PickReason.PREFIX_HIT : PickReason.LEAST_COST, held);
    request.notes().lookedUp(outcome);
    return pool.worker(choice.chosen());
  }
}
