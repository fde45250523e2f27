package io.pointsman.engine.prefix;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * A set-associative table of claims "this worker holds this block", of bounded size. Reads and
 * writes are wait-free and use neither locks nor compare-and-set, but for growth.
 *
 * <p>An entry is two words: {@code word} has the claim (a tenancy, or a reference to a crowd) in
 * its upper half and the time of last use in its lower half; {@code key} is the block's hash
 * exclusive-or the upper half of {@code word}. Two threads that write one entry at once can leave
 * the key of one with the word of the other. Such a pair stands for no block at all, so it is never
 * found and is overwritten in time: what is read is either what somebody wrote or nothing (the
 * lockless hash table of computer chess: Hyatt and Mann, "A lock-less transposition-table
 * implementation for parallel search chess engines", ICGA 2002).
 *
 * <p>Eight entries make a bucket, in which the one used least lately is replaced. The table is cut
 * into partitions that start small and double on their own, each by a short copy, so that an idle
 * index takes little memory and no decision pays for a large one. Claims made in a partition while
 * it is copied may be lost.
 */
final class ClaimTable {
  static final int WAYS = 8;

  /** What became of a put. */
  static final int RENEWED = 0;

  static final int ADDED = 1;
  static final int REPLACED = 2;
  static final int SHARED = 3;

  private static final int BUCKET = 2 * WAYS;
  private static final int FIRST_LENGTH = 8 * BUCKET;
  private static final int MOST_LENGTH = 512 * BUCKET;
  private static final int LEAST_PARTITIONS = 16;
  private static final int ARRAY_OVERHEAD = 16 + Integer.BYTES;
  private static final long CLAIM = 0xFFFF_FFFF_0000_0000L;
  private static final VarHandle WORD = MethodHandles.arrayElementVarHandle(long[].class);

  private final AtomicReferenceArray<long @Nullable []> partitions;
  private final int mostLength;
  private final Tenancies tenancies;
  private final LongAdder entries = new LongAdder();
  private final LongAdder evictions = new LongAdder();
  private final LongAdder bytes = new LongAdder();
  private volatile boolean evicting;

  ClaimTable(long maxBytes, Tenancies tenancies) {
    this.tenancies = tenancies;
    int length = MOST_LENGTH;
    while (length > FIRST_LENGTH && maxBytes / partitionBytes(length) < LEAST_PARTITIONS) {
      length /= 2;
    }
    mostLength = length;
    long count = Math.max(1, maxBytes / partitionBytes(length));
    partitions = new AtomicReferenceArray<>((int) Math.min(count, 1 << 24));
  }

  private static long partitionBytes(int length) {
    return (long) length * Long.BYTES + ARRAY_OVERHEAD;
  }

  /** Whether entries in use have been replaced, so that chains may have holes. */
  boolean evicting() {
    return evicting;
  }

  long entries() {
    return entries.sum();
  }

  long evictions() {
    return evictions.sum();
  }

  long bytes() {
    return bytes.sum() + (long) partitions.length() * Integer.BYTES;
  }

  /**
   * The first entry for {@code hash} in ways {@code from} and above.
   *
   * @return its way in the lower half, its claim in the upper half; -1 if there is none
   */
  long find(long hash, int from) {
    long[] partition = partitions.getAcquire(place(hash));
    if (partition == null) {
      return -1;
    }
    int bucket = bucket(hash, partition);
    for (int way = from; way < WAYS; way++) {
      long word = (long) WORD.getOpaque(partition, bucket + 2 * way + 1);
      long key = (long) WORD.getOpaque(partition, bucket + 2 * way);
      if ((key ^ (word & CLAIM)) == hash && (word & CLAIM) != 0) {
        return (word & CLAIM) | way;
      }
    }
    return -1;
  }

  static int claimOf(long found) {
    return (int) (found >>> 32);
  }

  static int wayOf(long found) {
    return (int) found;
  }

  /** Whether there is such a claim, last used at {@code oldest} or later. */
  boolean usedSince(long hash, int claim, int oldest) {
    long[] partition = partitions.getAcquire(place(hash));
    if (partition == null) {
      return false;
    }
    int at = own(hash, claim, partition);
    return at >= 0 && (int) (long) WORD.getOpaque(partition, at + 1) - oldest >= 0;
  }

  private static int own(long hash, int claim, long[] partition) {
    int bucket = bucket(hash, partition);
    for (int at = bucket; at < bucket + BUCKET; at += 2) {
      long word = (long) WORD.getOpaque(partition, at + 1);
      if ((int) (word >>> 32) == claim
          && (long) WORD.getOpaque(partition, at) == (hash ^ (word & CLAIM))) {
        return at;
      }
    }
    return -1;
  }

  /**
   * Enters or renews a claim on a block that has no other; one scan, for the many blocks that are
   * held once.
   *
   * @param stamp present time; of two stamps the one that is less by signed difference is older
   * @return what became of it, to be {@link #counted}; {@link #SHARED}, with nothing done, if there
   *     are other claims on the block and not this one
   */
  int putAlone(long hash, int claim, int stamp) {
    long[] partition = partition(place(hash));
    int bucket = bucket(hash, partition);
    long best = Long.MIN_VALUE;
    boolean shared = false;
    for (int at = bucket; at < bucket + BUCKET; at += 2) {
      long word = (long) WORD.getOpaque(partition, at + 1);
      if (((long) WORD.getOpaque(partition, at) ^ (word & CLAIM)) == hash && word != 0) {
        if ((int) (word >>> 32) == claim) {
          WORD.setOpaque(partition, at + 1, word(claim, stamp));
          return RENEWED;
        }
        shared = true;
      }
      best = Math.max(best, uselessness(word, stamp) | at);
    }
    return shared ? SHARED : place(partition, (int) best, hash, word(claim, stamp));
  }

  /** Enters or renews a claim, whatever other claims there are on the block. */
  int put(long hash, int claim, int stamp) {
    long[] partition = partition(place(hash));
    int at = own(hash, claim, partition);
    if (at >= 0) {
      WORD.setOpaque(partition, at + 1, word(claim, stamp));
      return RENEWED;
    }
    return place(partition, leastUseful(hash, stamp, partition), hash, word(claim, stamp));
  }

  /**
   * How little an entry is worth, in the upper half: most when it is empty, else by its age. One
   * number, so that the least useful of a bucket is found without a branch to mispredict.
   */
  private static long uselessness(long word, int stamp) {
    return word == 0 ? (long) Integer.MAX_VALUE << 32 : (long) (stamp - (int) word) << 32;
  }

  private static int leastUseful(long hash, int stamp, long[] partition) {
    int bucket = bucket(hash, partition);
    long best = Long.MIN_VALUE;
    for (int at = bucket; at < bucket + BUCKET; at += 2) {
      best = Math.max(best, uselessness((long) WORD.getOpaque(partition, at + 1), stamp) | at);
    }
    return (int) best;
  }

  /** Writes the entry {@code at}, in a bigger partition if it is in use and growth is possible. */
  private int place(long[] partition, int at, long hash, long word) {
    long[] target = partition;
    int entry = at;
    while ((long) WORD.getOpaque(target, entry + 1) != 0 && target.length < mostLength) {
      target = grow(place(hash), target);
      entry = leastUseful(hash, (int) word, target);
    }
    boolean empty = (long) WORD.getOpaque(target, entry + 1) == 0;
    if (!empty && !evicting) {
      evicting = true;
    }
    WORD.setOpaque(target, entry, hash ^ (word & CLAIM));
    WORD.setOpaque(target, entry + 1, word);
    return empty ? ADDED : REPLACED;
  }

  /**
   * Counts what puts have answered; apart from them, because counting for each would keep the
   * processor from overlapping their cache misses.
   */
  void counted(int added, int replaced) {
    if (added != 0) {
      entries.add(added);
    }
    if (replaced != 0) {
      evictions.add(replaced);
    }
  }

  /** Brings the bucket of {@code hash} near; the answer means nothing. */
  long touch(long hash) {
    long[] partition = partitions.getAcquire(place(hash));
    if (partition == null) {
      return 0;
    }
    int bucket = bucket(hash, partition);
    return (long) WORD.getOpaque(partition, bucket)
        + (long) WORD.getOpaque(partition, bucket + BUCKET - 1);
  }

  private static long word(int claim, int stamp) {
    return (long) claim << 32 | (stamp & 0xFFFF_FFFFL);
  }

  /** Takes a claim out. */
  void clear(long hash, int claim) {
    long[] partition = partitions.getAcquire(place(hash));
    int at = partition == null ? -1 : own(hash, claim, partition);
    if (at >= 0) {
      WORD.setOpaque(partition, at + 1, 0L);
      WORD.setOpaque(partition, at, 0L);
      entries.decrement();
    }
  }

  private int place(long hash) {
    return (int) (((hash >>> 32) * partitions.length()) >>> 32);
  }

  private static int bucket(long hash, long[] partition) {
    return ((int) hash * BUCKET) & (partition.length - 1);
  }

  private long[] partition(int place) {
    long[] partition = partitions.getAcquire(place);
    if (partition != null) {
      return partition;
    }
    long[] first = new long[FIRST_LENGTH];
    long[] winner = partitions.compareAndExchange(place, null, first);
    if (winner != null) {
      return winner;
    }
    bytes.add(partitionBytes(FIRST_LENGTH) - Integer.BYTES);
    return first;
  }

  /** The partition at twice its size, whoever doubled it. */
  private long[] grow(int place, long[] partition) {
    long[] bigger = new long[partition.length * 2];
    long dropped = copy(partition, bigger);
    if (partitions.compareAndSet(place, partition, bigger)) {
      entries.add(-dropped);
      bytes.add((long) partition.length * Long.BYTES);
    }
    return partition(place);
  }

  /** Copies what still counts; answers how many entries were left behind. */
  private long copy(long[] from, long[] to) {
    long dropped = 0;
    for (int at = 0; at < from.length; at += 2) {
      long word = (long) WORD.getOpaque(from, at + 1);
      long key = (long) WORD.getOpaque(from, at);
      int claim = (int) (word >>> 32);
      boolean counts = Crowds.isReference(claim) ? claim != 0 : tenancies.present(claim);
      if (counts && place(key, word, to)) {
        continue;
      }
      dropped += word == 0 ? 0 : 1;
    }
    return dropped;
  }

  private static boolean place(long key, long word, long[] to) {
    int bucket = bucket(key ^ (word & CLAIM), to);
    for (int at = bucket; at < bucket + BUCKET; at += 2) {
      if (to[at + 1] == 0) {
        to[at] = key;
        to[at + 1] = word;
        return true;
      }
    }
    return false;
  }
}
