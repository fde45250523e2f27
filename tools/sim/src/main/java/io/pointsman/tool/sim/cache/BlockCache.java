package io.pointsman.tool.sim.cache;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The KV memory of one engine in blocks. Prompt blocks are found by hash and used by several
 * requests; all others are private to their request. A block is pinned (used by at least one
 * reservation), idle (findable, evicted least recently used first), or free. Pinned and idle blocks
 * together never exceed the capacity. An evicted block may move to a further tier, from which it is
 * restored without computation.
 *
 * <p>Not thread-safe: owned by the engine's event loop.
 */
public final class BlockCache {
  private static final long[] NO_HASHES = {};

  private final int blockSize;
  private final int capacity;
  private final Map<Long, Block> byHash = new HashMap<>();

  /** Sentinel of the ring of idle blocks; {@code idle.next} is evicted first. */
  private final Block idle = new Block(0);

  private int idleBlocks;
  private int privateBlocks;
  private CacheListener listener = CacheListener.NONE;
  private @Nullable Offload offload;

  /**
   * Creates an empty cache.
   *
   * @param capacity total number of blocks, at least 1
   * @param blockSize tokens per block, at least 1
   */
  public BlockCache(int capacity, int blockSize) {
    if (capacity < 1 || blockSize < 1) {
      throw new IllegalArgumentException(
          "capacity, blockSize: " + capacity + ", " + blockSize + " (expected: at least 1)");
    }
    this.capacity = capacity;
    this.blockSize = blockSize;
    idle.next = idle;
    idle.previous = idle;
  }

  /** Reports every later change to {@code newListener}. */
  public void listen(CacheListener newListener) {
    listener = newListener;
  }

  /** Moves evicted blocks to a further tier; null: drops them. */
  public void offloadTo(@Nullable Offload tier) {
    offload = tier;
  }

  /** Tokens per block. */
  public int blockSize() {
    return blockSize;
  }

  /** Total number of blocks. */
  public int capacity() {
    return capacity;
  }

  /** Blocks used by running requests. */
  public int pinnedBlocks() {
    return byHash.size() - idleBlocks + privateBlocks;
  }

  /** Findable blocks that no running request uses. */
  public int idleBlocks() {
    return idleBlocks;
  }

  /** Blocks that a request of this size needs without cached blocks. */
  public int blocksFor(long tokens) {
    return Math.toIntExact(Math.ceilDiv(tokens, blockSize));
  }

  /** Length of the longest known prefix in blocks; pins nothing. */
  public int known(long[] hashes) {
    int known = 0;
    while (known < hashes.length && byHash.containsKey(hashes[known])) {
      known++;
    }
    return known;
  }

  /**
   * Pins the longest known prefix and restores the blocks after it from the further tier. Reserves
   * memory for the rest, evicting idle blocks if necessary. At least one prompt token is always
   * left to compute, because an engine needs its logits.
   *
   * @param hashes hashes of the complete blocks of the prompt
   * @param promptTokens length of the prompt
   * @param totalTokens prompt and output together
   * @return the reservation; null, without a change, if pinned blocks leave too little room
   */
  public @Nullable Reservation reserve(long[] hashes, int promptTokens, long totalTokens) {
    int limit = Math.min(hashes.length, Math.max(0, promptTokens - 1) / blockSize);
    int matched = 0;
    int wakened = 0;
    while (matched < limit) {
      Block block = byHash.get(hashes[matched]);
      if (block == null) {
        break;
      }
      wakened += block.users == 0 ? 1 : 0;
      matched++;
    }
    int found = matched;
    while (found < limit && offload != null && offload.find(hashes[found])) {
      found++;
    }
    int fresh = blocksFor(totalTokens) - matched;
    if (pinnedBlocks() + wakened + fresh > capacity) {
      return null;
    }
    Block[] pinned = new Block[hashes.length];
    for (int i = 0; i < matched; i++) {
      pinned[i] = pin(byHash.get(hashes[i]));
    }
    evict(pinnedBlocks() + idleBlocks + fresh - capacity);
    privateBlocks += fresh;
    return new Reservation(hashes, pinned, matched, found * blockSize, fresh);
  }

