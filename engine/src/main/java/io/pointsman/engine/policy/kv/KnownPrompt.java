package io.pointsman.engine.policy.kv;

import io.pointsman.engine.kv.KvCredits;
import io.pointsman.engine.kv.KvHits;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.kv.KvTally;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.cost.Holdings;
import io.pointsman.engine.prefix.PrefixBlocks;
import org.jspecify.annotations.Nullable;

/**
 * What is known of one prompt on the workers: announced hits where its token ids are known and the
 * worker announces, else hits by placements, which are looked up when the first worker needs them.
 * For one pick.
 */
final class KnownPrompt {
  private final KvLearner learner;
  private final KvIndex index;
  private final KvCredits credits;
  private final PrefixBlocks prompt;
  private final @Nullable PrefixBlocks tokens;
  private final KvHits hits;
  private @Nullable Holdings placed;
  private boolean lookedUp;
  private boolean announced;
  private boolean hit;

  KnownPrompt(RoutingRequest request, KvLearner learner, KvCredits credits) {
    this.learner = learner;
    this.credits = credits;
    index = learner.knowledge().index();
    prompt = request.prefix();
    tokens = learner.knowledge().tokens(prompt);
    hits = tokens == null ? KvHits.NONE : index.hits(tokens, request.model());
  }

  /** Length of the prompt in tokens, known or estimated; at least 1. */
  int input() {
    return Math.max(1, (tokens == null ? prompt : tokens).tokens());
  }

  /** Tokens that the worker in a slot need not compute, as they are worth; less than all. */
  double credit(int slot) {
    double credit;
    if (tokens != null && index.comparable(slot)) {
      announced = true;
      credit = hits.credit(slot, credits);
      hit |= credit > 0;
    } else {
      credit = input() * prompt.ratio(placedBlocks(slot));
    }
    return Math.min(credit, input() - 1);
  }

  private int placedBlocks(int slot) {
    if (!lookedUp) {
      lookedUp = true;
      placed = Holdings.of(learner.placements(), prompt);
    }
    return placed == null ? 0 : placed.blocks(slot);
  }

  /** The same in blocks of the routing key. */
  int blocks(int slot) {
    if (tokens == null || !index.comparable(slot)) {
      return placedBlocks(slot);
    }
    // Half a token more, so that whole blocks do not get lost in the division.
    double share = (hits.credit(slot, credits) + 0.5) / input();
    return (int) (share * prompt.length() / prompt.blockLength());
  }

  /** What the lookup came to, once all workers were asked for. */
  KvTally.Outcome outcome() {
    if (tokens == null) {
      return KvTally.Outcome.UNKNOWN_TOKENS;
    }
    if (!announced) {
      return KvTally.Outcome.NOT_ANNOUNCED;
    }
    return hit ? KvTally.Outcome.HIT : KvTally.Outcome.MISS;
  }
}
