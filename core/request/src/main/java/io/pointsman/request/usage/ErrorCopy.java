package io.pointsman.request.usage;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.pointsman.request.event.EngineEnd;

/** Copy of an error's description, and the end of the engine that one of them reports. */
final class ErrorCopy {
  /** Maximum number of bytes of a description. */
  private static final int MOST = 1024;

  private static final byte[] NOTHING = {};

  private final Nesting nesting = new Nesting();
  private byte[] copy = NOTHING;
  private int length;
  private EngineEnd end = EngineEnd.NONE;

  void begin() {
    if (copy.length == 0) {
      copy = new byte[MOST];
    }
    length = 0;
    nesting.begin();
  }

  void add(byte[] bytes, int from, int to) {
    int added = Math.min(to - from, MOST - length);
    System.arraycopy(bytes, from, copy, length, added);
    length += added;
  }

  /** Adds a byte of an object. Returns true if it ends the object. */
  boolean ends(byte b) {
    if (length < MOST) {
      copy[length++] = b;
    }
    return nesting.ends(b);
  }

  /** Reads the complete description. */
  void read() {
    if (end == EngineEnd.NONE) {
      end = EngineEnd.of(new String(copy, 0, length, ISO_8859_1));
    }
  }

  /** The end that a description has reported. */
  EngineEnd end() {
    return end;
  }
}