  /**
   * Makes the complete prompt blocks up to {@code computedTokens} findable. A block with a hash
   * that another request published first stays private.
   */
  public void publish(Reservation reservation, int computedTokens) {
    int end = Math.min(reservation.hashes.length, computedTokens / blockSize);
    int reported = reservation.published;
    for (; reservation.published < end; reservation.published++) {
      Block block = new Block(reservation.hashes[reservation.published]);
      block.origin = reservation.origin;
      block.hashes = reservation.hashes;
      block.index = reservation.published;
      if (byHash.putIfAbsent(block.hash, block) == null) {
        block.users = 1;
        reservation.pinned[reservation.published] = block;
        reservation.privateBlocks--;
        privateBlocks--;
      } else {
        report(reservation, reported, reservation.published);
        reported = reservation.published + 1;
      }
    }
    report(reservation, reported, end);
  }

  private void report(Reservation reservation, int from, int to) {
    PromptOrigin origin = reservation.origin;
    if (from < to && origin != null) {
      listener.stored(origin, reservation.hashes, from, to);
    }
  }

  /**
   * Releases all blocks: published ones become idle (the last of the prompt is evicted first),
   * private ones free.
   */
  public void release(Reservation reservation) {
    if (reservation.released) {
      throw new IllegalStateException("reservation: released twice");
    }
    reservation.released = true;
    for (int i = reservation.published - 1; i >= 0; i--) {
      Block block = reservation.pinned[i];
      if (block != null && --block.users == 0) {
        appendIdle(block);
      }
    }
    privateBlocks -= reservation.privateBlocks;
  }

  /**
   * Drops every idle block, and all blocks on a further tier; pinned blocks stay.
   *
   * @return number of blocks dropped
   */
  public int forgetIdle() {
    int count = idleBlocks;
    CacheListener before = listener;
    boolean all = count == byHash.size();
    listener = all ? CacheListener.NONE : before;
    Offload tier = offload;
    offload = null;
    evict(count);
    offload = tier;
    listener = before;
    if (tier != null) {
      tier.clear(!all);
    }
    if (all) {
      before.cleared();
    }
    return count;
  }

  private Block pin(@Nullable Block block) {
    if (block == null) {
      throw new IllegalStateException("block: vanished while matched");
    }
    if (block.users++ == 0) {
      unlink(block);
    }
    return block;
  }

  private void evict(int count) {
    for (int i = 0; i < count; i++) {
      Block oldest = idle.next;
      unlink(oldest);
      byHash.remove(oldest.hash);
      PromptOrigin origin = oldest.origin;
      if (offload != null && origin != null) {
        offload.keep(origin, oldest.hashes, oldest.index);
      }
      listener.removed(oldest.hash);
    }
  }

  private void appendIdle(Block block) {
    Block last = idle.previous;
    last.next = block;
    block.previous = last;
    block.next = idle;
    idle.previous = block;
    idleBlocks++;
  }

  private void unlink(Block block) {
    block.previous.next = block.next;
    block.next.previous = block.previous;
    block.next = block;
    block.previous = block;
    idleBlocks--;
  }

  /** One findable block; linked into the ring of idle blocks while unused. */
  private static final class Block {
    final long hash;
    @Nullable PromptOrigin origin;
    long[] hashes = NO_HASHES;
    int index;
    int users;
    Block next = this;
    Block previous = this;

    Block(long hash) {
      this.hash = hash;
    }
  }

  /** The blocks of one admitted request; must be passed to {@link #release} exactly once. */
  public static final class Reservation {
    private final long[] hashes;
    private final @Nullable Block[] pinned;
    private final int cachedTokens;
    private int published;
    private int privateBlocks;
    private boolean released;
    private @Nullable PromptOrigin origin;

    private Reservation(
        long[] hashes, @Nullable Block[] pinned, int published, int cachedTokens, int fresh) {
      this.hashes = hashes;
      this.pinned = pinned;
      this.published = published;
      this.cachedTokens = cachedTokens;
      this.privateBlocks = fresh;
    }

    /** Sets the origin of its blocks, for listeners. */
    public void of(@Nullable PromptOrigin newOrigin) {
      origin = newOrigin;
    }

    /** Prompt tokens found in the cache at admission, on either tier. */
    public int cachedTokens() {
      return cachedTokens;
    }
  }
}
