package io.pointsman.engine.prefix;

/**
 * The routing key of a prompt: chained 64-bit block hashes. The hash at position i covers
 * everything up to the end of block i. The last block may be shorter, so identical short prompts
 * match too.
 *
 * <p>Immutable after construction. The array is not copied, so the caller must not change it.
 *
 * @param hashes chained hashes; only the first {@code count} are valid
 * @param count number of blocks, including a partial last one; 0 for a request without a prompt
 * @param length length of the whole key, in the unit of {@code blockLength}
 * @param blockLength length of each block except the last, in token ids or bytes of text
 * @param tokens number of prompt tokens: exact for token ids, estimated for text
 * @param text true if lengths are bytes of text instead of tokens
 * @param base start of the chain, if the key consists of token ids and the salt is only the model's
 *     name. Such a key can be computed for another model or adapter ({@link #rebased}). Otherwise
 *     0.
 * @param start hash of the first block without the salt, equal for equal beginnings under any model
 *     or adapter; 0 if unknown
 */
@SuppressWarnings(
    "ArrayRecordComponent") // a hot-path value: copying would cost more than the whole decision
public record PrefixBlocks(
    long[] hashes,
    int count,
    int length,
    int blockLength,
    int tokens,
    boolean text,
    long base,
    long start) {

  /** The routing key of a request without a prompt. */
  public static final PrefixBlocks NONE = new PrefixBlocks(new long[0], 0, 0, 1, 0);

  static final long LINK = 0x8EBC6AF09C88C6E3L;
  private static final long LINK_2 = 0x1647E11893B3ED49L;
  private static final long LINK_3 = 0xA17065A6ACD9DDBBL;
  private static final long LINK_4 = 0x788CF0A786063ED1L;

  /** LINK to the powers 0 to 4,095, and to the multiples of 4,096. */
  private static final long[] POWERS = powers(1 << 12, LINK);

  private static final long[] LARGE_POWERS = powers(1 << 8, POWERS[POWERS.length - 1] * LINK);

  /** A key in tokens without further data. */
  public PrefixBlocks(long[] hashes, int count, int length, int blockLength, int tokens) {
    this(hashes, count, length, blockLength, tokens, false, 0, 0);
  }

  private static long[] powers(int count, long base) {
    long[] powers = new long[count];
    powers[0] = 1;
    for (int i = 1; i < count; i++) {
      powers[i] = powers[i - 1] * base;
    }
    return powers;
  }

  /**
   * Chains the plain hashes of consecutive pieces, in place.
   *
   * @param salt hash of everything that separates prefixes: model, adapter, cache salt
   * @param pieces plain hash of each piece, mixed over all bits; overwritten with the chained
   *     hashes
   * @param count number of pieces
   */
  public static PrefixBlocks chain(
      long salt, long[] pieces, int count, int length, int blockLength, int tokens) {
    long start = count > 0 ? pieces[0] : 0;
    long chain = mix(salt);
    int i = 0;
    // The chain is a polynomial. Four terms at a time need one step that depends on the previous
    // ones. A separate mixing loop can be vectorised.
    for (; i + 4 <= count; i += 4) {
      long second = pieces[i] * LINK + pieces[i + 1];
      long third = second * LINK + pieces[i + 2];
      long fourth = third * LINK + pieces[i + 3];
      pieces[i] += chain * LINK;
      pieces[i + 1] = chain * LINK_2 + second;
      pieces[i + 2] = chain * LINK_3 + third;
      chain = chain * LINK_4 + fourth;
      pieces[i + 3] = chain;
    }
    for (; i < count; i++) {
      chain = chain * LINK + pieces[i];
      pieces[i] = chain;
    }
    for (int at = 0; at < count; at++) {
      pieces[at] = mix(pieces[at]);
    }
    return new PrefixBlocks(pieces, count, length, blockLength, tokens, false, 0, start);
  }

  /** Returns this key as one of text, with lengths in bytes. */
  public PrefixBlocks asText() {
    return new PrefixBlocks(hashes, count, length, blockLength, tokens, true, base, start);
  }

  /** Returns this key as one of token ids that was chained with {@code salt} alone. */
  public PrefixBlocks asTokenIds(long salt) {
    return new PrefixBlocks(hashes, count, length, blockLength, tokens, false, mix(salt), start);
  }

  /**
   * Returns this key in blocks {@code factor} times as long; the last one may be shorter.
   *
   * @param factor at least 1
   */
  public PrefixBlocks inBlocksOf(int factor) {
    long[] longer = new long[Math.ceilDiv(count, factor)];
    for (int i = 0; i < longer.length; i++) {
      longer[i] = hashes[Math.min((i + 1) * factor, count) - 1];
    }
    return new PrefixBlocks(
        longer, longer.length, length, blockLength * factor, tokens, text, 0, start);
  }

  /** Returns true if it is a key of token ids, so it can be compared with engines' KV events. */
  public boolean tokenIds() {
    return base != 0;
  }

  /**
   * Returns the hash at position {@code i} for a chain that begins with {@code other}. Only for
   * keys of token ids with at most 2^20 blocks.
   */
  public long rebased(int i, long other) {
    if (other == base) {
      return hashes[i];
    }
    return mix(unmix(hashes[i]) + (other - base) * power(i + 1));
  }

  private static long power(int exponent) {
    return POWERS[exponent & POWERS.length - 1] * LARGE_POWERS[exponent >>> 12];
  }

  /** Extends the chain value {@code before} by one piece; the result is not mixed. */
  public static long link(long before, long piece) {
    return before * LINK + piece;
  }

  /** Returns the share of the key, 0 to 1, that the first {@code matched} blocks cover. */
  public double ratio(int matched) {
    if (count == 0) {
      return 0;
    }
    return matched >= count ? 1 : (double) matched * blockLength / length;
  }

  /**
   * Returns the salt with which {@link #chain} continues this key. Pieces chained with it have the
   * hashes of a longer key's rest. Not for a key without blocks.
   */
  public long saltBehind() {
    return unmix(unmix(whole()));
  }

  /** The hash of the whole key; 0 for an empty key. */
  public long whole() {
    return count == 0 ? 0 : hashes[count - 1];
  }

  /**
   * Mixes every input bit into the whole output; a bijection that maps one input to 0. The
   * finaliser of SplitMix64 (Steele 2014).
   */
  public static long mix(long x) {
    long z = x + 0x9E3779B97F4A7C15L;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  /** The inverse of {@link #mix}. */
  static long unmix(long x) {
    long z = x ^ (x >>> 31) ^ (x >>> 62);
    z *= 0x319642B2D24D8EC3L;
    z ^= (z >>> 27) ^ (z >>> 54);
    z *= 0x96DE1B173F119089L;
    z ^= (z >>> 30) ^ (z >>> 60);
    return z - 0x9E3779B97F4A7C15L;
  }
}
