package io.pointsman.engine.policy.cost.cache;

import io.pointsman.engine.policy.Insight;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The memory of the models of all workers' caches, taken in portions. While there is much of it a
 * worker takes what it needs. The last of it is for those that have less than their share, an equal
 * part of all the rest, and when they take of it whoever has more gives some back ({@link
 * Part#owed()}). So a worker that joins when all is in use gets its share. Any thread.
 */
public final class CacheMemory {
  /** Bytes are taken and given back in such portions. */
  public static final int PORTION_BYTES = 4096;

  /** What is given back in one go: enough for dozens of prompts, and evicted in microseconds. */
  public static final int GIVEN_BYTES = 4 * PORTION_BYTES;

  private static final int MOST_RESERVED_BYTES = 16 * PORTION_BYTES;
  private static final int RESERVED_PART = 16;

  private final long bytes;
  private final long reserved;
  private final AtomicLong left;
  private final AtomicInteger workers = new AtomicInteger();

  /** What one worker has of it. Guarded by its worker's lock, but for {@link #bytes()}. */
  public final class Part {
    private final AtomicLong taken = new AtomicLong();

    /** Whether it has less than its share and needed more when there was hardly any left. */
    private volatile boolean wants;

    /** Bytes that it has. */
    public long bytes() {
      return taken.get();
    }

    /**
     * Takes as many portions as {@code bytes} need.
     *
     * @return bytes taken; 0 if there are not as many left for it
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

    /** Whether others should give back for it what they have beyond their share. */
    public boolean wants() {
      return wants;
    }

    /** They have been asked to. */
    public void asked() {
      wants = false;
    }

    /** Bytes that it is to give back when others want them. */
    long owed() {
      return Math.clamp(taken.get() - share(), 0L, GIVEN_BYTES);
    }

    /** Its worker has left; nothing of it is taken. */
    void close() {
      workers.decrementAndGet();
    }
  }

  /**
   * @param bytes of all workers together
   */
  public CacheMemory(long bytes) {
    this.bytes = bytes;
    reserved = Math.clamp(bytes / RESERVED_PART, PORTION_BYTES, MOST_RESERVED_BYTES);
    left = new AtomicLong(bytes);
  }

  /** The part of a worker that joins. */
  Part join() {
    workers.incrementAndGet();
    return new Part();
  }

  /** What is taken of it; as it is given in portions, the last of it may never be. */
  public Insight.Memory use() {
    return new Insight.Memory(bytes - left.get(), bytes);
  }

  /** Bytes that nobody has taken. */
  public long left() {
    return left.get();
  }

  /** In whole portions, so that those who have it do not ask for the rest again and again. */
  private long share() {
    long all = bytes - reserved;
    return Math.max(1, all / Math.max(1, workers.get()) / PORTION_BYTES) * PORTION_BYTES;
  }
}
