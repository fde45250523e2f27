package io.pointsman.engine.policy.cost.report;

import io.pointsman.engine.policy.cost.cache.FleetCaches;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The last salt (model, adapter, cache salt) of recent first blocks. It separates new prompts from
 * prompts that are new only under their salt. A table of fixed size without collision chains. Any
 * thread.
 */
final class SaltList {
  private static final int PLACES = FleetCaches.REPORT_BYTES / Long.BYTES;
  private static final long UPPER = 0xFFFF_FFFF_0000_0000L;

  /** Each entry: the upper half of the plain hash, and of the salted one. */
  private final AtomicLongArray places = new AtomicLongArray(PLACES);

  /**
   * Adds a first block.
   *
   * @param plain its hash without the salt; 0 if unknown
   * @param salted its hash with the salt
   */
  void add(long plain, long salted) {
    if (plain != 0) {
      places.setOpaque(place(plain), (plain & UPPER) | (salted >>> 32));
    }
  }

  /** Returns true if the last prompt with this first block had another salt. */
  boolean underAnother(long plain, long salted) {
    long found = places.getOpaque(place(plain));
    return plain != 0 && (found ^ plain) >>> 32 == 0 && (int) found != (int) (salted >>> 32);
  }

  private static int place(long plain) {
    return (int) plain & (PLACES - 1);
  }
}
