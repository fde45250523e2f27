package io.pointsman.engine.policy.kv;

import io.pointsman.engine.kv.KvCredits;
import io.pointsman.engine.kv.KvHits;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.kv.KvTally;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.cost.Holdings;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import org.jspecify.annotations.Nullable;

/**
 * What is known of one prompt on the workers: announced hits where its token ids are known and the
 * worker announces, else hits by placements, which are looked up when the first worker needs them.
 *
 * <p>Placements count beside announcements in three cases: what was placed a short while ago or is
 * not computed yet, because its announcement is still to come; what was placed before announcements
 * were heard in full, because engines do not announce again what they hold; and what lies beyond
 * the known ids on a worker that has announced all of the known ones. For one pick.
 */
final class KnownPrompt {
  /** Shorter prefixes that are tried when a longer one was placed since. */
  private static final int STEPS = 16;

  private final KvLearner learner;
  private final KvIndex index;
  private final KvCredits credits;
  private final PrefixBlocks prompt;
  private final @Nullable PrefixBlocks tokens;
  private final KvHits hits;
  private final long now;
  private @Nullable Holdings placed;
  private boolean lookedUp;
  private boolean announced;
  private boolean hit;

  KnownPrompt(RoutingRequest request, KvLearner learner, KvCredits credits, long now) {
    this.now = now;
    this.learner = learner;
    this.credits = credits;
    index = learner.knowledge().index();
    prompt = request.prefix();
    tokens = learner.knowledge().tokens(prompt, request.model());
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
      double byAnnouncement = hits.credit(slot, credits);
      hit |= byAnnouncement > 0;
      credit = Math.max(byAnnouncement, worth(besidesAnnounced(slot, byAnnouncement)));
    } else {
      credit = worth(placedBlocks(slot));
    }
    return Math.min(credit, input() - 1);
  }

  private double worth(int blocks) {
    return input() * prompt.ratio(blocks);
  }

  /**
   * Blocks that were placed on the worker in a slot and count though they were not announced; 0 if
   * that is no more than announced. None that was placed before the worker was last empty.
   */
  private int besidesAnnounced(int slot, double byAnnouncement) {
    PrefixIndex placements = learner.placements();
    int tenancy = placements.tenancy(slot);
    long heardSince = index.knownSince(slot, now);
    long pendingSince = learner.pending().heldSince(slot, now);
    boolean emptied = index.clears(slot) > 0;
    long emptyUntil = index.emptyUntil(slot, now);
    boolean beyondIds = hits.allKnownIds(slot);
    int blocks = placedBlocks(slot);
    for (int step = 0; step < STEPS && worth(blocks) > byAnnouncement; step++) {
      boolean counts =
          beyondIds
              || !placements.addedSince(prompt, blocks, tenancy, heardSince)
              || placements.addedSince(prompt, blocks, tenancy, pendingSince);
      if (counts && (!emptied || placements.addedSince(prompt, blocks, tenancy, emptyUntil))) {
        return blocks;
      }
      blocks = PrefixIndex.shorter(blocks);
    }
    return 0;
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
    double byAnnouncement = hits.credit(slot, credits);
    // Half a token more, so that whole blocks do not get lost in the division.
    double share = (byAnnouncement + 0.5) / input();
    int blocks = (int) (share * prompt.length() / prompt.blockLength());
    return Math.max(blocks, besidesAnnounced(slot, byAnnouncement));
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
