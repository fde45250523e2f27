package io.pointsman.engine.policy.cost.cache;

import io.pointsman.engine.kv.KvCredits;
import io.pointsman.engine.kv.KvHits;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.kv.KvKnowledge;
import io.pointsman.engine.kv.PendingPrompts;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import io.pointsman.engine.prefix.TokenIds;
import org.jspecify.annotations.Nullable;

/**
 * How much of one prompt each worker holds: as its announcements have it, where it announces and
 * the prompt's token ids are known, else by what was placed on it. What was placed a short while
 * ago or is not computed yet counts in any case, because its announcement is still to come; so does
 * what was placed before announcements were heard in full, and before an answer found what they had
 * not told of. What lies beyond the known ids counts by placement on a worker that has announced
 * all of the known ones.
 */
public final class CachedPrefix {
  /** So many {@link #places} at most. */
  public static final int MOST_PLACES = PrefixHolders.MOST_PLACES + KvHits.MOST_PLACES;

  /** What a worker holds is only known by what was placed there. */
  public static final int NOT_ANNOUNCED = -1;

  /** Shorter prefixes that are tried when a longer one was placed long ago. */
  private static final int STEPS = 16;

  private final PrefixIndex index;
  private final PendingPrompts pending;
  private final KvIndex announced;
  private final KvCredits credits;
  private final PrefixBlocks prompt;
  private final BlockScale grain;
  private final @Nullable PrefixHolders placed;
  private final @Nullable PrefixBlocks tokens;
  private final KvHits hits;
  private final long now;

  private CachedPrefix(
      PrefixIndex index,
      PendingPrompts pending,
      KvIndex announced,
      KvCredits credits,
      PrefixBlocks prompt,
      BlockScale grain,
      @Nullable PrefixHolders placed,
      @Nullable PrefixBlocks tokens,
      KvHits hits,
      long now) {
    this.index = index;
    this.pending = pending;
    this.announced = announced;
    this.credits = credits;
    this.prompt = prompt;
    this.grain = grain;
    this.placed = placed;
    this.tokens = tokens;
    this.hits = hits;
    this.now = now;
  }

  /** Null if nobody holds anything. */
  static @Nullable CachedPrefix of(
      PrefixIndex index,
      PendingPrompts pending,
      KvKnowledge kv,
      KvCredits credits,
      RoutingRequest request,
      long now) {
    PrefixBlocks prompt = request.prefix();
    BlockScale grain = BlockScale.of(prompt);
    PrefixHolders placed = PrefixHolders.of(index, grain.coarse());
    PrefixBlocks tokens = prompt.count() == 0 ? null : kv.tokens(prompt, request.model());
    KvHits hits = tokens == null ? KvHits.NONE : kv.index().hits(tokens, request.model());
    return placed == null && !hits.any()
        ? null
        : new CachedPrefix(
            index, pending, kv.index(), credits, prompt, grain, placed, tokens, hits, now);
  }

  /** Blocks of the routing key that the worker in {@code slot} holds. */
  public int blocks(int slot) {
    int told = announcedBlocks(slot);
    return told == NOT_ANNOUNCED ? grain.fine(byPlacement(slot)) : told;
  }

  /** Whether announcements can tell who holds the prompt: its token ids are known. */
  public boolean announced() {
    return tokens != null;
  }

  /** The same where announcements tell; else {@link #NOT_ANNOUNCED}. */
  public int announcedBlocks(int slot) {
    if (tokens == null || !announced.comparable(slot)) {
      return NOT_ANNOUNCED;
    }
    int blocks = byPlacement(slot);
    int byAnnouncement = creditedBlocks(tokens, slot);
    int tenancy = index.tenancy(slot);
    long since = announced.knownSince(slot, now);
    long pendingSince = pending.heldSince(slot, now);
    boolean beyondIds = hits.allKnownIds(slot);
    for (int step = 0; step < STEPS && grain.fine(blocks) > byAnnouncement; step++) {
      if (beyondIds
          || !index.addedSince(grain.coarse(), blocks, tenancy, since)
          || index.addedSince(grain.coarse(), blocks, tenancy, pendingSince)) {
        return grain.fine(blocks);
      }
      blocks = PrefixIndex.shorter(blocks);
    }
    return byAnnouncement;
  }

  private int byPlacement(int slot) {
    return placed == null ? 0 : placed.blocks(slot);
  }

  private int creditedBlocks(PrefixBlocks tokens, int slot) {
    double credit = hits.credit(slot, credits);
    // Half a token more, so that whole blocks do not get lost in the division.
    double share = credit == 0 ? 0 : (credit + 0.5) / Math.max(1, tokens.tokens());
    return (int) (share * prompt.length() / prompt.blockLength());
  }

  /** Blocks that the worker holds which holds most, as far as is known. */
  public int longest() {
    int byPlacement = placed == null ? 0 : grain.fine(placed.longest());
    double share =
        tokens == null || hits.longest() == 0
            ? 0
            : (hits.longest() * (double) TokenIds.PER_BLOCK + 0.5) / Math.max(1, tokens.tokens());
    return Math.max(byPlacement, (int) (share * prompt.length() / prompt.blockLength()));
  }

  /** Places of holders that are few, to be asked for by {@link #slot}. */
  public int places() {
    return (placed == null ? 0 : placed.places()) + hits.places();
  }

  /** The slot of a holder, or -1 for none: {@code place} is below {@link #places}. */
  public int slot(int place) {
    int first = placed == null ? 0 : placed.places();
    return placed != null && place < first ? placed.slot(place) : hits.slot(place - first);
  }
}
