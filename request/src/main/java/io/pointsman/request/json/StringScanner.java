package io.pointsman.request.json;

/** Finds where a JSON string ends and hashes its bytes as they came, in one go. Stateless. */
public abstract sealed class StringScanner permits WordScanner, VectorScanner {
  /**
   * The fastest scanner there is: with vectors if the JVM was started with {@code --add-modules
   * jdk.incubator.vector} on a machine with wide registers, otherwise with ordinary ones. Both give
   * the same hashes.
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
   * Adds the hashes of the string's blocks to {@code out}: every full one of 64 bytes, and a
   * shorter one for the rest.
   *
   * @param from index of the first byte after the opening quote
   * @param limit end of the bytes that are there
   * @return index of the closing quote; -1 if there is none, and then only full blocks were added
   */
  abstract int scan(byte[] bytes, int from, int limit, BlockRun out);

  /** Goes on byte by byte from {@code at}, the start of a block that the limit cuts. */
  static int scanRest(byte[] bytes, int from, int at, int limit, BlockRun out) {
    for (int i = at; i < limit; i++) {
      if (bytes[i] == '"' && !escaped(bytes, from, i)) {
        return finish(bytes, from, at, i, out);
      }
    }
    return -1;
  }

  /** Adds the last block, {@code at} to {@code end}, and returns {@code end}. */
  static int finish(byte[] bytes, int from, int at, int end, BlockRun out) {
    if (at < end) {
      out.add(BlockHash.tail(bytes, at, end - at), end - at);
    } else if (end > from) {
      out.endOnFullBlock();
    }
    return end;
  }

  /**
   * Which bytes of a block are escaped, one bit for each: those behind an odd run of backslashes
   * (simdjson, Langdale and Lemire 2019). Runs that start at an even place and run on to an odd one
   * are told from the others by the carry of one addition.
   *
   * @param slashes one bit for each backslash
   * @param carry 1 if the first byte is escaped by what stands before the block, else 0
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
   * Whether the byte at {@code at} follows an odd number of backslashes. Each run of backslashes is
   * counted for the one quote behind it only, so the whole string stays linear.
   */
  static boolean escaped(byte[] bytes, int from, int at) {
    int i = at - 1;
    while (i >= from && bytes[i] == '\\') {
      i--;
    }
    return ((at - 1 - i) & 1) != 0;
  }
}
