package io.pointsman.engine.prefix;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * All crowds, at most as many as fit a number of bytes; a new one takes the place of the one used
 * least lately among a few. Lock-free.
 */
final class Crowds {
  private static final int CANDIDATES = 8;

  /** A reference must stay below every tenancy. */
  private static final int MOST = (1 << 16) - 1;

  private final AtomicReferenceArray<@Nullable Crowd> crowds;
  private final AtomicLong bytes = new AtomicLong();

  /**
   * @param slots slots that a crowd may have to tell apart
   */
  Crowds(long maxBytes, int slots) {
    int each = Crowd.bytes(slots - 1) + Integer.BYTES;
    crowds = new AtomicReferenceArray<>((int) Math.min(MOST, maxBytes / each));
  }

  /** Whether {@code reference}, as found where a tenancy could stand, names a crowd. */
  static boolean isReference(int reference) {
    return reference >>> 16 == 0;
  }

  /**
   * The crowd of {@code hash} under {@code reference}, to be read; null if its place has been
   * taken, or while it is not known whether somebody left before it could be found.
   */
  @Nullable Crowd find(int reference, long hash) {
    Crowd crowd = findToWrite(reference, hash);
    return crowd != null && crowd.trusted() ? crowd : null;
  }

  /** The same, to be changed only. */
  @Nullable Crowd findToWrite(int reference, long hash) {
    if (reference < 1 || reference > crowds.length()) {
      return null;
    }
    Crowd crowd = crowds.getAcquire(reference - 1);
    return crowd != null && crowd.hash() == hash ? crowd : null;
  }

  /**
   * Makes room for {@code crowd}.
   *
   * @return its reference, or 0 if there was no room or another thread took it
   */
  int open(Crowd crowd, int now) {
    int capacity = crowds.length();
    if (capacity == 0) {
      return 0;
    }
    int first = (int) Math.floorMod(crowd.hash() >>> 16, (long) capacity);
    int place = first;
    Crowd oldest = crowds.getAcquire(first);
    for (int i = 1; i < Math.min(CANDIDATES, capacity) && oldest != null; i++) {
      int candidate = first + i < capacity ? first + i : first + i - capacity;
      Crowd other = crowds.getAcquire(candidate);
      if (other == null || now - other.stamp() > now - oldest.stamp()) {
        place = candidate;
        oldest = other;
      }
    }
    return exchange(place, oldest, crowd) ? place + 1 : 0;
  }

  /** Puts {@code after} in the place of {@code before}, if it is still there. */
  boolean replace(int reference, Crowd before, Crowd after) {
    return exchange(reference - 1, before, after);
  }

  private boolean exchange(int place, @Nullable Crowd before, Crowd after) {
    boolean replaced = crowds.compareAndSet(place, before, after);
    if (replaced) {
      bytes.addAndGet(after.bytes() - (before == null ? 0 : before.bytes()));
    }
    return replaced;
  }

  /** Takes the worker in {@code slot} out of a crowd, and out of what takes its place meanwhile. */
  void remove(int reference, long hash, int slot) {
    Crowd before = null;
    Crowd crowd = findToWrite(reference, hash);
    while (crowd != null && crowd != before) {
      crowd.remove(slot);
      before = crowd;
      crowd = findToWrite(reference, hash);
    }
  }

  /** Takes the worker in {@code slot} out of every crowd. */
  void remove(int slot) {
    for (int i = 0; i < crowds.length(); i++) {
      // Volatile: who opened a crowd that is not seen here must see that the worker was going.
      Crowd crowd = crowds.get(i);
      if (crowd != null) {
        crowd.remove(slot);
      }
    }
  }

  long bytes() {
    return bytes.get() + (long) crowds.length() * Integer.BYTES;
  }
}
