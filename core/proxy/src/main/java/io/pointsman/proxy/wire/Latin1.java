package io.pointsman.proxy.wire;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.netty.buffer.ByteBuf;

/** Output of text in heads. */
public final class Latin1 {
  private Latin1() {}

  /**
   * Appends a text in ISO 8859-1. Other characters become question marks. One copy of all bytes
   * avoids a range check per character.
   */
  public static void write(ByteBuf out, String text) {
    out.writeBytes(text.getBytes(ISO_8859_1));
  }
}
