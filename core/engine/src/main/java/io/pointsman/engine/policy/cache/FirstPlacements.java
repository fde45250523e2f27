package io.pointsman.engine.policy.cache;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The recent placements of prompts without a holder. Equal prompts that arrive on several threads
 * at once thus go to one worker, although the index records a placement only afterwards. A small
 * table without collision chains: a later prompt replaces an earlier one, and an entry is valid for
 * about one second. Lock-free; any thread may claim.
 *
 * <p>An entry packs 32 bits of the prompt's hash, 16 bits of time and 16 bits of slot.
 */
final class FirstPlacements {
  private static final int PLACES = 4096;

  /** Time resolution of entries: 2^24 ns, about 17 ms. */
  private static final int STAMP_SHIFT = 24;

  /**
   * Validity of an entry in these units: about 1 s, much longer than the time from a choice to its
   * entry in the index.
   */
  private static final int MOMENT = 60;

  private static final long TAG = 0xFFFF_FFFF_0000_0000L;
  private static final long LOW = 0xFFFF;

  private final AtomicLongArray places = new AtomicLongArray(PLACES);

  /**
   * Returns the slot that the prompt was recently sent to. If there is none, records and returns
   * {@code slot}.
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

  /** Records {@code slot} for the prompt. */
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
