package io.pointsman.engine.policy.cost;

import io.pointsman.engine.prefix.PrefixBlocks;

/**
 * How finely prompts are told apart: in blocks of about 64 tokens, several of the routing key's
 * where those are shorter. Less makes no difference to a time to first token, and each length that
 * is kept costs reads and writes at random places when a prompt comes, ends and is evicted.
 */
final class Grain {
  private static final int TOKENS = 64;

  /** A key's blocks are joined by at most so many. */
  private static final int MOST = 8;

  private final int factor;
  private final int count;
  private final PrefixBlocks coarse;

  private Grain(int factor, int count, PrefixBlocks coarse) {
    this.factor = factor;
    this.count = count;
    this.coarse = coarse;
  }

  static Grain of(PrefixBlocks key) {
    double each = (double) key.tokens() * key.blockLength() / Math.max(1, key.length());
    int factor = each > 0 ? (int) Math.clamp(TOKENS / each, 1, MOST) : 1;
    return new Grain(factor, key.count(), factor == 1 ? key : key.inBlocksOf(factor));
  }

  /** The key in larger blocks. */
  PrefixBlocks coarse() {
    return coarse;
  }

  /** So many larger blocks in blocks of the key. */
  int fine(int blocks) {
    return (int) Math.min((long) blocks * factor, count);
  }

  /** The larger blocks that so many blocks of the key fill. */
  int coarse(int blocks) {
    return blocks >= count ? coarse.count() : blocks / factor;
  }
}
