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
 * The cached part of one prompt on each worker. If the worker announces its cache and the prompt's
 * token ids are known, announcements decide; else placements do. Three kinds of placements count in
 * any case. Recent ones, and prompts not computed yet: their announcements are still to come.
 * Placements before the announcements were complete. Placements before an answer reported a hit
 * that was not announced. The part beyond the known token ids counts by placement if the worker has
 * announced all known ones.
 */
public final class CachedPrefix {
  /** Maximum of {@link #places}. */
  public static final int MOST_PLACES = PrefixHolders.MOST_PLACES + KvHits.MOST_PLACES;

  /** The worker's part is known by placements only. */
  public static final int NOT_ANNOUNCED = -1;

  /** Number of shorter prefixes that are tried if a longer one was placed long ago. */
  private static final int STEPS = 16;

  private final PrefixIndex index;
  private final PendingPrompts pending;
  private final KvIndex announced;
  private final KvCredits credits;
  private final PrefixBlocks prompt;
  private final BlockScale scale;
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
      BlockScale scale,
      @Nullable PrefixHolders placed,
      @Nullable PrefixBlocks tokens,
      KvHits hits,
      long now) {
    this.index = index;
    this.pending = pending;
    this.announced = announced;
    this.credits = credits;
    this.prompt = prompt;
    this.scale = scale;
    this.placed = placed;
    this.tokens = tokens;
    this.hits = hits;
    this.now = now;
  }

  /** Returns null if no worker has any part. */
  static @Nullable CachedPrefix of(
      PrefixIndex index,
      PendingPrompts pending,
      KvKnowledge kv,
      KvCredits credits,
      RoutingRequest request,
      long now) {
    PrefixBlocks prompt = request.prefix();
    BlockScale scale = BlockScale.of(prompt);
    PrefixHolders placed = PrefixHolders.of(index, scale.coarse());
    PrefixBlocks tokens = prompt.count() == 0 ? null : kv.tokens(prompt, request.model());
    KvHits hits = tokens == null ? KvHits.NONE : kv.index().hits(tokens, request.model());
    return placed == null && !hits.any()
        ? null
        : new CachedPrefix(
            index, pending, kv.index(), credits, prompt, scale, placed, tokens, hits, now);
  }

  /** Returns the blocks of the routing key that the worker in {@code slot} has. */
  public int blocks(int slot) {
    int known = announcedBlocks(slot);
    return known == NOT_ANNOUNCED ? scale.fine(byPlacement(slot)) : known;
  }

  /** Returns true if the prompt's token ids are known, so announcements can decide. */
  public boolean announced() {
    return tokens != null;
  }

  /** Returns the blocks of the key by announcements, or {@link #NOT_ANNOUNCED}. */
  public int announcedBlocks(int slot) {
    if (tokens == null || !announced.comparable(slot)) {
      return NOT_ANNOUNCED;
    }
    int blocks = byPlacement(slot);
    int byAnnouncement = creditedBlocks(tokens, slot);
    int epoch = index.epoch(slot);
    long since = announced.knownSince(slot, now);
    long pendingSince = pending.cachedSince(slot, now);
    boolean beyondIds = hits.allKnownIds(slot);
    for (int step = 0; step < STEPS && scale.fine(blocks) > byAnnouncement; step++) {
      if (beyondIds
          || !index.addedSince(scale.coarse(), blocks, epoch, since)
          || index.addedSince(scale.coarse(), blocks, epoch, pendingSince)) {
        return scale.fine(blocks);
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
    // Half a token more, because rounding errors must not lose a whole block.
    double share = credit == 0 ? 0 : (credit + 0.5) / Math.max(1, tokens.tokens());
    return (int) (share * prompt.length() / prompt.blockLength());
  }

  /** Returns the most blocks that any worker has, as far as is known. */
  public int longest() {
    int byPlacement = placed == null ? 0 : scale.fine(placed.longest());
    double share =
        tokens == null || hits.longest() == 0
            ? 0
            : (hits.longest() * (double) TokenIds.PER_BLOCK + 0.5) / Math.max(1, tokens.tokens());
    return Math.max(byPlacement, (int) (share * prompt.length() / prompt.blockLength()));
  }

  /**
   * Returns the number of places for {@link #slot}. They contain holders of prefixes with few
   * holders.
   */
  public int places() {
    return (placed == null ? 0 : placed.places()) + hits.places();
  }

  /** Returns the slot of a holder, or -1 for none: {@code place} is below {@link #places}. */
  public int slot(int place) {
    int first = placed == null ? 0 : placed.places();
    return placed != null && place < first ? placed.slot(place) : hits.slot(place - first);
  }
}
