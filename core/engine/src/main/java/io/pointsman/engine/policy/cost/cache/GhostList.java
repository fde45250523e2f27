package io.pointsman.engine.policy.cost.cache;

import io.pointsman.engine.prefix.Lengths;
import java.util.concurrent.atomic.AtomicLongArray;
import org.jspecify.annotations.Nullable;

/**
 * Blocks that workers do not hold any more, the latest of all workers, with how each was lost: by
 * them it is known what a larger cache would have been good for, and why a hit was lost. A table
 * without collision chains, so that a later block takes the place of an earlier one and the size
 * never changes. Any thread may add and ask.
 */
public final class GhostList {
  /** How a block was lost. */
  public enum Fate {
    /** The worker needed the room. */
    EVICTED,
    /** The worker started anew. */
    EMPTIED,
    /** The worker left. */
    LEFT
  }

  private static final int PLACES = 1 << 16;

  /** The lowest bits of a hash make room for the fate: 0 for an empty place, else one more. */
  private static final long FATE_BITS = 3;

  private static final Fate[] FATES = Fate.values();

  private final AtomicLongArray places = new AtomicLongArray(PLACES);

  @SuppressWarnings("EnumOrdinal") // nothing is stored beyond the process
  void add(long hash, Fate fate) {
    places.setOpaque(place(hash), (hash & ~FATE_BITS) | (fate.ordinal() + 1));
  }

  /**
   * Reads the places of what is about to be added, so that they are in the processor's caches by
   * then: reads of many are waited for together, writes one after the other.
   *
   * @return of no meaning, but for the reads to have a purpose
   */
  long touch(Iterable<? extends Lengths> soon) {
    long read = 0;
    for (Lengths lengths : soon) {
      for (long hash : lengths.hashes) {
        read += places.getOpaque(place(hash));
      }
    }
    return read;
  }

  /** How the block was lost last; null if it is not known to have been. */
  public @Nullable Fate fate(long hash) {
    long found = places.getOpaque(place(hash));
    int fate = (int) (found & FATE_BITS);
    return ((found ^ hash) & ~FATE_BITS) == 0 && fate != 0 ? FATES[fate - 1] : null;
  }

  private static int place(long hash) {
    return (int) (hash >>> 24) & (PLACES - 1);
  }

  static long bytes() {
    return (long) PLACES * Long.BYTES;
  }
}
