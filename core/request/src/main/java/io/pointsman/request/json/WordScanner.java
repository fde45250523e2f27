package io.pointsman.request.json;

/**
 * Scanner in ordinary code, for all machines. The compiler vectorizes its search in long strings.
 */
final class WordScanner extends StringScanner {
  /**
   * Number of bytes that are searched before they are hashed. Two loops, one that searches and one
   * that hashes, take half the time of a combined loop, because the compiler vectorizes the first.
   * Shorter stretches gain nothing.
   */
  private static final int STRETCH = 1024;

  @Override
  int scan(byte[] bytes, int from, int limit, BlockRun out) {
    int at = from;
    for (; at <= limit - STRETCH; at += STRETCH) {
      if (!quoted(bytes, at, at + STRETCH)) {
        out.addBlocks(bytes, at, STRETCH / BlockHash.BLOCK);
        continue;
      }
      int end = scanBlocks(bytes, from, at, at + STRETCH, out);
      if (end >= 0) {
        return end;
      }
    }
    int end = scanBlocks(bytes, from, at, limit, out);
    int rest = limit - (limit - at) % BlockHash.BLOCK;
    return end >= 0 ? end : scanRest(bytes, from, rest, limit, out);
  }

  /** True if whole words contain a quote, escaped or not. */
  private static boolean quoted(byte[] bytes, int from, int to) {
    long marks = 0;
    for (int at = from; at < to; at += Long.BYTES) {
      marks |= Words.quotes(BlockHash.word(bytes, at));
    }
    return (marks & Words.HIGHS) != 0;
  }

  /**
   * Searches and hashes full blocks. Returns the index of the closing quote; -1 if there is none.
   */
  private static int scanBlocks(byte[] bytes, int from, int first, int limit, BlockRun out) {
    for (int at = first; at <= limit - BlockHash.BLOCK; at += BlockHash.BLOCK) {
      long w0 = BlockHash.word(bytes, at);
      long w1 = BlockHash.word(bytes, at + 8);
      long w2 = BlockHash.word(bytes, at + 16);
      long w3 = BlockHash.word(bytes, at + 24);
      long w4 = BlockHash.word(bytes, at + 32);
      long w5 = BlockHash.word(bytes, at + 40);
      long w6 = BlockHash.word(bytes, at + 48);
      long w7 = BlockHash.word(bytes, at + 56);
      long head = Words.quotes(w0) | Words.quotes(w1) | Words.quotes(w2) | Words.quotes(w3);
      long rest = Words.quotes(w4) | Words.quotes(w5) | Words.quotes(w6) | Words.quotes(w7);
      if (((head | rest) & Words.HIGHS) != 0) {
        int end = closing(bytes, from, at);
        if (end >= 0) {
          return finish(bytes, from, at, end, out);
        }
      }
      out.add(BlockHash.block(w0, w1, w2, w3, w4, w5, w6, w7));
    }
    return -1;
  }

  /**
   * Index of the first unescaped quote of a full block; -1 if there is none. It uses masks of one
   * bit per byte. Text full of escaped quotes therefore causes no mispredicted branches.
   */
  private static int closing(byte[] bytes, int from, int at) {
    long quotes = 0;
    long slashes = 0;
    for (int i = 0; i < BlockHash.BLOCK; i += 8) {
      long word = BlockHash.word(bytes, at + i);
      quotes |= Words.quoteBits(word) << i;
      slashes |= Words.backslashBits(word) << i;
    }
    boolean carry = at > from && bytes[at - 1] == '\\' && escaped(bytes, from, at);
    long closing = quotes & ~escapedBits(slashes, carry ? 1 : 0);
    return closing == 0 ? -1 : at + Long.numberOfTrailingZeros(closing);
  }
}
