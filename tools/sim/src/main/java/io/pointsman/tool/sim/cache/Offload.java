package io.pointsman.tool.sim.cache;

import java.util.Iterator;
import java.util.LinkedHashSet;

/**
 * A further tier behind the device. Blocks evicted from the device stay here until others need the
 * room; the least recently used are dropped first. A block may be on both tiers.
 *
 * <p>Not thread-safe: owned by the engine's event loop.
 */
public final class Offload {
  private final int capacity;
  private final OffloadListener listener;

  /** By hash, in eviction order. */
  private final LinkedHashSet<Long> kept = new LinkedHashSet<>();

  /**
   * @param capacity total number of blocks, at least 1
   */
  public Offload(int capacity, OffloadListener listener) {
    if (capacity < 1) {
      throw new IllegalArgumentException("capacity: " + capacity + " (expected: at least 1)");
    }
    this.capacity = capacity;
    this.listener = listener;
  }

  /** Stores a block that leaves the device. */
  void keep(PromptOrigin origin, long[] hashes, int block) {
    if (find(hashes[block])) {
      return;
    }
    if (kept.size() == capacity) {
      Iterator<Long> oldest = kept.iterator();
      long dropped = oldest.next();
      oldest.remove();
      listener.dropped(dropped);
    }
    kept.add(hashes[block]);
    listener.offloaded(origin, hashes, block);
  }

  /** Returns true if a block is here, and marks it as most recently used. */
  boolean find(long hash) {
    boolean here = kept.remove(hash);
    if (here) {
      kept.add(hash);
    }
    return here;
  }

  /**
   * Drops all blocks.
   *
   * @param report true if the listener is called for each block
   */
  void clear(boolean report) {
    if (report) {
      kept.forEach(listener::dropped);
    }
    kept.clear();
  }
}
