package io.pointsman.proxy.body;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.ArrayList;
import java.util.List;

/**
 * What is kept of the body of one request: the bytes as they came, outside of the heap, until the
 * last of its owners lets go of it. Draws on the budget of all. Belongs to one event loop.
 */
public final class KeptBody {
  /**
   * Parts smaller than this, or less than half of their buffer, are copied together; each would
   * hold on to a whole read otherwise.
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

  /** An empty one, which its maker owns. */
  public KeptBody(ByteBufAllocator allocator, BodyBudget budget) {
    this.allocator = allocator;
    this.budget = budget;
  }

  /**
   * Adds what comes next.
   *
   * @param part taken over
   * @param whole whether that is all of the body
   * @return false if there is no room for it
   */
  public boolean add(ByteBuf part, boolean whole) {
    int size = part.readableBytes();
    int held = memory(part);
    boolean full = size >= SMALL_PART && size >= held / 2;
    boolean alone = full || (whole && parts.isEmpty());
    boolean behind = !alone && lastIsOwn && parts.getLast().writableBytes() >= size;
    int own = Math.max(OWN_PART, size);
    if (!behind && !take(alone ? Math.max(held, SMALL_PART) : own)) {
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

  /** What is held on to with a part, in bytes: of a slice, the buffer that it is cut from. */
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

  /** Bytes that are kept. */
  public int length() {
    return length;
  }

  /** Copies all of it into {@code target}, which has room for {@link #length} bytes. */
  public void copyTo(byte[] target) {
    int at = 0;
    for (ByteBuf part : parts) {
      part.getBytes(part.readerIndex(), target, at, part.readableBytes());
      at += part.readableBytes();
    }
  }

  /** A copy of all of it. */
  public byte[] copy() {
    byte[] bytes = new byte[length];
    copyTo(bytes);
    return bytes;
  }

  /** Copies all of it behind what {@code target} has. */
  public void copyTo(ByteBuf target) {
    for (ByteBuf part : parts) {
      target.writeBytes(part, part.readerIndex(), part.readableBytes());
    }
  }

  /** All of it, without copying: buffers that the caller owns. */
  public List<ByteBuf> slices() {
    List<ByteBuf> slices = new ArrayList<>(parts.size());
    addSlices(0, length, slices);
    return slices;
  }

  /**
   * Adds {@code size} bytes from {@code offset} on, without copying them, as buffers that the
   * caller owns.
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

  /** It has one more owner, who must release it as well. */
  public void retain() {
    if (owners == 0) {
      throw new IllegalStateException("nothing is kept any more");
    }
    owners++;
  }

  /** One owner lets go of it; once for each. */
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
