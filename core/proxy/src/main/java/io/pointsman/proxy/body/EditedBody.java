package io.pointsman.proxy.body;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.pointsman.request.splice.Piece;
import io.pointsman.request.splice.Splice;
import java.util.ArrayList;
import java.util.List;

/**
 * A kept body with edits. It is sent without a copy of the kept bytes. Valid while an owner of
 * {@code original} keeps it.
 */
public record EditedBody(KeptBody original, Splice splice) {
  /**
   * Maximum size in bytes of a body in one buffer. For small bodies one buffer costs less than
   * several parts.
   */
  private static final int ONE_BUFFER = 8192;

  /** Size in bytes. */
  public int length() {
    return splice.length();
  }

  /** The complete body, in at least one buffer. The caller owns the buffers. */
  public List<ByteBuf> slices(ByteBufAllocator allocator) {
    List<ByteBuf> slices = new ArrayList<>();
    for (Piece piece : splice.pieces()) {
      switch (piece) {
        case Piece.Original(int offset, int size) -> original.addSlices(offset, size, slices);
        case Piece.Inserted(var text) ->
            slices.add(allocator.buffer(text.length()).writeBytes(text.bytes()));
      }
    }
    return slices.isEmpty() || length() <= ONE_BUFFER
        ? List.of(together(slices, allocator))
        : slices;
  }

  private ByteBuf together(List<ByteBuf> slices, ByteBufAllocator allocator) {
    ByteBuf all = allocator.buffer(Math.max(1, length()));
    for (ByteBuf slice : slices) {
      all.writeBytes(slice);
      slice.release();
    }
    return all;
  }
}
