package io.pointsman.engine.prefix;

import io.pointsman.engine.env.LargePages;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * Off-heap memory for the partitions of one {@link ClaimTable}. Small partitions use ordinary
 * pages. Large pages for a full-size partition are requested when a partition reaches half that
 * size. If they do not arrive in time, ordinary pages are used, because a decision is waiting.
 *
 * <p>Safe for use by several threads. The garbage collector frees a partition when it is
 * unreachable; partitions of one large allocation are freed together.
 */
final class PartitionMemory {
  private static final int CACHE_LINE = 64;
  private static final long SLAB_BYTES = 2 << 20;

  private final LargePages largePages;
  private final long fullBytes;
  private final int most;

  /** Unused full-size partitions in large pages. */
  private final Deque<MemorySegment> ready = new ArrayDeque<>();

  private int halves;
  private int fulls;
  private boolean looking;

  /**
   * @param fullBytes maximum size of a partition in bytes; a power of two, at most 2 MiB
   * @param most maximum number of partitions
   */
  PartitionMemory(LargePages largePages, long fullBytes, int most) {
    this.largePages = largePages;
    this.fullBytes = fullBytes;
    this.most = most;
  }

  /** Returns zeroed memory for a partition. */
  MemorySegment allocate(long bytes) {
    if (bytes == fullBytes) {
      MemorySegment large = takeReady();
      if (large != null) {
        return large;
      }
    } else if (bytes * 2 == fullBytes) {
      lookAhead();
    }
    return Arena.ofAuto().allocate(bytes, CACHE_LINE);
  }

  /** Takes back a partition that only the caller has seen. */
  synchronized void giveBack(MemorySegment partition) {
    if (partition.byteSize() == fullBytes) {
      fulls--;
      ready.add(partition.fill((byte) 0));
    }
  }

  private synchronized @Nullable MemorySegment takeReady() {
    fulls++;
    return ready.poll();
  }

  private void lookAhead() {
    synchronized (this) {
      halves++;
      if (!wanted()) {
        return;
      }
      looking = true;
    }
    largePages.find(SLAB_BYTES, this::found);
  }

  /** Returns true if more partitions will soon be full than there is memory for. */
  private boolean wanted() {
    return !looking && Math.min(halves, most) > fulls + ready.size();
  }

  private void found(MemorySegment slab) {
    synchronized (this) {
      looking = false;
      if (!wanted()) {
        return;
      }
      for (long at = 0; at < slab.byteSize(); at += fullBytes) {
        ready.add(slab.asSlice(at, fullBytes));
      }
      if (!wanted()) {
        return;
      }
      looking = true;
    }
    largePages.find(SLAB_BYTES, this::found);
  }
}
