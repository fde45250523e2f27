package io.pointsman.request.json;

/** Scans eight bytes at a time in ordinary registers; works everywhere. */
final class WordScanner extends StringScanner {
  @Override
  int scan(byte[] bytes, int from, int limit, BlockRun out) {
    int at = from;
    for (; at <= limit - BlockHash.BLOCK; at += BlockHash.BLOCK) {
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
    return scanRest(bytes, from, at, limit, out);
  }

  /**
   * Index of the first unescaped quote of a full block; -1 if it has none. Works on masks of one
   * bit for each byte, so that text full of escaped quotes costs no mispredicted branches.
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
