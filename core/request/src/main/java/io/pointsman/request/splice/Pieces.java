package io.pointsman.request.splice;

import java.util.ArrayList;
import java.util.List;

/** Builder of a {@link Splice}. */
public final class Pieces {
  private final int origin;
  private final List<Piece> pieces = new ArrayList<>();
  private int from;
  private int to;
  private int length;

  /**
   * @param origin index of the original's first byte in its array
   */
  public Pieces(int origin) {
    this.origin = origin;
  }

  /** Appends the original's bytes from index {@code start} to before {@code end}. */
  public void original(int start, int end) {
    if (start == end) {
      return;
    }
    if (start != to) {
      flush();
      from = start;
    }
    to = end;
  }

  public void insert(RawJson text) {
    if (text.length() > 0) {
      flush();
      pieces.add(new Piece.Inserted(text));
      length += text.length();
    }
  }

  private void flush() {
    if (to > from) {
      pieces.add(new Piece.Original(from - origin, to - from));
      length += to - from;
    }
    from = to;
  }

  public Splice finish() {
    flush();
    return new Splice(pieces, length);
  }
}
