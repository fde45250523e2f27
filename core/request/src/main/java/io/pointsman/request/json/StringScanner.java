package io.pointsman.request.json;

/**
 * Search for the end of a JSON string. It also hashes the string's bytes, with escapes unresolved,
 * in the same pass. Stateless.
 */
public abstract sealed class StringScanner permits WordScanner, VectorScanner {
  /**
   * The fastest scanner for this machine. It uses vectors if registers are wide and the JVM runs
   * with {@code --add-modules jdk.incubator.vector}. All scanners compute the same hashes.
   */
  public static StringScanner best() {
    return Best.SCANNER;
  }

  private static final class Best {
    static final StringScanner SCANNER = choose();

    private static StringScanner choose() {
      boolean vectors = ModuleLayer.boot().findModule("jdk.incubator.vector").isPresent();
      return vectors && VectorScanner.wide() ? new VectorScanner().warmUp() : new WordScanner();
    }
  }

  /**
   * Adds the hashes of the string's blocks to {@code out}: full blocks of 64 bytes and a shorter
   * one for the rest.
   *
   * @param from index of the first byte after the opening quote
   * @param limit end of the available bytes
   * @return index of the closing quote; -1 if there is none, and then only full blocks were added
   */
  abstract int scan(byte[] bytes, int from, int limit, BlockRun out);

  /** Searches byte by byte from {@code at}, the start of a block that the limit cuts. */
  static int scanRest(byte[] bytes, int from, int at, int limit, BlockRun out) {
    for (int i = at; i < limit; i++) {
      if (bytes[i] == '"' && !escaped(bytes, from, i)) {
        return finish(bytes, from, at, i, out);
      }
    }
    return -1;
  }

  /** Adds the last block, from {@code at} to before {@code end}. Returns {@code end}. */
  static int finish(byte[] bytes, int from, int at, int end, BlockRun out) {
    if (at < end) {
      out.add(BlockHash.tail(bytes, at, end - at), end - at);
    } else if (end > from) {
      out.endOnFullBlock();
    }
    return end;
  }

  /**
   * The escaped bytes of a block: one bit for each byte after an odd run of backslashes (simdjson,
   * Langdale and Lemire 2019). The carry of one addition separates runs that start at an odd index
   * from the others.
   *
   * @param slashes one bit for each backslash
   * @param carry 1 if a backslash before the block escapes its first byte, else 0
   */
  static long escapedBits(long slashes, long carry) {
    long starts = slashes & ~carry;
    long follows = starts << 1 | carry;
    long oddStarts = starts & ~EVEN & ~follows;
    long sum = oddStarts + starts;
    return (EVEN ^ (sum << 1)) & follows;
  }

  private static final long EVEN = 0x5555555555555555L;

  /**
   * True if an odd number of backslashes precedes the byte at {@code at}. Each run of backslashes
   * is counted only for the quote after it, so the search remains linear.
   */
  static boolean escaped(byte[] bytes, int from, int at) {
    int i = at - 1;
    while (i >= from && bytes[i] == '\\') {
      i--;
    }
    return ((at - 1 - i) & 1) != 0;
  }
}
