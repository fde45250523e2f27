package io.pointsman.engine.policy.cost.cache;

import io.pointsman.engine.prefix.PrefixBlocks;

/**
 * How finely prompts are told apart: in blocks of about 64 tokens, several of the routing key's
 * where those are shorter. Less makes no difference to a time to first token, and each length that
 * is kept costs reads and writes at random places when a prompt comes, ends and is evicted.
 */
public final class BlockScale {
  private static final int TOKENS = 64;

  /** What a token of text is taken to be, as in the estimate of a prompt's length. */
  private static final int BYTES_PER_TOKEN = 4;

  /** A key's blocks are joined by at most so many. */
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
   * The grain of a key. It must not depend on how long the prompt is or how it is divided, or a
   * prompt and the one that goes on from it would be told apart at different places and share
   * nothing.
   */
  public static BlockScale of(PrefixBlocks key) {
    int length = key.text() ? TOKENS * BYTES_PER_TOKEN : TOKENS;
    int factor = key.count() == 0 ? 1 : Math.clamp(length / key.blockLength(), 1, MOST);
    return new BlockScale(factor, key.count(), factor == 1 ? key : key.inBlocksOf(factor));
  }

  /** The key in larger blocks. */
  public PrefixBlocks coarse() {
    return coarse;
  }

  /** So many larger blocks in blocks of the key. */
  public int fine(int blocks) {
    return (int) Math.min((long) blocks * factor, count);
  }

  /** The larger blocks that so many blocks of the key fill. */
  public int coarse(int blocks) {
    return blocks >= count ? coarse.count() : blocks / factor;
  }
}
