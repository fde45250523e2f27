package io.pointsman.engine.policy.cost;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Blocks that were evicted of late, of all workers: by them it is known what a larger cache would
 * have been good for. A table without collision chains, so that a later block takes the place of an
 * earlier one and the size never changes. Any thread may add and ask.
 */
final class GhostList {
  private static final int PLACES = 1 << 16;

  private final AtomicLongArray hashes = new AtomicLongArray(PLACES);

  void add(long hash) {
    hashes.setOpaque(place(hash), hash);
  }

  boolean contains(long hash) {
    return hashes.getOpaque(place(hash)) == hash;
  }

  private static int place(long hash) {
    return (int) (hash >>> 24) & (PLACES - 1);
  }

  static long bytes() {
    return (long) PLACES * Long.BYTES;
  }
}
