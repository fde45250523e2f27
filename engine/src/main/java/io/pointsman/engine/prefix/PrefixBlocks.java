package io.pointsman.engine.prefix;

/**
 * The routing key of a prompt as chained 64-bit block hashes: the hash at position i stands for
 * everything up to the end of block i. The last block may be shorter than the others, so that
 * identical short prompts match too.
 *
 * <p>Immutable after construction; the array is not copied and must not be changed by the caller.
 *
 * @param hashes chained hashes; only the first {@code count} are meant
 * @param count number of blocks, the last partial one included; 0 for a request without a prompt
 * @param length length of the whole key, in the same unit as {@code blockLength}
 * @param blockLength length of each block but the last: token ids, or bytes of text
 * @param tokens number of prompt tokens: exact for token ids, estimated for text
 * @param text whether lengths are in bytes of text, and not in tokens
 * @param base what the chain began with, if the key consists of the prompt's token ids and nothing
 *     but the model's name was mixed in: such a key can be told as that of another model or adapter
 *     ({@link #rebased}); else 0
 * @param start hash of the first block without its salt, equal for equal beginnings under whatever
 *     model or adapter; 0 if it is not known
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

  /** The routing key of a request that has no prompt. */
  public static final PrefixBlocks NONE = new PrefixBlocks(new long[0], 0, 0, 1, 0);

  static final long LINK = 0x8EBC6AF09C88C6E3L;
  private static final long LINK_2 = 0x1647E11893B3ED49L;
  private static final long LINK_3 = 0xA17065A6ACD9DDBBL;
  private static final long LINK_4 = 0x788CF0A786063ED1L;

  /** LINK to the powers 0 to 4,095, and to the multiples of 4,096. */
  private static final long[] POWERS = powers(1 << 12, LINK);

  private static final long[] LARGE_POWERS = powers(1 << 8, POWERS[POWERS.length - 1] * LINK);

  /** A key in tokens of which nothing more is known. */
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
   * @param salt hash of everything that must not share prefixes: model, adapter, cache salt
   * @param pieces plain hash of each piece, spread over all bits; overwritten with the chained
   *     hashes
   * @param count number of pieces
   */
  public static PrefixBlocks chain(
      long salt, long[] pieces, int count, int length, int blockLength, int tokens) {
    long start = count > 0 ? pieces[0] : 0;
    long chain = mix(salt);
    int i = 0;
    // The chain is a polynomial, of which four terms at a time need only one step that waits for
    // those before. The mixing has a loop of its own, so that it is compiled to vectors.
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

  /** The same key, of text: its lengths are in bytes. */
  public PrefixBlocks asText() {
    return new PrefixBlocks(hashes, count, length, blockLength, tokens, true, base, start);
  }

  /** The same key, known to be one of token ids that was chained with {@code salt} alone. */
  public PrefixBlocks asTokenIds(long salt) {
    return new PrefixBlocks(hashes, count, length, blockLength, tokens, false, mix(salt), start);
  }

  /**
   * The same key in blocks {@code factor} times as long; the last one may be shorter.
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

  /** Whether it is one of token ids, so that engines' announcements can be compared with it. */
  public boolean tokenIds() {
    return base != 0;
  }

  /**
   * The hash at position {@code i} as it would be had the chain begun with {@code other}. Only for
   * keys of token ids of at most 2^20 blocks.
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

  /** What a chain that stands at {@code before} becomes by one more piece, not yet mixed. */
  public static long link(long before, long piece) {
    return before * LINK + piece;
  }

  /** Share of the key, 0 to 1, that the first {@code matched} blocks cover. */
  public double ratio(int matched) {
    if (count == 0) {
      return 0;
    }
    return matched >= count ? 1 : (double) matched * blockLength / length;
  }

  /**
   * The salt with which {@link #chain} goes on behind this key: what is chained with it has the
   * hashes that it would have as the rest of a longer key. Not for a key without blocks.
   */
  public long saltBehind() {
    return unmix(unmix(whole()));
  }

  /** The hash of the whole key; of nothing, a constant. */
  public long whole() {
    return count == 0 ? 0 : hashes[count - 1];
  }

  /**
   * Spreads every input bit over the whole output; a bijection, and 0 only for one input. The
   * finaliser of SplitMix64 (Steele 2014).
   */
  public static long mix(long x) {
    long z = x + 0x9E3779B97F4A7C15L;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  /** Undoes {@link #mix}. */
  static long unmix(long x) {
    long z = x ^ (x >>> 31) ^ (x >>> 62);
    z *= 0x319642B2D24D8EC3L;
    z ^= (z >>> 27) ^ (z >>> 54);
    z *= 0x96DE1B173F119089L;
    z ^= (z >>> 30) ^ (z >>> 60);
    return z - 0x9E3779B97F4A7C15L;
  }
}
