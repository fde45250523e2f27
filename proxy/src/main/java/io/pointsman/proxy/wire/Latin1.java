package io.pointsman.proxy.wire;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.netty.buffer.ByteBuf;

/** Text of heads, as it is sent. */
public final class Latin1 {
  private Latin1() {}

  /**
   * Appends a text, one byte for each code point; what has none becomes a question mark. By one
   * copy of the whole: character by character, each would be checked on its way into the buffer.
   */
  public static void write(ByteBuf out, String text) {
    out.writeBytes(text.getBytes(ISO_8859_1));
  }
}
