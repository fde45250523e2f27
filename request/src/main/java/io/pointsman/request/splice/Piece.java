package io.pointsman.request.splice;

import io.pointsman.engine.disagg.plan.RawJson;

/** A part of an edited body. */
public sealed interface Piece {
  /** Size in bytes. */
  int length();

  /**
   * Bytes of the original.
   *
   * @param offset from the original's first byte
   */
  record Original(int offset, int length) implements Piece {}

  /** Bytes that are new; not a whole JSON value in general. */
  record Inserted(RawJson text) implements Piece {
    @Override
    public int length() {
      return text.length();
    }
  }
}
