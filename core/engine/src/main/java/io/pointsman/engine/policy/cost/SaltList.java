package io.pointsman.engine.policy.cost;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Under which salt (model, adapter, cache salt) prompts with some first block came last: by it a
 * prompt that is new is told from one that is only new under its salt. A table without collision
 * chains. Any thread may add and ask.
 */
final class SaltList {
  private static final int PLACES = 1 << 13;
  private static final long UPPER = 0xFFFF_FFFF_0000_0000L;

  /** Of each: the upper half of the plain hash, and of the salted one. */
  private final AtomicLongArray places = new AtomicLongArray(PLACES);

  /**
   * @param plain hash of the first block without its salt; 0 if it is not known
   * @param salted the same with its salt
   */
  void add(long plain, long salted) {
    if (plain != 0) {
      places.setOpaque(place(plain), (plain & UPPER) | (salted >>> 32));
    }
  }

  /** Whether the last prompt with this first block came under another salt. */
  boolean underAnother(long plain, long salted) {
    long found = places.getOpaque(place(plain));
    return plain != 0 && (found ^ plain) >>> 32 == 0 && (int) found != (int) (salted >>> 32);
  }

  private static int place(long plain) {
    return (int) plain & (PLACES - 1);
  }

  static long bytes() {
    return (long) PLACES * Long.BYTES;
  }
}
