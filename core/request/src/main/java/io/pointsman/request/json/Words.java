package io.pointsman.request.json;

/** Operations on eight bytes at a time in ordinary registers. */
final class Words {
  static final long HIGHS = 0x8080808080808080L;

  private static final long ONES = 0x0101010101010101L;
  private static final long QUOTES = '"' * ONES;
  private static final long BACKSLASHES = '\\' * ONES;
  private static final long ZEROS = '0' * ONES;
  private static final long GATHER = 0x0102040810204080L;
  private static final long ABOVE_NINE = 0x76 * ONES;

  private Words() {}

  /**
   * A high bit for each byte that is a quote (Mycroft's test for zero bytes). The lowest high bit
   * is exact; higher ones may be false. Other bits are undefined.
   */
  static long quotes(long word) {
    return zeros(word ^ QUOTES);
  }

  /** One bit for each byte that is a quote, the lowest for the first byte. Exact. */
  static long quoteBits(long word) {
    return zeroBits(word ^ QUOTES);
  }

  /** One bit for each byte that is a backslash, the lowest for the first byte. Exact. */
  static long backslashBits(long word) {
    return zeroBits(word ^ BACKSLASHES);
  }

  /** Computes the high bit of each zero byte. One multiplication then moves bit 8i to bit 56+i. */
  private static long zeroBits(long word) {
    long others = ((word & ~HIGHS) + ~HIGHS) | word;
    return (((~others & HIGHS) >>> 7) * GATHER) >>> 56;
  }

  /**
   * End of a string that is shorter than a block and has no escapes: the index of its closing
   * quote. -1 if the string is longer, has a backslash, or ends too close to the limit to be read
   * in whole words.
   */
  static int plainEnd(byte[] bytes, int from, int limit) {
    int last = Math.min(from + BlockHash.BLOCK, limit) - 8;
    for (int at = from; at <= last; at += 8) {
      long word = BlockHash.word(bytes, at);
      long marks = (quotes(word) | zeros(word ^ BACKSLASHES)) & HIGHS;
      if (marks != 0) {
        int mark = at + (Long.numberOfTrailingZeros(marks) >>> 3);
        return bytes[mark] == '"' ? mark : -1;
      }
    }
    return -1;
  }

  /**
   * Number of digits at {@code at}, from 1 to 7. 0 if there are more or none, or if fewer than
   * eight bytes remain.
   */
  static int digits(byte[] bytes, int at, int limit) {
    if (at > limit - 8) {
      return 0;
    }
    long values = BlockHash.word(bytes, at) ^ ZEROS;
    long others = ((values + ABOVE_NINE) | values) & HIGHS;
    return others == 0 ? 0 : Long.numberOfTrailingZeros(others) >>> 3;
  }

  /**
   * The number of 1 to 7 digits at {@code at}. Neighbouring digits are combined to pairs, fours and
   * eights (as in fast_float, Lemire 2021).
   */
  static long number(byte[] bytes, int at, int digits) {
    long values = (BlockHash.word(bytes, at) ^ ZEROS) << (64 - 8 * digits);
    long pairs = (values * 10 + (values >>> 8)) & 0x00FF00FF00FF00FFL;
    long fours = (pairs * 100 + (pairs >>> 16)) & 0x0000FFFF0000FFFFL;
    return (fours * 10_000 + (fours >>> 32)) & 0xFFFFFFFFL;
  }

  private static long zeros(long word) {
    return (word - ONES) & ~word;
  }
}
