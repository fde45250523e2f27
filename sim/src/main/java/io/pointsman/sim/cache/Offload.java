package io.pointsman.sim.cache;

import java.util.Iterator;
import java.util.LinkedHashSet;

/**
 * A further tier behind the device: blocks that are evicted there stay here, until others need the
 * room; those that were needed least lately go first. A block may be on both.
 *
 * <p>Not thread-safe: owned by the engine's event loop.
 */
public final class Offload {
  private final int capacity;
  private final OffloadListener listener;

  /** By hash; the one that goes next comes first. */
  private final LinkedHashSet<Long> kept = new LinkedHashSet<>();

  /**
   * @param capacity blocks in all, at least 1
   */
  public Offload(int capacity, OffloadListener listener) {
    if (capacity < 1) {
      throw new IllegalArgumentException("capacity: " + capacity + " (expected: at least 1)");
    }
    this.capacity = capacity;
    this.listener = listener;
  }

  /** Keeps a block that leaves the device. */
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

  /** Whether a block is here; then it is needed, and goes last. */
  boolean find(long hash) {
    boolean here = kept.remove(hash);
    if (here) {
      kept.add(hash);
    }
    return here;
  }

  /**
   * Forgets everything.
   *
   * @param tell whether each block is told of
   */
  void clear(boolean tell) {
    if (tell) {
      kept.forEach(listener::dropped);
    }
    kept.clear();
  }
}
