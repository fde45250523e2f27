package io.pointsman.engine.policy.cost.cache;

import io.pointsman.engine.policy.Insight;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The memory of all cache models, allocated in portions. While much is free, a worker takes as much
 * as it needs. The last part is reserved for workers below their share, which is an equal part of
 * the rest. If they use the reserve, workers above their share must give some back ({@link
 * Part#owed()}). So a worker that joins late gets its share. Any thread.
 */
public final class CacheMemory {
  /** Size of a portion in bytes. */
  public static final int PORTION_BYTES = 4096;

  /** Bytes given back at once: enough for dozens of prompts, evicted in microseconds. */
  public static final int GIVEN_BYTES = 4 * PORTION_BYTES;

  private static final int MOST_RESERVED_BYTES = 16 * PORTION_BYTES;
  private static final int RESERVED_PART = 16;

  private final long bytes;
  private final long reserved;
  private final AtomicLong left;
  private final AtomicInteger workers = new AtomicInteger();

  /** The memory of one worker. Guarded by its worker's lock, except {@link #bytes()}. */
  public final class Part {
    private final AtomicLong taken = new AtomicLong();

    /** True if it is below its share and took from the reserve, or found it empty. */
    private volatile boolean wants;

    /** Returns its size in bytes. */
    public long bytes() {
      return taken.get();
    }

    /**
     * Takes enough portions for {@code bytes}.
     *
     * @return bytes taken; 0 if too few are left for this worker
     */
    long take(long bytes) {
      long portions = Math.ceilDiv(bytes, PORTION_BYTES) * PORTION_BYTES;
      boolean modest = taken.get() + portions <= share();
      long rest = left.addAndGet(-portions);
      wants = modest && rest < reserved;
      if (rest < (modest ? 0 : reserved)) {
        left.addAndGet(portions);
        return 0;
      }
      taken.addAndGet(portions);
      return portions;
    }

    /** Gives portions back. */
    void give(long portions) {
      taken.addAndGet(-portions);
      left.addAndGet(portions);
    }

    /** Returns true if workers above their share should give memory back for this one. */
    public boolean wants() {
      return wants;
    }

    /** Records that they were asked. */
    public void asked() {
      wants = false;
    }

    /** Returns the bytes that this worker must give back if another one needs them. */
    long owed() {
      return Math.clamp(taken.get() - share(), 0L, GIVEN_BYTES);
    }

    /** Ends this part, because the worker has left. All its memory must be given back before. */
    void close() {
      workers.decrementAndGet();
    }
  }

  /**
   * @param bytes memory of all workers together
   */
  public CacheMemory(long bytes) {
    this.bytes = bytes;
    reserved = Math.clamp(bytes / RESERVED_PART, PORTION_BYTES, MOST_RESERVED_BYTES);
    left = new AtomicLong(bytes);
  }

  /** Creates the part of a new worker. */
  Part join() {
    workers.incrementAndGet();
    return new Part();
  }

  /** Returns the used memory. It may never reach the maximum, because portions are whole. */
  public Insight.Memory use() {
    return new Insight.Memory(bytes - left.get(), bytes);
  }

  /** Returns the number of free bytes. */
  public long left() {
    return left.get();
  }

  /**
   * Returns the share in whole portions, so a worker at its share does not ask repeatedly for the
   * rest.
   */
  private long share() {
    long all = bytes - reserved;
    return Math.max(1, all / Math.max(1, workers.get()) / PORTION_BYTES) * PORTION_BYTES;
  }
}
