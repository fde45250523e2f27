package io.pointsman.engine.prefix;

import static io.pointsman.engine.prefix.Partitions.read;
import static io.pointsman.engine.prefix.Partitions.words;
import static io.pointsman.engine.prefix.Partitions.write;

import io.pointsman.engine.env.LargePages;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.LongAdder;

/**
 * A set-associative table of bounded size with claims: "this worker holds this block". Reads and
 * writes are wait-free, without locks or compare-and-set, except for growth.
 *
 * <p>An entry has two words. The upper half of {@code word} is the claim (an epoch, or a reference
 * to a holder bitmap), the lower half the time of last use. {@code key} is the block's hash
 * exclusive-or the upper half of {@code word}. Its lower half alone thus excludes most entries. Two
 * threads that write one entry at once can combine the key of one with the word of the other. Such
 * a pair matches no block, so it is never found and is overwritten later. This is the lockless hash
 * table of computer chess. Source: Hyatt and Mann, "A lock-less transposition-table implementation
 * for parallel search chess engines", ICGA 2002.
 *
 * <p>Eight entries form a bucket; the least recently used one is replaced.
 */
final class ClaimTable implements Partitions.Copying {
  static final int WAYS = 8;

  /** The results of a put. */
  static final int RENEWED = 0;

  static final int ADDED = 1;
  static final int REPLACED = 2;
  static final int SHARED = 3;

  /** The flag in the result of {@link #clear} for a removed claim; above any reference. */
  static final int CLEARED = 1 << 16;

  private static final int BUCKET = 2 * WAYS;
  private static final long CLAIM = 0xFFFF_FFFF_0000_0000L;

  private final Partitions partitions;
  private final SlotEpochs epochs;
  private final LongAdder entries = new LongAdder();
  private final LongAdder evictions = new LongAdder();
  private volatile boolean evicting;

  ClaimTable(long maxBytes, SlotEpochs epochs, LargePages largePages) {
    this.epochs = epochs;
    partitions = new Partitions(maxBytes, largePages, this);
  }

