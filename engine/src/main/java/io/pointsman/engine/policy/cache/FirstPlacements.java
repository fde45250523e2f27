package io.pointsman.engine.policy.cache;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Where prompts that nobody held were sent just now, so that equal prompts which arrive on several
 * threads at once meet on one worker: the index knows of a placement only after it was made. A
 * small table without collision chains: a later prompt takes the place of an earlier one, and a
 * claim counts for a moment only. Lock-free; any thread may claim.
 *
 * <p>A place packs 32 bits of the prompt's hash, 16 bits of time and 16 bits of slot.
 */
final class FirstPlacements {
  private static final int PLACES = 4096;

  /** Claims are stamped in units of 2^24 ns, about 17 ms. */
  private static final int STAMP_SHIFT = 24;

  /**
   * Units for which a claim counts: about 1 s, many times what lies between a choice and its entry
   * in the index.
   */
  private static final int MOMENT = 60;

  private static final long TAG = 0xFFFF_FFFF_0000_0000L;
  private static final long LOW = 0xFFFF;

  private final AtomicLongArray places = new AtomicLongArray(PLACES);

  /**
   * The slot that the prompt was sent to a moment ago, or {@code slot} if it was sent nowhere.
   *
   * @param key hash of the whole prompt
   * @param slot in {@code [0, 65535]}
   */
  int claim(long key, int slot, long now) {
    int place = (int) (key & (PLACES - 1));
    while (true) {
      long present = places.get(place);
      if (present != 0 && ((present ^ key) & TAG) == 0 && recent(present, now)) {
        return (int) (present & LOW);
      }
      if (places.compareAndSet(place, present, packed(key, slot, now))) {
        return slot;
      }
    }
  }

  /** Sends the prompt to {@code slot} from now on. */
  void move(long key, int slot, long now) {
    places.set((int) (key & (PLACES - 1)), packed(key, slot, now));
  }

  private static long packed(long key, int slot, long now) {
    return (key & TAG) | stamp(now) << 16 | slot;
  }

  private static long stamp(long now) {
    return now >>> STAMP_SHIFT & LOW;
  }

  private static boolean recent(long present, long now) {
    return (stamp(now) - (present >>> 16) & LOW) <= MOMENT;
  }
}
