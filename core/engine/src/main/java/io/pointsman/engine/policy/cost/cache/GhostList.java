package io.pointsman.engine.policy.cost.cache;

import io.pointsman.engine.prefix.IndexedLengths;
import io.pointsman.engine.prefix.Lengths;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.concurrent.atomic.AtomicLongArray;
import org.jspecify.annotations.Nullable;

/**
 * The blocks that workers lost recently, with the reason. They show the reason of a cache miss. A
 * table of fixed size without collision chains: a later block replaces an earlier one. Any thread.
 */
public final class GhostList {
  /** The reason of a loss. */
  public enum Fate {
    /** The worker needed the memory. */
    EVICTED,
    /** The engine restarted. */
    EMPTIED,
    /** The worker left the fleet. */
    LEFT
  }

  private static final int PLACES = 1 << 16;

  /** The lowest bits of a hash contain the reason plus one; 0 is an empty entry. */
  private static final long FATE_BITS = 3;

  private static final Fate[] FATES = Fate.values();

  private final AtomicLongArray places = new AtomicLongArray(PLACES);

  @SuppressWarnings("EnumOrdinal") // nothing is stored beyond the process
  void add(long hash, Fate fate) {
    places.setOpaque(place(hash), (hash & ~FATE_BITS) | (fate.ordinal() + 1));
  }

  /**
   * Reads the entries of blocks that will be added. The reads of many overlap, unlike writes.
   *
   * @return any value computed from the entries; it makes the compiler keep the reads
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

  /** Returns the last reason of a block's loss; null if none is known. */
  public @Nullable Fate fate(long hash) {
    long found = places.getOpaque(place(hash));
    int fate = (int) (found & FATE_BITS);
    return ((found ^ hash) & ~FATE_BITS) == 0 && fate != 0 ? FATES[fate - 1] : null;
  }

  /** Returns the end of the lost part of a prompt that follows block {@code from}, in blocks. */
  public int lostUpTo(PrefixBlocks prefix, int from) {
    int ends = CacheModel.ends(prefix);
    int known = from;
    for (int i = from == 0 ? 0 : IndexedLengths.upTo(from); i < ends; i++) {
      int end = CacheModel.end(prefix, i, ends);
      if (fate(prefix.hashes()[end - 1]) == null) {
        return known;
      }
      known = end;
    }
    return known;
  }

  /** Returns the reason of the loss of the part that follows block {@code from}; null if none. */
  public @Nullable Fate fateAfter(PrefixBlocks prefix, int from) {
    int ends = CacheModel.ends(prefix);
    int at = from == 0 ? 0 : Math.min(IndexedLengths.upTo(from), ends - 1);
    return fate(CacheModel.hash(prefix, at, ends));
  }

  private static int place(long hash) {
    return (int) (hash >>> 24) & (PLACES - 1);
  }

  static long bytes() {
    return (long) PLACES * Long.BYTES;
  }
}
