package io.pointsman.request.splice;

import io.pointsman.engine.disagg.plan.RawJson;
import java.util.ArrayList;
import java.util.List;

/** Builder of a {@link Splice}. */
final class Pieces {
  private final int origin;
  private final List<Piece> pieces = new ArrayList<>();
  private int from;
  private int to;
  private int length;

  /**
   * @param origin index of the original's first byte in its array
   */
  Pieces(int origin) {
    this.origin = origin;
  }

  /** Appends the original's bytes from index {@code start} to before {@code end}. */
  void original(int start, int end) {
    if (start == end) {
      return;
    }
    if (start != to) {
      flush();
      from = start;
    }
    to = end;
  }

  void insert(RawJson text) {
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

  Splice finish() {
    flush();
    return new Splice(pieces, length);
  }
}
