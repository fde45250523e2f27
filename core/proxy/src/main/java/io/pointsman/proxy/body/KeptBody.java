package io.pointsman.proxy.body;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.pointsman.request.splice.Piece;
import io.pointsman.request.splice.Splice;
import java.util.ArrayList;
import java.util.List;

/**
 * The buffered bytes of one request's body, unchanged and outside the heap, until its last owner
 * releases it. It reserves them in the budget of all requests. Belongs to one event loop; a thread
 * that fills a new one passes it to the loop.
 */
public final class KeptBody {
  /**
   * Parts smaller than this, or smaller than half of their buffer, are copied together. Otherwise
   * each would hold the buffer of a complete read.
   */
  private static final int SMALL_PART = 2048;

  private static final int OWN_PART = 16_384;

  private final ByteBufAllocator allocator;
  private final BodyBudget budget;
  private final List<ByteBuf> parts = new ArrayList<>(2);
  private int length;
  private long taken;
  private int owners = 1;
  private boolean lastIsOwn;

  /** An empty body with one owner, the caller. */
  public KeptBody(ByteBufAllocator allocator, BodyBudget budget) {
    this.allocator = allocator;
    this.budget = budget;
  }

  /**
   * Appends the next bytes.
   *
   * @param part ownership passes to this method
   * @param whole true if the part is the complete body
   * @return false if the budget has no room; the part is then released
   */
  public boolean add(ByteBuf part, boolean whole) {
    int size = part.readableBytes();
    int used = memory(part);
    boolean full = size >= SMALL_PART && size >= used / 2;
    boolean alone = full || (whole && parts.isEmpty());
    boolean behind = !alone && lastIsOwn && parts.getLast().writableBytes() >= size;
    int own = Math.max(OWN_PART, size);
    if (!behind && !take(alone ? Math.max(used, SMALL_PART) : own)) {
      part.release();
      return false;
    }
    length += size;
    if (alone) {
      parts.add(part);
    } else {
      if (!behind) {
        parts.add(allocator.buffer(own));
      }
      parts.getLast().writeBytes(part);
      part.release();
    }
    lastIsOwn = !alone;
    return true;
  }

  /** Changes the body. The kept bytes are not copied. */
  void edit(Splice splice) {
    List<ByteBuf> edited = new ArrayList<>();
    for (Piece piece : splice.pieces()) {
      switch (piece) {
        case Piece.Original(int offset, int size) -> addSlices(offset, size, edited);
        case Piece.Inserted(var text) ->
            edited.add(allocator.buffer(text.length()).writeBytes(text.bytes()));
      }
    }
    parts.forEach(ByteBuf::release);
    parts.clear();
    parts.addAll(edited);
    length = splice.length();
    lastIsOwn = false;
  }

  /** The memory that a part holds, in bytes: for a slice, the complete underlying buffer. */
  private static int memory(ByteBuf part) {
    ByteBuf under = part;
    while (under.unwrap() != null) {
      under = under.unwrap();
    }
    return under.capacity();
  }

  private boolean take(long bytes) {
    boolean room = budget.take(bytes);
    taken += room ? bytes : 0;
    return room;
  }

  /** Number of kept bytes. */
  public int length() {
    return length;
  }

  /**
   * Copies the complete body to the start of {@code target}, which has room for {@link #length}
   * bytes.
   */
  public void copyTo(byte[] target) {
    int at = 0;
    for (ByteBuf part : parts) {
      part.getBytes(part.readerIndex(), target, at, part.readableBytes());
      at += part.readableBytes();
    }
  }

  /** A copy of the complete body. */
  public byte[] copy() {
    byte[] bytes = new byte[length];
    copyTo(bytes);
    return bytes;
  }

  /** Appends the complete body to {@code target}. */
  public void copyTo(ByteBuf target) {
    for (ByteBuf part : parts) {
      target.writeBytes(part, part.readerIndex(), part.readableBytes());
    }
  }

  /** The complete body without a copy. The caller owns the buffers. */
  public List<ByteBuf> slices() {
    List<ByteBuf> slices = new ArrayList<>(parts.size());
    addSlices(0, length, slices);
    return slices;
  }

  /**
   * Adds {@code size} bytes from {@code offset} on, without a copy. The caller owns the buffers.
   */
  void addSlices(int offset, int size, List<ByteBuf> to) {
    int skipped = offset;
    int left = size;
    for (ByteBuf part : parts) {
      int there = part.readableBytes();
      if (skipped < there && left > 0) {
        int taken = Math.min(there - skipped, left);
        to.add(part.retainedSlice(part.readerIndex() + skipped, taken));
        left -= taken;
        skipped = 0;
      } else {
        skipped -= Math.min(there, skipped);
      }
    }
    if (left > 0) {
      throw new IndexOutOfBoundsException(offset + size + " (expected: at most " + length + ")");
    }
  }

  /** Adds an owner, which must call {@link #release} once. */
  public void retain() {
    if (owners == 0) {
      throw new IllegalStateException("nothing is kept any more");
    }
    owners++;
  }

  /** Removes an owner. The last one frees the bytes. Each owner calls this once. */
  public void release() {
    if (owners == 0) {
      throw new IllegalStateException("let go of more often than kept");
    }
    owners--;
    if (owners == 0) {
      parts.forEach(ByteBuf::release);
      parts.clear();
      length = 0;
      budget.giveBack(taken);
    }
  }
}
