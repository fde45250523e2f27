package io.pointsman.tool.replay.random.draw;

import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.Arrays;

/** A text that grows by parts, as hashes of its blocks. Immutable. */
final class PromptText {
  /** Tokens per block. */
  static final int BLOCK = 64;

  static final PromptText EMPTY = new PromptText(new long[0], 0, 0);

  /** The hashes of complete blocks. */
  private final long[] hashes;

  private final int tokens;

  /** The hash of the whole text. */
  private final long chain;

  private PromptText(long[] hashes, int tokens, long chain) {
    this.hashes = hashes;
    this.tokens = tokens;
    this.chain = chain;
  }

  /**
   * Returns this text with another part appended.
   *
   * @param part identifies the part; different parts have no common block
   */
  PromptText with(long part, int more) {
    long hash = PrefixBlocks.mix(chain ^ part);
    int all = tokens + more;
    long[] grown = Arrays.copyOf(hashes, all / BLOCK);
    for (int i = hashes.length; i < grown.length; i++) {
      hash = PrefixBlocks.mix(hash);
      grown[i] = hash;
    }
    return new PromptText(grown, all, hash);
  }

  int tokens() {
    return tokens;
  }

  /** The hashes of its blocks; the last one may be shorter. */
  long[] blocks() {
    if (tokens % BLOCK == 0) {
      return hashes;
    }
    long[] all = Arrays.copyOf(hashes, hashes.length + 1);
    all[hashes.length] = PrefixBlocks.mix(chain + tokens);
    return all;
  }
}
