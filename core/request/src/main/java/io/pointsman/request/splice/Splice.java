package io.pointsman.request.splice;

import io.pointsman.request.Span;
import java.util.ArrayList;
import java.util.List;

/**
 * An edited body: pieces of the original and new pieces, in order. A caller that holds the original
 * in buffers can send it without a copy.
 *
 * @param length total size of the pieces in bytes: the content length of the edited body
 */
public record Splice(List<Piece> pieces, int length) {
  public Splice {
    pieces = List.copyOf(pieces);
  }

  /** The unchanged original. */
  public static Splice unchanged(int length) {
    return new Splice(length == 0 ? List.of() : List.of(new Piece.Original(0, length)), length);
  }

  /**
   * A body with one value replaced.
   *
   * @param length size of the original in bytes
   * @param old position of the value
   */
  public static Splice replaced(int length, Span old, RawJson value) {
    int end = old.offset() + old.length();
    List<Piece> pieces = new ArrayList<>(3);
    if (old.offset() > 0) {
      pieces.add(new Piece.Original(0, old.offset()));
    }
    pieces.add(new Piece.Inserted(value));
    if (end < length) {
      pieces.add(new Piece.Original(end, length - end));
    }
    return new Splice(pieces, length - old.length() + value.length());
  }

  /**
   * The edited body in one array.
   *
   * @param original array that contains the original body
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
