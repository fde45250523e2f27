package io.pointsman.engine.policy.kv;

import io.pointsman.engine.kv.KvCredits;
import io.pointsman.engine.kv.KvHits;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.kv.KvTally;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.cost.cache.PrefixHolders;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import org.jspecify.annotations.Nullable;

/**
 * The knowledge of one prompt on all workers. KV events provide it if the token ids are known and
 * the worker announces its cache. Otherwise placements provide it, looked up on first use.
 *
 * <p>Placements count in addition to events in three cases:
 *
 * <ul>
 *   <li>the placement is recent or not computed yet, so its event is still to come;
 *   <li>it happened before the events were complete, because engines do not repeat them;
 *   <li>it extends beyond the known ids, on a worker that announced all known ones.
 * </ul>
 *
 * <p>For one pick.
 */
final class KnownPrompt {
  /** Maximum number of shorter prefixes tried if a longer one does not count. */
  private static final int STEPS = 16;

  private final KvLearner learner;
  private final KvIndex index;
  private final KvCredits credits;
  private final PrefixBlocks prompt;
  private final @Nullable PrefixBlocks tokens;
  private final KvHits hits;
  private final long now;
  private @Nullable PrefixHolders placed;
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

  /** Tokens that the worker in a slot need not compute, weighted by tier; less than all. */
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
   * Blocks placed on the worker that count without an event; 0 if they are not more than announced.
   * Placements before the worker's cache was last cleared do not count.
   */
  private int besidesAnnounced(int slot, double byAnnouncement) {
    PrefixIndex placements = learner.placements();
    int epoch = placements.epoch(slot);
    long announcedSince = index.knownSince(slot, now);
    long pendingSince = learner.pending().cachedSince(slot, now);
    boolean emptied = index.clears(slot) > 0;
    long emptyUntil = index.emptyUntil(slot, now);
    boolean beyondIds = hits.allKnownIds(slot);
    int blocks = placedBlocks(slot);
    for (int step = 0; step < STEPS && worth(blocks) > byAnnouncement; step++) {
      boolean counts =
          beyondIds
              || !placements.addedSince(prompt, blocks, epoch, announcedSince)
              || placements.addedSince(prompt, blocks, epoch, pendingSince);
      if (counts && (!emptied || placements.addedSince(prompt, blocks, epoch, emptyUntil))) {
        return blocks;
      }
      blocks = PrefixIndex.shorter(blocks);
    }
    return 0;
  }

  private int placedBlocks(int slot) {
    if (!lookedUp) {
      lookedUp = true;
      placed = PrefixHolders.of(learner.placements(), prompt);
    }
    return placed == null ? 0 : placed.blocks(slot);
  }

  /** Cached prefix of the worker in a slot, in blocks of the routing key. */
  int blocks(int slot) {
    if (tokens == null || !index.comparable(slot)) {
      return placedBlocks(slot);
    }
    double byAnnouncement = hits.credit(slot, credits);
    // Half a token more, so the division does not lose whole blocks.
    double share = (byAnnouncement + 0.5) / input();
    int blocks = (int) (share * prompt.length() / prompt.blockLength());
    return Math.max(blocks, besidesAnnounced(slot, byAnnouncement));
  }

  /** The result of the lookup, after {@link #credit} was called for all workers. */
  KvTally.LookupOutcome outcome() {
    if (tokens == null) {
      return KvTally.LookupOutcome.UNKNOWN_TOKENS;
    }
    if (!announced) {
      return KvTally.LookupOutcome.NOT_ANNOUNCED;
    }
    return hit ? KvTally.LookupOutcome.HIT : KvTally.LookupOutcome.MISS;
  }
}
