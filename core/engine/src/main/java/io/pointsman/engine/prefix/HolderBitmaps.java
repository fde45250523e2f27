package io.pointsman.engine.prefix;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * All crowds within a byte limit. A new crowd replaces the least recently used one among a few
 * candidates. Lock-free.
 */
final class HolderBitmaps {
  private static final int CANDIDATES = 8;

  /** Maximum number of crowds: references must be below every tenancy. */
  private static final int MOST = (1 << 16) - 1;

  private final AtomicReferenceArray<@Nullable HolderBitmap> crowds;
  private final AtomicLong bytes = new AtomicLong();

  /**
   * @param slots number of worker slots that a crowd must cover
   */
  HolderBitmaps(long maxBytes, int slots) {
    int each = HolderBitmap.bytes(slots - 1) + Integer.BYTES;
    crowds = new AtomicReferenceArray<>((int) Math.min(MOST, maxBytes / each));
  }

  /** Returns true if {@code reference}, read in place of a tenancy, identifies a crowd. */
  static boolean isReference(int reference) {
    return reference >>> 16 == 0;
  }

  /**
   * Returns the crowd of {@code hash} under {@code reference} for reading. Null if it was replaced,
   * or if a worker may have left before it was visible.
   */
  @Nullable HolderBitmap find(int reference, long hash) {
    HolderBitmap crowd = findToWrite(reference, hash);
    return crowd != null && crowd.trusted() ? crowd : null;
  }

  /** Returns the crowd of {@code hash} under {@code reference} for writing only. */
  @Nullable HolderBitmap findToWrite(int reference, long hash) {
    if (reference < 1 || reference > crowds.length()) {
      return null;
    }
    HolderBitmap crowd = crowds.getAcquire(reference - 1);
    return crowd != null && crowd.hash() == hash ? crowd : null;
  }

  /**
   * Stores {@code crowd}, replacing another one if necessary.
   *
   * @return its reference; 0 if there was no room or another thread took it
   */
  int open(HolderBitmap crowd, int now) {
    int capacity = crowds.length();
    if (capacity == 0) {
      return 0;
    }
    int first = (int) Math.floorMod(crowd.hash() >>> 16, (long) capacity);
    int place = first;
    HolderBitmap oldest = crowds.getAcquire(first);
    for (int i = 1; i < Math.min(CANDIDATES, capacity) && oldest != null; i++) {
      int candidate = first + i < capacity ? first + i : first + i - capacity;
      HolderBitmap other = crowds.getAcquire(candidate);
      if (other == null || now - other.stamp() > now - oldest.stamp()) {
        place = candidate;
        oldest = other;
      }
    }
    return exchange(place, oldest, crowd) ? place + 1 : 0;
  }

  /** Replaces {@code before} by {@code after}, if it is still stored. */
  boolean replace(int reference, HolderBitmap before, HolderBitmap after) {
    return exchange(reference - 1, before, after);
  }

  private boolean exchange(int place, @Nullable HolderBitmap before, HolderBitmap after) {
    boolean replaced = crowds.compareAndSet(place, before, after);
    if (replaced) {
      bytes.addAndGet(after.bytes() - (before == null ? 0 : before.bytes()));
    }
    return replaced;
  }

  /** Removes the worker in {@code slot} from a crowd, and from concurrent replacements of it. */
  void remove(int reference, long hash, int slot) {
    HolderBitmap before = null;
    HolderBitmap crowd = findToWrite(reference, hash);
    while (crowd != null && crowd != before) {
      crowd.remove(slot);
      before = crowd;
      crowd = findToWrite(reference, hash);
    }
  }

  /** Removes the worker in {@code slot} from every crowd. */
  void remove(int slot) {
    for (int i = 0; i < crowds.length(); i++) {
      // Volatile read: a thread that opens a crowd not seen here must see the departure.
      HolderBitmap crowd = crowds.get(i);
      if (crowd != null) {
        crowd.remove(slot);
      }
    }
  }

  long bytes() {
    return bytes.get() + (long) crowds.length() * Integer.BYTES;
  }
}
