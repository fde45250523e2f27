package io.pointsman.request.splice;

/** Part of an edited body. */
public sealed interface Piece {
  /** Size in bytes. */
  int length();

  /**
   * Bytes of the original.
   *
   * @param offset offset in bytes from the original's first byte
   * @param length number of bytes
   */
  record Original(int offset, int length) implements Piece {}

  /** New bytes. They need not be a complete JSON value. */
  record Inserted(RawJson text) implements Piece {
    @Override
    public int length() {
      return text.length();
    }
  }
}
