package io.pointsman.engine.policy.cost.cache;

import io.pointsman.engine.prefix.PrefixBlocks;

/**
 * The block size of the cache models: about 64 tokens, several blocks of the routing key if those
 * are shorter. A finer scale would not change the predicted times. Each stored length costs random
 * memory accesses at placement, at the end, and at eviction.
 */
public final class BlockScale {
  private static final int TOKENS = 64;

  /** Bytes of one token of text, as in the estimate of a prompt's length. */
  private static final int BYTES_PER_TOKEN = 4;

  /** Maximum number of key blocks in one block. */
  private static final int MOST = 8;

  private final int factor;
  private final int count;
  private final PrefixBlocks coarse;

  private BlockScale(int factor, int count, PrefixBlocks coarse) {
    this.factor = factor;
    this.count = count;
    this.coarse = coarse;
  }

  /**
   * Returns the scale of a key. It depends on the length of the key's blocks only. Otherwise a
   * prompt and its continuation would have different block boundaries and share nothing.
   */
  public static BlockScale of(PrefixBlocks key) {
    int length = key.text() ? TOKENS * BYTES_PER_TOKEN : TOKENS;
    int factor = key.count() == 0 ? 1 : Math.clamp(length / key.blockLength(), 1, MOST);
    return new BlockScale(factor, key.count(), factor == 1 ? key : key.inBlocksOf(factor));
  }

  /** Returns the key in blocks of this scale. */
  public PrefixBlocks coarse() {
    return coarse;
  }

  /** Converts a number of blocks of this scale to blocks of the key. */
  public int fine(int blocks) {
    return (int) Math.min((long) blocks * factor, count);
  }

  /** Converts a number of blocks of the key to full blocks of this scale. */
  public int coarse(int blocks) {
    return blocks >= count ? coarse.count() : blocks / factor;
  }
}
