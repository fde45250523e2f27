package io.pointsman.engine.prefix;

import io.pointsman.engine.env.LargePages;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * The memory of a table in partitions that start small and double independently, each by a short
 * copy. An idle table thus takes little memory, and no decision waits for a large copy. Writes to a
 * partition during its copy may be lost. Lock-free.
 *
 * <p>Partitions are off-heap. On the heap, each collection would move the growth since the previous
 * one. That took 20 ms per second in a router that learned 1,000 new prompts per second.
 */
final class Partitions {
  private static final long FIRST_BYTES = 1 << 10;
  private static final long MOST_BYTES = 1 << 16;
  private static final int LEAST_PARTITIONS = 16;

  /** Bytes of the objects that represent a partition. */
  private static final int OVERHEAD = 160 + Integer.BYTES;

  private static final VarHandle WORD = ValueLayout.JAVA_LONG.varHandle();

  private final AtomicReferenceArray<@Nullable MemorySegment> partitions;
  private final long fullBytes;
  private final Copying copying;
  private final PartitionMemory memory;
  private final LongAdder bytes = new LongAdder();

  /** Copies the valid entries of a partition into one of twice the size. */
  interface Copying {
    /** Returns the number of entries not copied. */
    long copy(MemorySegment from, MemorySegment to);

    /** Is called when the copy has been published. */
    void dropped(long entries);
  }

  Partitions(long maxBytes, LargePages largePages, Copying copying) {
    this.copying = copying;
    long full = MOST_BYTES;
    while (full > FIRST_BYTES && maxBytes / (full + OVERHEAD) < LEAST_PARTITIONS) {
      full /= 2;
    }
    fullBytes = full;
    long count = Math.max(1, maxBytes / (full + OVERHEAD));
    partitions = new AtomicReferenceArray<>((int) Math.min(count, 1 << 24));
    memory = new PartitionMemory(largePages, full, partitions.length());
  }

  /** Returns the partition of a hash, by its upper half; null if nothing was written there yet. */
  @Nullable MemorySegment find(long hash) {
    return partitions.getAcquire(place(hash));
  }

  /** Returns the partition of a hash, and creates it if necessary. */
  MemorySegment get(long hash) {
    MemorySegment partition = find(hash);
    return partition == null ? first(hash) : partition;
  }

  private MemorySegment first(long hash) {
    MemorySegment first = memory.allocate(FIRST_BYTES);
    MemorySegment winner = partitions.compareAndExchange(place(hash), null, first);
    if (winner != null) {
      return winner;
    }
    bytes.add(FIRST_BYTES + OVERHEAD - Integer.BYTES);
    return first;
  }

  boolean canGrow(MemorySegment partition) {
    return partition.byteSize() < fullBytes;
  }

  /** Returns the partition of a hash after it was doubled, by this or another thread. */
  MemorySegment grow(long hash, MemorySegment partition) {
    MemorySegment bigger = memory.allocate(2 * partition.byteSize());
    long dropped = copying.copy(partition, bigger);
    if (partitions.compareAndSet(place(hash), partition, bigger)) {
      copying.dropped(dropped);
      bytes.add(partition.byteSize());
    } else {
      memory.giveBack(bigger);
    }
    return get(hash);
  }

  private int place(long hash) {
    return (int) (((hash >>> 32) * partitions.length()) >>> 32);
  }

  static int words(MemorySegment partition) {
    return (int) (partition.byteSize() / Long.BYTES);
  }

  static long read(MemorySegment partition, int at) {
    return (long) WORD.getOpaque(partition, (long) at * Long.BYTES);
  }

  static void write(MemorySegment partition, int at, long value) {
    WORD.setOpaque(partition, (long) at * Long.BYTES, value);
  }

  /** Reads a word that validates others, before them. */
  static long readAcquire(MemorySegment partition, int at) {
    return (long) WORD.getAcquire(partition, (long) at * Long.BYTES);
  }

  /** Writes a word that validates others, after them. */
  static void publish(MemorySegment partition, int at, long value) {
    WORD.setRelease(partition, (long) at * Long.BYTES, value);
  }

  /** Writes a word if it is unchanged; returns true if it was. */
  static boolean replace(MemorySegment partition, int at, long before, long after) {
    return WORD.compareAndSet(partition, (long) at * Long.BYTES, before, after);
  }

  long bytes() {
    return bytes.sum() + (long) partitions.length() * Integer.BYTES;
  }
}
