package io.pointsman.proxy.wire;

import io.netty.buffer.ByteBuf;

/** Output of numbers as text, without intermediate strings. */
public final class Decimals {
  private static final int HEX_DIGITS = 8;

  private Decimals() {}

  /**
   * Appends {@code value} in decimal.
   *
   * @param value 0 or more
   */
  public static void write(ByteBuf out, long value) {
    long unit = 1;
    while (value / unit >= 10) {
      unit *= 10;
    }
    for (; unit > 0; unit /= 10) {
      out.writeByte((byte) ('0' + value / unit % 10));
    }
  }

  /** Appends the line that starts a chunk of {@code size} bytes. */
  public static void writeChunkSize(ByteBuf out, int size) {
    boolean begun = false;
    for (int i = HEX_DIGITS - 1; i >= 0; i--) {
      int digit = size >>> (4 * i) & 15;
      begun |= digit != 0 || i == 0;
      if (begun) {
        out.writeByte(digit < 10 ? '0' + digit : 'a' + digit - 10);
      }
    }
    out.writeShort('\r' << 8 | '\n');
  }
}
