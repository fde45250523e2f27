package io.pointsman.engine.prefix;

/**
 * The hashing of token ids into blocks of a routing key. Requests with ids, texts with known ids
 * and announced blocks all use it, so equal prompts match.
 */
public final class TokenIds {
  /** Token ids in a full block of a routing key. */
  public static final int PER_BLOCK = 16;

  private TokenIds() {}

  /** Adds the next id to a block hash; a block begins with 0. */
  public static long fold(long block, long id) {
    return (Long.rotateLeft(block, 23) ^ id) * PrefixBlocks.LINK;
  }

  /** The plain hash of a full block: one piece for {@link PrefixBlocks#chain}. */
  public static long piece(long block) {
    return PrefixBlocks.mix(block);
  }

  /** The plain hash of a block that ends after {@code length} ids. */
  public static long lastPiece(long block, int length) {
    return PrefixBlocks.mix(block + length);
  }

  /**
   * Returns the routing key of a prompt with its first {@code known} ids.
   *
   * @param salt as for {@link PrefixBlocks#chain}
   * @param known number of valid {@code ids}; at most {@code tokens}
   * @param tokens length of the whole prompt, known or estimated
   */
  public static PrefixBlocks key(long salt, int[] ids, int known, int tokens) {
    int full = known / PER_BLOCK;
    int rest = known % PER_BLOCK;
    int count = rest == 0 ? full : full + 1;
    long[] pieces = new long[count];
    long block = 0;
    for (int i = 0; i < known; i++) {
      block = fold(block, ids[i]);
      if (i % PER_BLOCK == PER_BLOCK - 1) {
        pieces[i / PER_BLOCK] = piece(block);
        block = 0;
      }
    }
    if (rest != 0) {
      pieces[full] = lastPiece(block, rest);
    }
    return PrefixBlocks.chain(salt, pieces, count, known, PER_BLOCK, tokens).asTokenIds(salt);
  }
}
