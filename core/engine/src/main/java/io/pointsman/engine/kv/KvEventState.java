package io.pointsman.engine.kv;

import io.pointsman.engine.prefix.BlockIndex;
import io.pointsman.engine.prefix.TokenIds;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The KV events of one worker or rank, as the set of its cached blocks. Blocks are stored by the
 * engine's ids with their predecessors; the ids are not interpreted otherwise.
 *
 * <p>Events announce each physical copy on the device. vLLM stores one for each of two requests
 * that compute the same block at once, and removes each separately. A block is stored until the
 * removals equal the stores. On other tiers a block is either present or absent.
 *
 * <p>A device block is claimed in the index only while it and all its predecessors are on the
 * device. A holder of a prefix in the index therefore holds every shorter one. On other tiers each
 * block is claimed independently. A prefix that a prompt continues is renewed, so the index drops
 * longer prefixes first.
 *
 * <p>It is one class because each event changes blocks, index and counts together, under one lock.
 * Guarded by itself; fields that lookups read are volatile.
 */
final class KvEventState {
  private static final int DEVICE = KvTier.DEVICE.index();

  /** Minimum interval between two renewals of a prefix. */
  private static final long RENEWAL_NANOS = TimeUnit.SECONDS.toNanos(30);

  /** Minimum credible capacity as a fraction of the assumption: one quarter. */
  private static final int LEAST_SHARE = 4;

  private final int rank;
  private BlockIndex index;
  private final int slot;
  private final KvNodes nodes;

  /** Blocks in all sources by tier; common to all sources. */
  private final AtomicLongArray blocksByTier;

  private final AtomicLongArray ownBlocks = new AtomicLongArray(KvTier.values().length);
  private int epoch;
  private long storedTokens;
  private volatile long deviceTokens;

  /** Tokens that left the device since the cache was last known from empty. */
  private long goneTokens;

  /** Maximum number of tokens known on the device at once, over all time. */
  private volatile long mostTokens;

  /** Maximum number of tokens on the device while it was known to be full; 0 if never. */
  private volatile long fullTokens;

  private volatile int clears;

  /** Placements up to this time were lost at the last clear. */
  private volatile long emptyUntil;

  private volatile int blockSize;
  private volatile long knownSince;
  private volatile boolean followed;
  private volatile boolean live;

  /** True if prompts can match some of its blocks, or if it holds none. */
  private volatile boolean matchable = true;

  private boolean closed;
  private long refused;

  /**
   * @param slot its slot in the index
   * @param bytesLeft byte budget left for all sources
   * @param now the current time
   */
  KvEventState(
      int rank,
      BlockIndex index,
      int slot,
      AtomicLong bytesLeft,
      AtomicLongArray blocksByTier,
      long now) {
    this.rank = rank;
    knownSince = now;
    this.index = index;
    this.slot = slot;
    this.blocksByTier = blocksByTier;
    nodes = new KvNodes(bytesLeft);
    epoch = index.epoch(slot);
  }

  int rank() {
    return rank;
  }

  int slot() {
    return slot;
  }

  boolean live() {
    return live;
  }

  synchronized void live(boolean now) {
    followed = !closed;
    live = now && !closed;
  }

  /** Returns true if a subscription to its events exists or is being established. */
  boolean followed() {
    return followed;
  }

  /**
   * Returns true if a prompt part without a match is certainly not cached here: the stream is
   * complete, and some blocks are matchable.
   */
  boolean comparable() {
    return live && matchable;
  }

  /** Number of times all its blocks were certainly lost at once. */
  int clears() {
    return clears;
  }

  /** Ticker time up to which placements were lost at the last of {@link #clears}. */
  long emptyUntil() {
    return emptyUntil;
  }

  /** Tokens of all blocks on its device, matchable or not. */
  long deviceTokens() {
    return deviceTokens;
  }

  /**
   * Estimated capacity of its device in tokens. When the tokens removed reach the tokens stored,
   * the device counts as full. The maximum is kept, because after missed events the cache fills
   * again from empty. A few changing blocks would then look like a full cache.
   *
   * @param assumed capacity assumed otherwise; an estimate far below it is rejected
   */
  long capacityTokens(long assumed) {
    long most = Math.max(mostTokens, fullTokens);
    return fullTokens >= assumed / LEAST_SHARE ? most : Math.max(assumed, most);
  }

