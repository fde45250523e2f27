package io.pointsman.engine.prefix;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * All holder bitmaps within a byte limit. A new bitmap replaces the least recently used one among a
 * few candidates. Lock-free.
 */
final class HolderBitmaps {
  private static final int CANDIDATES = 8;

  /** Maximum number of holder bitmaps: references must be below every epoch. */
  private static final int MOST = (1 << 16) - 1;

  private final AtomicReferenceArray<@Nullable HolderBitmap> bitmaps;
  private final AtomicLong bytes = new AtomicLong();

  /**
   * @param slots number of worker slots that a holder bitmap must cover
   */
  HolderBitmaps(long maxBytes, int slots) {
    int each = HolderBitmap.bytes(slots - 1) + Integer.BYTES;
    bitmaps = new AtomicReferenceArray<>((int) Math.min(MOST, maxBytes / each));
  }

  /** Returns true if {@code reference}, read in place of an epoch, identifies a holder bitmap. */
  static boolean isReference(int reference) {
    return reference >>> 16 == 0;
  }

  /**
   * Returns the holder bitmap of {@code hash} under {@code reference} for reading. Null if it was
   * replaced, or if a worker may have left before it was visible.
   */
  @Nullable HolderBitmap find(int reference, long hash) {
    HolderBitmap bitmap = findToWrite(reference, hash);
    return bitmap != null && bitmap.trusted() ? bitmap : null;
  }

  /** Returns the holder bitmap of {@code hash} under {@code reference} for writing only. */
  @Nullable HolderBitmap findToWrite(int reference, long hash) {
    if (reference < 1 || reference > bitmaps.length()) {
      return null;
    }
    HolderBitmap bitmap = bitmaps.getAcquire(reference - 1);
    return bitmap != null && bitmap.hash() == hash ? bitmap : null;
  }

  /**
   * Stores {@code bitmap}, replacing another one if necessary.
   *
   * @return its reference; 0 if there was no room or another thread took it
   */
  int open(HolderBitmap bitmap, int now) {
    int capacity = bitmaps.length();
    if (capacity == 0) {
      return 0;
    }
    int first = (int) Math.floorMod(bitmap.hash() >>> 16, (long) capacity);
    int place = first;
    HolderBitmap oldest = bitmaps.getAcquire(first);
    for (int i = 1; i < Math.min(CANDIDATES, capacity) && oldest != null; i++) {
      int candidate = first + i < capacity ? first + i : first + i - capacity;
      HolderBitmap other = bitmaps.getAcquire(candidate);
      if (other == null || now - other.stamp() > now - oldest.stamp()) {
        place = candidate;
        oldest = other;
      }
    }
    return exchange(place, oldest, bitmap) ? place + 1 : 0;
  }

  /** Replaces {@code before} by {@code after}, if it is still stored. */
  boolean replace(int reference, HolderBitmap before, HolderBitmap after) {
    return exchange(reference - 1, before, after);
  }

  private boolean exchange(int place, @Nullable HolderBitmap before, HolderBitmap after) {
    boolean replaced = bitmaps.compareAndSet(place, before, after);
    if (replaced) {
      bytes.addAndGet(after.bytes() - (before == null ? 0 : before.bytes()));
    }
    return replaced;
  }

  /**
   * Removes the worker in {@code slot} from a holder bitmap, and from concurrent replacements of
   * it.
   */
  void remove(int reference, long hash, int slot) {
    HolderBitmap before = null;
    HolderBitmap bitmap = findToWrite(reference, hash);
    while (bitmap != null && bitmap != before) {
      bitmap.remove(slot);
      before = bitmap;
      bitmap = findToWrite(reference, hash);
    }
  }

  /** Removes the worker in {@code slot} from every bitmap. */
  void remove(int slot) {
    for (int i = 0; i < bitmaps.length(); i++) {
      // Volatile read: a thread that opens a holder bitmap not seen here must see the departure.
      HolderBitmap bitmap = bitmaps.get(i);
      if (bitmap != null) {
        bitmap.remove(slot);
      }
    }
  }

  long bytes() {
    return bytes.get() + (long) bitmaps.length() * Integer.BYTES;
  }
}
