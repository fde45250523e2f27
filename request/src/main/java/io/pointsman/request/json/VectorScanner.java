package io.pointsman.request.json;

import static java.nio.charset.StandardCharsets.US_ASCII;

import jdk.incubator.vector.ByteVector;
import jdk.incubator.vector.VectorSpecies;

/**
 * Scans a block of 64 bytes in one or two vector registers. Quotes and backslashes become bit
 * masks; escaped quotes are cleared by carry arithmetic (simdjson, Langdale and Lemire 2019), so
 * text full of escapes costs no mispredicted branches. Needs the module {@code
 * jdk.incubator.vector}; touch this class only when that is there.
 */
final class VectorScanner extends StringScanner {
  private static final VectorSpecies<Byte> SPECIES = ByteVector.SPECIES_PREFERRED;
  private static final int LANES = SPECIES.length();
  private static final long EVEN = 0x5555555555555555L;
  private static final int WARM_UP_ROUNDS = 2000;

  /** Whether this machine has registers of 32 bytes at least. */
  static boolean wide() {
    return LANES == BlockHash.BLOCK || LANES == BlockHash.BLOCK / 2;
  }

  /**
   * Runs until compiled: interpreted vector code is slower than plain code by orders of magnitude.
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
    // 1 if the first byte of the block is escaped by a backslash before it.
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