  /** Returns true if a tier has blocks that prompts can match. */
  boolean uses(int tier) {
    return ownBlocks.getOpaque(tier) > 0;
  }

  /** Blocks that were not recorded for lack of memory. */
  synchronized long refused() {
    return refused;
  }

  /**
   * Applies events.
   *
   * @param goneUntil time up to which placements are lost if the engine announces an empty cache
   */
  synchronized void apply(
      Iterable<? extends KvEvent> events, Adapters adapters, long now, long goneUntil) {
    if (closed) {
      return;
    }
    for (KvEvent event : events) {
      switch (event) {
        case KvEvent.Stored stored -> stored(stored, adapters, now);
        case KvEvent.Removed(long[] blocks, KvTier tier) -> removed(blocks, tier.index());
        case KvEvent.Cleared _ -> {
          clear();
          emptied(goneUntil);
        }
      }
    }
    deviceTokens = storedTokens;
    mostTokens = Math.max(mostTokens, storedTokens);
    matchable = storedTokens == 0 || uses(DEVICE);
    blockSize = nodes.blockSize();
  }

  /** Tokens of an engine's block; 0 if unknown. */
  int blockSize() {
    return blockSize;
  }

  /** Closes the source after its worker has left; later events are ignored. */
  synchronized void close() {
    clear();
    closed = true;
    followed = false;
    live = false;
  }

  /** Records the end of the subscription. */
  synchronized void gone(long now) {
    reset(now);
    followed = false;
    live = false;
  }

  /** Discards the known blocks, which the engine may still hold. */
  synchronized void reset(long now) {
    if (!closed) {
      knownSince = now;
      clear();
    }
  }

  /** Records an engine restart without an event. Placements up to that time are lost. */
  synchronized void restarted(long lostUntil) {
    if (!closed) {
      clear();
      emptied(lostUntil);
    }
  }

  /** Writes the time first, because readers read it after the counter. */
  private synchronized void emptied(long until) {
    emptyUntil = until;
    clears = clears + 1;
  }

  /**
   * Records that the engine found more than announced. Placements up to that time may be cached
   * without an event.
   */
  synchronized void doubted(long until) {
    if (until - knownSince > 0) {
      knownSince = until;
    }
  }

  /**
   * Ticker time from which events are complete; earlier placements may be cached without an event.
   */
  long knownSince() {
    return knownSince;
  }

  /** Bytes of its blocks. */
  synchronized long bytes() {
    return nodes.bytes();
  }

  /**
   * Gives at least half of its memory back. The removed blocks are unknown then, although the
   * engine may hold them.
   */
  synchronized void halve(long now) {
    if (nodes.halve(this::drops)) {
      deviceTokens = storedTokens;
      matchable = storedTokens == 0 || uses(DEVICE);
      knownSince = now;
    } else {
      reset(now);
    }
  }

  private void drops(int node) {
    int tiers = nodes.tiers(node);
    for (int tier = 0; tier < ownBlocks.length(); tier++) {
      if ((tiers & 1 << tier) != 0 && nodes.matches(node)) {
        count(tier, -1);
      }
    }
    if (nodes.on(node, DEVICE)) {
      storedTokens -= nodes.size(node);
      while (nodes.uncopied(node)) {
        storedTokens -= nodes.size(node);
      }
    }
    refused++;
  }

  /** Claims its blocks in another index, from which lookups read later. */
  synchronized void move(BlockIndex next, long now) {
    index = next;
    epoch = next.epoch(slot);
    nodes.forEach(node -> claimAgain(node, now));
  }

  private void claimAgain(int node, long now) {
    if (nodes.rooted(node)) {
      claim(node, DEVICE, now);
    }
    for (int tier = DEVICE + 1; tier < ownBlocks.length(); tier++) {
      if (nodes.on(node, tier) && nodes.matches(node)) {
        claim(node, tier, now);
      }
    }
  }

  private void clear() {
    nodes.clear();
    index.forget(slot);
    epoch = index.epoch(slot);
    storedTokens = 0;
    goneTokens = 0;
    deviceTokens = 0;
    matchable = true;
    for (int tier = 0; tier < ownBlocks.length(); tier++) {
      blocksByTier.addAndGet(tier, -ownBlocks.getAndSet(tier, 0));
    }
  }

