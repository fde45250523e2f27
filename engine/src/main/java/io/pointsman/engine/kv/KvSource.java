package io.pointsman.engine.kv;

import io.pointsman.engine.prefix.BlockIndex;
import io.pointsman.engine.prefix.TokenIds;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * What one worker, or one of its ranks, has announced of its cache: its blocks by the engine's ids,
 * each with the block before it, so that the ids have to mean nothing to anybody else.
 *
 * <p>Of blocks on the device each physical copy is announced (vLLM stores one when two requests
 * compute the same block at once, and removes each by itself): a block is held until as many were
 * removed as were stored. On other tiers a block is there or not.
 *
 * <p>A block is claimed in the index, under the hash that a routing key has there, only while it
 * and all blocks before it are on the device: whoever holds a prefix in the index holds every
 * shorter one. On other tiers each block is claimed for itself. What a prompt goes on from is
 * renewed, so that the index does not drop it before what lies behind it.
 *
 * <p>Guarded by itself; what lookups read is volatile.
 */
final class KvSource {
  private static final int DEVICE = KvTier.DEVICE.index();

  /** A prefix that goes on is renewed at most so often. */
  private static final long RENEWAL_NANOS = TimeUnit.SECONDS.toNanos(30);

  /** A size is not believed that is less than this part of what was assumed. */
  private static final int LEAST_SHARE = 4;

  private final int rank;
  private final BlockIndex index;
  private final int slot;
  private final KvNodes nodes;

  /** Blocks in all sources, by tier; shared. */
  private final AtomicLongArray blocksByTier;

  private final AtomicLongArray ownBlocks = new AtomicLongArray(KvTier.values().length);
  private int tenancy;
  private long heldTokens;
  private volatile long deviceTokens;

  /** Tokens that have left the device since all that is held was heard of. */
  private long goneTokens;

  /** Most tokens that the device was known to hold at once, whatever was missed since. */
  private volatile long mostTokens;

  /** The same at moments when it was known to be full; 0 if there was none. */
  private volatile long fullTokens;

  private volatile int clears;

  /** What was placed until then was gone at the last of them. */
  private volatile long emptyUntil;

  private volatile int blockSize;
  private volatile long knownSince;
  private volatile boolean followed;
  private volatile boolean live;

  /** Whether prompts could match something of what it holds, or it holds nothing. */
  private volatile boolean matchable = true;

  private boolean closed;
  private long refused;

  /**
   * @param slot its own in the index
   * @param bytesLeft what all sources may still take
   * @param now the present time
   */
  KvSource(
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
    tenancy = index.tenancy(slot);
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

  /** Whether somebody listens to its announcements, or tries to. */
  boolean followed() {
    return followed;
  }

  /**
   * Whether what a prompt does not match here is not held: all is heard, and not everything that is
   * held is such that no prompt can match it.
   */
  boolean comparable() {
    return live && matchable;
  }

  /** How often all it held was certainly gone at once. */
  int clears() {
    return clears;
  }

  /** Until when what was placed was gone at the last of {@link #clears}, by the ticker. */
  long emptyUntil() {
    return emptyUntil;
  }

  /** Tokens of all blocks on its device, whether a prompt can match them or not. */
  long deviceTokens() {
    return deviceTokens;
  }

  /**
   * Tokens that its device holds when it is full, as far as announcements tell. Once as much has
   * left as is held, what is held is taken to be all there is room for; the most is kept, because
   * after a gap a cache is known anew from nothing, and a few blocks that come and go would pass
   * for a full one.
   *
   * @param assumed what it is taken to hold else; much less than that is not believed
   */
  long capacityTokens(long assumed) {
    long most = Math.max(mostTokens, fullTokens);
    return fullTokens >= assumed / LEAST_SHARE ? most : Math.max(assumed, most);
  }

  /** Whether it has blocks on a tier that prompts can match. */
  boolean uses(int tier) {
    return ownBlocks.getOpaque(tier) > 0;
  }

  /** Blocks that there was no memory for. */
  synchronized long refused() {
    return refused;
  }

  /**
   * Takes in what was announced.
   *
   * @param goneUntil until when placements are gone if the engine announces that it is empty
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
    deviceTokens = heldTokens;
    mostTokens = Math.max(mostTokens, heldTokens);
    matchable = heldTokens == 0 || uses(DEVICE);
    blockSize = nodes.blockSize();
  }

  /** Tokens of an engine's block; 0 while not known. */
  int blockSize() {
    return blockSize;
  }

  /** Its worker has left; what still comes of it counts for nothing. */
  synchronized void close() {
    clear();
    closed = true;
    followed = false;
    live = false;
  }

  /** Nobody listens any more. */
  synchronized void gone(long now) {
    reset(now);
    followed = false;
    live = false;
  }

  /** What was heard counts no more, but may still be so. */
  synchronized void reset(long now) {
    if (!closed) {
      knownSince = now;
      clear();
    }
  }

  /** Its engine holds nothing any more of what was placed until then, and has not said so. */
  synchronized void restarted(long lostUntil) {
    if (!closed) {
      clear();
      emptied(lostUntil);
    }
  }

  /** The time first: who sees the count reads it. */
  private synchronized void emptied(long until) {
    emptyUntil = until;
    clears = clears + 1;
  }

  /** More was found than was heard of: what was brought until then may be held all the same. */
  synchronized void doubted(long until) {
    if (until - knownSince > 0) {
      knownSince = until;
    }
  }

  /**
   * From when on everything was heard: what was brought before that time may be held without being
   * known.
   */
  long knownSince() {
    return knownSince;
  }

  private void clear() {
    nodes.clear();
    index.forget(slot);
    tenancy = index.tenancy(slot);
    heldTokens = 0;
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
      // Behind a block that is chained, because it was announced in full before, others can be.
      matches &= nodes.matches(node);
      parent = node;
    }
  }

  /** A block that was renewed a short while ago was so with all before it. */
  private void renew(int last, long now) {
    int node = last;
    while (node != KvNodes.NONE && nodes.rooted(node)) {
      int keys = nodes.keys(node);
      if (keys > 0) {
        if (index.addedSince(nodes.key(node, keys - 1), tenancy, now - RENEWAL_NANOS)) {
          return;
        }
        claim(node, DEVICE, now);
      }
      node = nodes.parent(node);
    }
  }

  /** The tiers that a block was on before it was known what it holds. */
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
        heldTokens += nodes.size(node);
      }
      return;
    }
    nodes.put(node, tier);
    if (tier == DEVICE) {
      heldTokens += nodes.size(node);
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
    if (goneTokens >= heldTokens && heldTokens > fullTokens) {
      fullTokens = heldTokens;
    }
    goneTokens += tokens;
    heldTokens -= tokens;
  }

  private void claim(int node, int tier, long now) {
    for (int i = 0; i < nodes.keys(node); i++) {
      index.claim(onTier(nodes.key(node, i), tier), tenancy, now);
    }
  }

  private void unclaim(int node, int tier) {
    for (int i = 0; i < nodes.keys(node); i++) {
      if (!nodes.shares(node, i, tier)) {
        index.remove(onTier(nodes.key(node, i), tier), tenancy);
      }
    }
  }

  /** What a block is claimed under when it is on {@code tier}. */
  static long onTier(long key, int tier) {
    return tier == DEVICE ? key : TokenIds.piece(key + tier);
  }
}