  /** Returns true if entries in use have been replaced, so chains may have holes. */
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
    return partitions.bytes();
  }

  /**
   * Finds the first entry for {@code hash} in ways {@code from} and above.
   *
   * @return its way in the lower half, its claim in the upper half; -1 if there is none
   */
  long find(long hash, int from) {
    MemorySegment partition = partitions.find(hash);
    if (partition == null) {
      return -1;
    }
    int bucket = bucket(hash, partition);
    for (int way = from; way < WAYS; way++) {
      long key = read(partition, bucket + 2 * way);
      if ((int) key == (int) hash) {
        long claim = read(partition, bucket + 2 * way + 1) & CLAIM;
        if ((key ^ claim) == hash && claim != 0) {
          return claim | way;
        }
      }
    }
    return -1;
  }

  /**
   * Collects all claims on a block in one scan.
   *
   * @param into receives at most {@link #WAYS} claims
   * @return their number
   */
  int claims(long hash, int[] into) {
    MemorySegment partition = partitions.find(hash);
    if (partition == null) {
      return 0;
    }
    int bucket = bucket(hash, partition);
    int count = 0;
    for (int at = bucket; at < bucket + BUCKET; at += 2) {
      long key = read(partition, at);
      if ((int) key == (int) hash) {
        long claim = read(partition, at + 1) & CLAIM;
        if ((key ^ claim) == hash && claim != 0) {
          into[count++] = (int) (claim >>> 32);
        }
      }
    }
    return count;
  }

  static int claimOf(long found) {
    return (int) (found >>> 32);
  }

  static int wayOf(long found) {
    return (int) found;
  }

  /** Returns true if the claim exists and was last used at {@code oldest} or later. */
  boolean usedSince(long hash, int claim, int oldest) {
    MemorySegment partition = partitions.find(hash);
    if (partition == null) {
      return false;
    }
    int at = own(hash, claim, partition);
    return at >= 0 && (int) read(partition, at + 1) - oldest >= 0;
  }

  private static int own(long hash, int claim, MemorySegment partition) {
    int bucket = bucket(hash, partition);
    for (int at = bucket; at < bucket + BUCKET; at += 2) {
      long word = read(partition, at + 1);
      if ((int) (word >>> 32) == claim && read(partition, at) == (hash ^ (word & CLAIM))) {
        return at;
      }
    }
    return -1;
  }

  /**
   * Adds or renews a claim if the block has no other, in one scan. Most blocks have one claim.
   *
   * @param stamp current time; stamps are compared by signed difference
   * @return the result, for {@link #counted}; {@link #SHARED}, without a change, if only other
   *     claims on the block exist
   */
  int putAlone(long hash, int claim, int stamp) {
    MemorySegment partition = partitions.get(hash);
    int bucket = bucket(hash, partition);
    long best = Long.MIN_VALUE;
    boolean shared = false;
    for (int at = bucket; at < bucket + BUCKET; at += 2) {
      long word = read(partition, at + 1);
      if ((read(partition, at) ^ (word & CLAIM)) == hash && word != 0) {
        if ((int) (word >>> 32) == claim) {
          write(partition, at + 1, word(claim, stamp));
          return RENEWED;
        }
        shared = true;
      }
      best = Math.max(best, uselessness(word, stamp) | at);
    }
    return shared ? SHARED : place(partition, (int) best, hash, word(claim, stamp));
  }

  /** Adds or renews a claim, independent of other claims on the block. */
  int put(long hash, int claim, int stamp) {
    MemorySegment partition = partitions.get(hash);
    int at = own(hash, claim, partition);
    if (at >= 0) {
      write(partition, at + 1, word(claim, stamp));
      return RENEWED;
    }
    return place(partition, leastUseful(hash, stamp, partition), hash, word(claim, stamp));
  }

  /**
   * Uselessness of an entry in the upper half: the maximum if it is empty, else its age. A single
   * number lets the search for the maximum avoid mispredicted branches.
   */
  private static long uselessness(long word, int stamp) {
    return word == 0 ? (long) Integer.MAX_VALUE << 32 : (long) (stamp - (int) word) << 32;
  }

  private static int leastUseful(long hash, int stamp, MemorySegment partition) {
    int bucket = bucket(hash, partition);
    long best = Long.MIN_VALUE;
    for (int at = bucket; at < bucket + BUCKET; at += 2) {
      best = Math.max(best, uselessness(read(partition, at + 1), stamp) | at);
    }
    return (int) best;
  }

  /** Writes the entry {@code at}. If it is in use, grows the partition first where possible. */
  private int place(MemorySegment partition, int at, long hash, long word) {
    MemorySegment target = partition;
    int entry = at;
    while (read(target, entry + 1) != 0 && partitions.canGrow(target)) {
      target = partitions.grow(hash, target);
      entry = leastUseful(hash, (int) word, target);
    }
    boolean empty = read(target, entry + 1) == 0;
    if (!empty && !evicting) {
      evicting = true;
    }
    write(target, entry, hash ^ (word & CLAIM));
    write(target, entry + 1, word);
    return empty ? ADDED : REPLACED;
  }

  /**
   * Counts the results of puts. Separate from the puts, because a counter update for each would
   * prevent overlapping cache misses.
   */
  void counted(int added, int replaced) {
    if (added != 0) {
      entries.add(added);
    }
    if (replaced != 0) {
      evictions.add(replaced);
    }
  }

  private static long word(int claim, int stamp) {
    return (long) claim << 32 | (stamp & 0xFFFF_FFFFL);
  }

  /**
   * Removes a claim in one scan, which also finds a holder bitmap.
   *
   * @return {@link #CLEARED} if the claim existed; the caller then counts -1 added. The lower bits
   *     contain the reference to a holder bitmap among the block's claims, or 0.
   */
  int clear(long hash, int claim) {
    MemorySegment partition = partitions.find(hash);
    if (partition == null) {
      return 0;
    }
    int cleared = 0;
    int reference = 0;
    int bucket = bucket(hash, partition);
    for (int at = bucket; at < bucket + BUCKET; at += 2) {
      long word = read(partition, at + 1);
      int found = (int) (word >>> 32);
      boolean own = found == claim;
      if ((own || (found != 0 && HolderBitmaps.isReference(found)))
          && read(partition, at) == (hash ^ (word & CLAIM))) {
        if (own) {
          write(partition, at + 1, 0L);
          write(partition, at, 0L);
          cleared = CLEARED;
        } else {
          reference = found;
        }
      }
    }
    return cleared | reference;
  }

  private static int bucket(long hash, MemorySegment partition) {
    return ((int) hash * BUCKET) & (words(partition) - 1);
  }

  @Override
  public long copy(MemorySegment from, MemorySegment to) {
    long dropped = 0;
    for (int at = 0; at < words(from); at += 2) {
      long word = read(from, at + 1);
      long key = read(from, at);
      int claim = (int) (word >>> 32);
      boolean counts = HolderBitmaps.isReference(claim) ? claim != 0 : epochs.present(claim);
      if (counts && place(key, word, to)) {
        continue;
      }
      dropped += word == 0 ? 0 : 1;
    }
    return dropped;
  }

  @Override
  public void dropped(long left) {
    entries.add(-left);
  }

  private static boolean place(long key, long word, MemorySegment to) {
    int bucket = bucket(key ^ (word & CLAIM), to);
    for (int at = bucket; at < bucket + BUCKET; at += 2) {
      if (read(to, at + 1) == 0) {
        write(to, at, key);
        write(to, at + 1, word);
        return true;
      }
    }
    return false;
  }
}