  private void stored(KvEvent.Stored event, Adapters adapters, long now) {
    long[] blocks = event.blocks();
    int size = event.blockSize();
    Long before = event.parent();
    int parent = before == null ? KvNodes.NONE : nodes.find(before);
    long start = adapters.start(event.adapter());
    boolean matches =
        event.plain()
            && start != 0
            && event.tokens().length >= (long) blocks.length * size
            && nodes.fits(size)
            && (before == null || (parent != KvNodes.NONE && nodes.matches(parent)));
    int tier = event.tier().index();
    if (tier == DEVICE) {
      renew(parent, now);
    }
    for (int i = 0; i < blocks.length; i++) {
      int node = nodes.find(blocks[i]);
      if (node == KvNodes.NONE) {
        node = nodes.add(blocks[i], size);
        if (node == KvNodes.NONE) {
          refused += blocks.length - i;
          return;
        }
      }
      if (matches && !nodes.matches(node)) {
        nodes.chain(node, parent, start, event.tokens(), i * size);
        enterTiers(node, now);
      }
      put(node, tier, now);
      // A block announced in full before continues the chain.
      matches &= nodes.matches(node);
      parent = node;
    }
  }

  /** Renews a prefix. A block renewed recently was renewed together with all its predecessors. */
  private void renew(int last, long now) {
    int node = last;
    while (node != KvNodes.NONE && nodes.rooted(node)) {
      int keys = nodes.keys(node);
      if (keys > 0) {
        if (index.addedSince(nodes.key(node, keys - 1), epoch, now - RENEWAL_NANOS)) {
          return;
        }
        claim(node, DEVICE, now);
      }
      node = nodes.parent(node);
    }
  }

  /** Claims a block on the tiers that it was on before its content was known. */
  private void enterTiers(int node, long now) {
    int tiers = nodes.tiers(node);
    for (int tier = 0; tier < ownBlocks.length(); tier++) {
      if ((tiers & 1 << tier) != 0) {
        enter(node, tier, now);
      }
    }
  }

  private void put(int node, int tier, long now) {
    if (nodes.on(node, tier)) {
      if (tier == DEVICE && nodes.copied(node)) {
        storedTokens += nodes.size(node);
      }
      return;
    }
    nodes.put(node, tier);
    if (tier == DEVICE) {
      storedTokens += nodes.size(node);
    }
    enter(node, tier, now);
  }

  private void enter(int node, int tier, long now) {
    if (!nodes.matches(node)) {
      return;
    }
    count(tier, 1);
    if (tier != DEVICE) {
      claim(node, tier, now);
    } else if (nodes.rootable(node)) {
      nodes.root(node, rooted -> claim(rooted, DEVICE, now));
    }
  }

  private void count(int tier, int change) {
    ownBlocks.addAndGet(tier, change);
    blocksByTier.addAndGet(tier, change);
  }

  private void removed(long[] blocks, int tier) {
    for (long block : blocks) {
      int node = nodes.find(block);
      if (node == KvNodes.NONE || !nodes.on(node, tier)) {
        continue;
      }
      if (tier == DEVICE) {
        leaves(nodes.size(node));
        if (nodes.uncopied(node)) {
          continue;
        }
      }
      nodes.take(node, tier);
      if (nodes.matches(node)) {
        count(tier, -1);
        if (tier != DEVICE) {
          unclaim(node, tier);
        } else if (nodes.rooted(node)) {
          nodes.unroot(node, unrooted -> unclaim(unrooted, DEVICE));
        }
      }
      nodes.prune(node);
    }
  }

  private void leaves(int tokens) {
    if (goneTokens >= storedTokens && storedTokens > fullTokens) {
      fullTokens = storedTokens;
    }
    goneTokens += tokens;
    storedTokens -= tokens;
  }

  private void claim(int node, int tier, long now) {
    for (int i = 0; i < nodes.keys(node); i++) {
      index.claim(onTier(nodes.key(node, i), tier), epoch, now);
    }
  }

  private void unclaim(int node, int tier) {
    for (int i = 0; i < nodes.keys(node); i++) {
      if (!nodes.shares(node, i, tier)) {
        index.remove(onTier(nodes.key(node, i), tier), epoch);
      }
    }
  }

  /** The index key of a block on {@code tier}. */
  static long onTier(long key, int tier) {
    return tier == DEVICE ? key : TokenIds.piece(key + tier);
  }
}
