package io.pointsman.engine.prefix;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;

/**
 * The many workers that hold one block, one bit per slot. Any thread may add, remove and read. A
 * bit set during creation or widening may be lost; the cost is one recomputed prefix.
 */
public final class HolderBitmap {
  private static final VarHandle WORD = MethodHandles.arrayElementVarHandle(long[].class);
  private static final int HEADER_BYTES = 64;

  private final long hash;
  private final long[] words;
  private volatile int stamp;
  private volatile boolean trusted;

  private HolderBitmap(long hash, long[] words, int stamp) {
    this.hash = hash;
    this.words = words;
    this.stamp = stamp;
  }

  /** Creates an empty bitmap for slots up to {@code slot}. */
  static HolderBitmap of(long hash, int slot, int stamp) {
    return new HolderBitmap(hash, new long[wordsFor(slot)], stamp);
  }

  /** Returns a copy with room for {@code slot}. */
  HolderBitmap widened(int slot) {
    return new HolderBitmap(hash, Arrays.copyOf(words, wordsFor(slot)), stamp);
  }

  /** Bytes of a holder bitmap with room for {@code slot}. */
  static int bytes(int slot) {
    return HEADER_BYTES + wordsFor(slot) * Long.BYTES;
  }

  int bytes() {
    return HEADER_BYTES + words.length * Long.BYTES;
  }

  private static int wordsFor(int slot) {
    int words = (slot >>> 6) + 1;
    return Math.max(8, Integer.highestOneBit(words * 2 - 1));
  }

  long hash() {
    return hash;
  }

  /** Returns true if no bit remains of a worker that left during copying and publication. */
  boolean trusted() {
    return trusted;
  }

  void trust() {
    trusted = true;
  }

  int stamp() {
    return stamp;
  }

  boolean covers(int slot) {
    return slot >>> 6 < words.length;
  }

  void add(int slot, int now) {
    if (!holds(slot)) {
      long _ = (long) WORD.getAndBitwiseOr(words, slot >>> 6, 1L << slot);
    }
    if (stamp != now) {
      stamp = now;
    }
  }

  void remove(int slot) {
    if (holds(slot)) {
      long _ = (long) WORD.getAndBitwiseAnd(words, slot >>> 6, ~(1L << slot));
    }
  }

  /** Returns true if the worker in {@code slot} holds the block. */
  public boolean holds(int slot) {
    int word = slot >>> 6;
    return word < words.length && ((long) WORD.getOpaque(words, word) & 1L << slot) != 0;
  }

  /** The number of workers that hold the block. */
  public int size() {
    int size = 0;
    for (int i = 0; i < words.length; i++) {
      size += Long.bitCount((long) WORD.getOpaque(words, i));
    }
    return size;
  }

  /**
   * Removes workers that are not, or no longer, in the narrower bitmap from which this one was
   * copied.
   */
  void keepOnly(HolderBitmap narrower) {
    for (int i = 0; i < narrower.words.length; i++) {
      long kept = (long) WORD.getVolatile(narrower.words, i);
      long _ = (long) WORD.getAndBitwiseAnd(words, i, kept);
    }
  }

  void clear() {
    for (int i = 0; i < words.length; i++) {
      WORD.setOpaque(words, i, 0L);
    }
  }

  boolean isEmpty() {
    for (int i = 0; i < words.length; i++) {
      if ((long) WORD.getOpaque(words, i) != 0) {
        return false;
      }
    }
    return true;
  }
}
