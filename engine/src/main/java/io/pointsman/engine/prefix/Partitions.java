package io.pointsman.engine.prefix;

import io.pointsman.engine.env.LargePages;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * The memory of a table, cut into partitions that start small and double on their own, each by a
 * short copy, so that an idle table takes little and no decision pays for a large one. What is
 * written to a partition while it is copied may be lost. Lock-free.
 *
 * <p>Partitions lie outside of the heap: in it, each collection would move what has grown since the
 * one before, which took 20 ms a second of a router that learned 1,000 new prompts in that time.
 */
final class Partitions {
  private static final long FIRST_BYTES = 1 << 10;
  private static final long MOST_BYTES = 1 << 16;
  private static final int LEAST_PARTITIONS = 16;

  /** Of the objects that stand for a partition. */
  private static final int OVERHEAD = 160 + Integer.BYTES;

  private static final VarHandle WORD = ValueLayout.JAVA_LONG.varHandle();

  private final AtomicReferenceArray<@Nullable MemorySegment> partitions;
  private final long fullBytes;
  private final Copying copying;
  private final PartitionMemory memory;
  private final LongAdder bytes = new LongAdder();

  /** How a table takes what still counts from a partition into one of twice the size. */
  interface Copying {
    /** Answers how many entries were left behind. */
    long copy(MemorySegment from, MemorySegment to);

    /** Hears that what was copied has come into use. */
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

  /** The partition of a hash, by its upper half; null if nothing was ever written there. */
  @Nullable MemorySegment find(long hash) {
    return partitions.getAcquire(place(hash));
  }

  /** The partition of a hash, made if need be. */
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

  /** The partition of a hash at twice its size, whoever doubled it. */
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

  /** Reads what makes other words count, ahead of them. */
  static long readAcquire(MemorySegment partition, int at) {
    return (long) WORD.getAcquire(partition, (long) at * Long.BYTES);
  }

  /** Writes what makes other words count, behind them. */
  static void publish(MemorySegment partition, int at, long value) {
    WORD.setRelease(partition, (long) at * Long.BYTES, value);
  }

  /** Writes a word if it is as it was; whether it was. */
  static boolean replace(MemorySegment partition, int at, long before, long after) {
    return WORD.compareAndSet(partition, (long) at * Long.BYTES, before, after);
  }

  long bytes() {
    return bytes.sum() + (long) partitions.length() * Integer.BYTES;
  }
}
