package io.pointsman.request.usage;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Search for the end of plain text in a JSON string, eight bytes at a time. */
final class PlainText {
  private static final VarHandle WORDS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long ONES = 0x0101010101010101L;
  private static final long HIGHS = 0x8080808080808080L;

  private PlainText() {}

  /** Index of the first quotation mark, backslash or line feed, or {@code to}. */
  static int end(byte[] bytes, int from, int to) {
    int at = from;
    while (at <= to - Long.BYTES) {
      long word = (long) WORDS.get(bytes, at);
      long found = zeros(word ^ '"' * ONES) | zeros(word ^ '\\' * ONES) | zeros(word ^ '\n' * ONES);
      if (found != 0) {
        return at + Long.numberOfTrailingZeros(found) / Byte.SIZE;
      }
      at += Long.BYTES;
    }
    while (at < to && bytes[at] != '"' && bytes[at] != '\\' && bytes[at] != '\n') {
      at++;
    }
    return at;
  }

  /** Marks zero bytes. The lowest mark is exact, higher ones may be false. */
  private static long zeros(long word) {
    return (word - ONES) & ~word & HIGHS;
  }
}
