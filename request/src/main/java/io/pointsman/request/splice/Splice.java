package io.pointsman.request.splice;

import java.util.List;

/**
 * A body after its edits: pieces of the original and pieces that are new, in order. Whoever has the
 * original as buffers can send it on without copying it.
 *
 * @param length size of all pieces in bytes, the edited body's content length
 */
public record Splice(List<Piece> pieces, int length) {
  public Splice {
    pieces = List.copyOf(pieces);
  }

  /** The original as it came. */
  static Splice unchanged(int length) {
    return new Splice(length == 0 ? List.of() : List.of(new Piece.Original(0, length)), length);
  }

  /**
   * The edited body in one array.
   *
   * @param original array that holds the body that was edited
   * @param offset index of its first byte
   */
  public byte[] toBytes(byte[] original, int offset) {
    byte[] out = new byte[length];
    int at = 0;
    for (Piece piece : pieces) {
      switch (piece) {
        case Piece.Original(int from, int size) ->
            System.arraycopy(original, offset + from, out, at, size);
        case Piece.Inserted(var text) -> System.arraycopy(text.bytes(), 0, out, at, text.length());
      }
      at += piece.length();
    }
    return out;
  }
}
