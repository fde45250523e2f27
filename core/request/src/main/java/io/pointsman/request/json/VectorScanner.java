package io.pointsman.request.json;

import static java.nio.charset.StandardCharsets.US_ASCII;

import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.VectorSpecies;

/**
 * Scanner that reads a block of 64 bytes in one or two vector registers. Quotes and backslashes
 * become bit masks. Carry arithmetic removes escaped quotes (simdjson, Langdale and Lemire 2019).
 * Text full of escapes therefore causes no mispredicted branches. Requires the module {@code
 * jdk.incubator.vector}; do not load this class without it.
 */
final class VectorScanner extends StringScanner {
  private static final VectorSpecies<Byte> SPECIES = ByteVector.SPECIES_PREFERRED;
  private static final int LANES = SPECIES.length();
  private static final long EVEN = 0x5555555555555555L;
  private static final int WARM_UP_ROUNDS = 2000;

  /** True if the registers of this machine have 32 or 64 bytes. */
  static boolean wide() {
    return LANES == BlockHash.BLOCK || LANES == BlockHash.BLOCK / 2;
  }

  /**
   * Runs the scanner until it is compiled. Interpreted vector code is orders of magnitude slower
   * than plain code.
   */
  StringScanner warmUp() {
    byte[] text = ("\\\"".repeat(32) + "x".repeat(64)).repeat(16).getBytes(US_ASCII);
    BlockRun out = new BlockRun();
    for (int i = 0; i < WARM_UP_ROUNDS; i++) {
      scan(text, 0, text.length, out);
      out.truncate(0);
    }
    return this;
  }

  @Override
  int scan(byte[] bytes, int from, int limit, BlockRun out) {
    // 1 if a backslash before the block escapes its first byte.
    long carry = 0;
    int at = from;
    for (; at <= limit - BlockHash.BLOCK; at += BlockHash.BLOCK) {
      long quotes = marks(bytes, at, (byte) '"');
      long slashes = marks(bytes, at, (byte) '\\');
      long escaped = carry;
      if (slashes == 0) {
        carry = 0;
      } else {
        long starts = slashes & ~carry;
        long follows = starts << 1 | carry;
        long oddStarts = starts & ~EVEN & ~follows;
        long sum = oddStarts + starts;
        carry = Long.compareUnsigned(sum, starts) < 0 ? 1 : 0;
        escaped = (EVEN ^ (sum << 1)) & follows;
      }
      quotes &= ~escaped;
      if (quotes != 0) {
        return finish(bytes, from, at, at + Long.numberOfTrailingZeros(quotes), out);
      }
      out.add(BlockHash.block(bytes, at));
    }
    return scanRest(bytes, from, at, limit, out);
  }

  private static long marks(byte[] bytes, int at, byte wanted) {
    long marks = ByteVector.fromArray(SPECIES, bytes, at).eq(wanted).toLong();
    if (LANES < BlockHash.BLOCK) {
      long high = ByteVector.fromArray(SPECIES, bytes, at + LANES).eq(wanted).toLong();
      marks |= high << LANES;
    }
    return marks;
  }
}
