package io.pointsman.engine.prefix;

import io.pointsman.engine.env.LargePages;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * An index of the workers expected to hold each prefix. For each indexed prefix length of each
 * placed prompt (see {@link IndexedLengths}) it stores the slots of its workers.
 *
 * <p>Eight consecutive lengths cached by one worker alone are stored together ({@link RunTable}),
 * so an unknown prompt touches few cache lines. Lengths with several holders, and lengths of
 * prompts that diverge within such a group, are stored individually ({@link BlockIndex}).
 *
 * <p>Safe for any number of threads. Reads are lock-free and never wait. Colliding writes may be
 * lost, but not mixed up. A worker is found only for a prefix that was added for it and not
 * forgotten since.
 *
 * <p>Memory is bounded. In each bucket the least recently used entry is evicted first, so a chain
 * may have holes. A match may then be too short, but never too long. A block's hash covers
 * everything before it, so a deep block that is present proves all blocks above it.
 */
public final class PrefixIndex {
  /** The result of {@link #holder} if there is no further worker. */
  public static final int NOBODY = BlockIndex.NOBODY;

  /** Divisor of the total bytes that gives the share for runs. */
  private static final int RUN_SHARE = 2;

  /** Minimum length of a run; shorter ones would take more memory than individual entries. */
  private static final int LEAST_RUN = 3;

  /** The location of a prefix: none, in a worker's run, or an individual entry. */
  private static final int NOWHERE = 0;

  private static final int IN_RUN = 1;
  private static final int BY_ITSELF = 2;

  /** The cursor value after all ways of a bucket. */
  private static final int RUN_WAY = ClaimTable.WAYS;

  private static final int DISSOLVING = 16;

  private final long maxBytes;
  private final SlotEpochs epochs;
  private final RunTable runs;
  private final BlockIndex blocks;

  /** Locks, selected by the head of a group. */
  private final Object[] dissolving = new Object[DISSOLVING];

  /**
   * @param maxBytes maximum memory in bytes; at least 64 KiB
   * @param slots number of worker slots, 1 to 65,536; higher slots have no claims
   */
  public PrefixIndex(long maxBytes, int slots) {
    this(maxBytes, slots, LargePages.NONE);
  }

  /**
   * @param maxBytes maximum memory in bytes; at least 64 KiB
   * @param slots number of worker slots, 1 to 65,536; higher slots have no claims
   * @param largePages for large partitions, if available
   */
  public PrefixIndex(long maxBytes, int slots, LargePages largePages) {
    this.maxBytes = BlockIndex.checked(maxBytes);
    epochs = new SlotEpochs(slots);
    long runBytes = maxBytes / RUN_SHARE;
    runs = new RunTable(runBytes, epochs, largePages);
    blocks =
        new BlockIndex(maxBytes - runBytes, maxBytes / BlockIndex.BITMAP_SHARE, epochs, largePages);
    Arrays.setAll(dissolving, _ -> new Object());
  }

  /**
   * Returns the length in blocks of the longest indexed prefix that any worker holds; 0 if none.
   * Checks the whole prompt, then uses a binary search: ten checks for 256 blocks. After evictions
   * it uses twice as many, because a miss then counts only if the next longer prefix is missing
   * too.
   */
  public int match(PrefixBlocks prefix) {
    int count = prefix.count();
    if (count == 0 || contains(prefix, count)) {
      return count;
    }
    int end = IndexedLengths.upTo(count - 1);
    int first = end > 0 ? likely(prefix, 0, end, IN_RUN) : NOWHERE;
    int found = first == NOWHERE ? -1 : halve(prefix, end, first);
    if (found < 0 && !evicting()) {
      return 0;
    }
    while (found + 1 < end && contains(prefix, IndexedLengths.blocks(found + 1))) {
      found++;
    }
    while (found >= 0 && !contains(prefix, IndexedLengths.blocks(found))) {
      found--;
    }
    return found < 0 ? 0 : IndexedLengths.blocks(found);
  }

  /** Binary search. Each check starts at the location of the last hit. */
  private int halve(PrefixBlocks prefix, int end, int first) {
    int low = 0;
    int high = end;
    int last = first;
    while (high - low > 1) {
      int middle = (low + high) >>> 1;
      int where = likely(prefix, middle, end, last);
      if (where == NOWHERE) {
        high = middle;
      } else {
        low = middle;
        last = where;
      }
    }
    return low;
  }

  /** Returns the location of the milestone, or of the next one, which implies it. */
  private int likely(PrefixBlocks prefix, int milestone, int end, int before) {
    int where = where(prefix, IndexedLengths.blocks(milestone), before);
    return where == NOWHERE && evicting() && milestone + 1 < end
        ? where(prefix, IndexedLengths.blocks(milestone + 1), before)
        : where;
  }

  /**
   * Returns the location of a prefix.
   *
   * @param before the location to check first
   */
  private int where(PrefixBlocks prefix, int length, int before) {
    long hash = prefix.hashes()[length - 1];
    if (before == BY_ITSELF && blocks.contains(hash)) {
      return BY_ITSELF;
    }
    if (runHolder(prefix, length) != 0) {
      return IN_RUN;
    }
    return before != BY_ITSELF && blocks.contains(hash) ? BY_ITSELF : NOWHERE;
  }

  /** Returns the longest indexed length below {@code blocks}; 0 if there is none. */
  public static int shorter(int blocks) {
    int below = IndexedLengths.upTo(blocks - 1);
    return below == 0 ? 0 : IndexedLengths.blocks(below - 1);
  }

  /** Returns true if any worker holds the first {@code length} blocks of a prompt. */
  boolean contains(PrefixBlocks prefix, int length) {
    return runHolder(prefix, length) != 0 || blocks.contains(prefix.hashes()[length - 1]);
  }

  /** Returns the claim of the only worker that holds a prefix in a run; 0 if there is none. */
  private int runHolder(PrefixBlocks prefix, int length) {
    return runs.holder(
        Group.head(prefix, length), Group.position(length), prefix.hashes()[length - 1]);
  }

  /**
   * Iterates over the few workers that hold a prefix: start with cursor 0 and continue with {@link
   * #after}. A worker may occur twice.
   *
   * @param length number of blocks; must be an indexed length
   * @return {@link #NOBODY} at the end, else an encoded result for {@link #slotOf} and {@link
   *     #after}
   */
  public int holder(PrefixBlocks prefix, int length, int cursor) {
    int alone = cursor == 0 ? runHolder(prefix, length) : 0;
    if (alone != 0) {
      return RUN_WAY << 16 | SlotEpochs.slotOf(alone);
    }
    return cursor >= RUN_WAY ? NOBODY : blocks.holder(prefix.hashes()[length - 1], cursor);
  }

  /** The worker slot in a result of {@link #holder}. */
  public static int slotOf(int holder) {
    return BlockIndex.slotOf(holder);
  }

  /** The cursor after a result of {@link #holder}. */
  public static int after(int holder) {
    return BlockIndex.after(holder);
  }

  /** Returns the bitmap of workers that hold a prefix; null if they are few. */
  public @Nullable HolderBitmap holderBitmap(PrefixBlocks prefix, int length) {
    return runHolder(prefix, length) != 0 ? null : blocks.holderBitmap(prefix.hashes()[length - 1]);
  }

  /** Fills {@code holders} with the holders of a prefix. */
  public void look(PrefixBlocks prefix, int length, BlockIndex.Holders holders) {
    int alone = runHolder(prefix, length);
    if (alone != 0) {
      holders.alone(alone);
    } else {
      blocks.look(prefix.hashes()[length - 1], holders);
    }
  }

  /**
   * Returns true if a prefix was added or renewed for a worker at {@code then} or later, with a
   * resolution of one second.
   */
  public boolean addedSince(PrefixBlocks prefix, int length, int epoch, long then) {
    return fresh(prefix, length, epoch, (int) (then >>> BlockIndex.STAMP_SHIFT));
  }

  private boolean fresh(PrefixBlocks prefix, int length, int epoch, int stamp) {
    long hash = prefix.hashes()[length - 1];
    int oldest = stamp - BlockIndex.RENEWAL;
    return runs.usedSince(Group.head(prefix, length), Group.position(length), hash, epoch, oldest)
        || blocks.fresh(hash, epoch, oldest);
  }

  /** The current epoch of a slot, for {@link #add}; changed by {@link #forget}. */
  public int epoch(int slot) {
    return epochs.of(slot);
  }

  /**
   * Adds the prefixes of a prompt for a worker. New long prefixes are added early, so an identical
   * concurrent prompt finds them.
   *
   * @param epoch the worker's epoch, read while it certainly had its slot; without effect after its
   *     departure
   * @param known blocks that the worker already holds, which need not be added
   * @param now the engine's time in nanoseconds
   */
  public void add(PrefixBlocks prefix, int epoch, int known, long now) {
    add(prefix, prefix.count(), epoch, known, now);
  }

  /**
   * Adds the prefixes of a part of a prompt.
   *
   * @param count number of its blocks; 0 to all
   */
  public void add(PrefixBlocks prefix, int count, int epoch, int known, long now) {
    int stamp = (int) (now >>> BlockIndex.STAMP_SHIFT);
    boolean fresh = known > 0 && fresh(prefix, known, epoch, stamp);
    if (count == 0 || (fresh && known >= count)) {
      return;
    }
    new Adding(prefix, count, epoch, stamp).from(fresh ? IndexedLengths.upTo(known) : 0);
  }

  /** The addition of one prompt. */
  private final class Adding {
    private final PrefixBlocks prefix;
    private final int count;
    private final int epoch;
    private final int stamp;
    private final PrefixTally inRuns = new PrefixTally();
    private final PrefixTally alone = new PrefixTally();

    Adding(PrefixBlocks prefix, int count, int epoch, int stamp) {
      this.prefix = prefix;
      this.count = count;
      this.epoch = epoch;
      this.stamp = stamp;
    }

    /** Adds the indexed lengths from index {@code first} on. */
    void from(int first) {
      int begin = first / Group.LENGTHS;
      int end = Group.ordinal(count) / Group.LENGTHS;
      boolean news = put(new Group(prefix, count, begin), first % Group.LENGTHS, false);
      if (begin < end) {
        put(new Group(prefix, count, end), 0, news);
      }
      for (int number = begin + 1; number < end; number++) {
        news = put(new Group(prefix, count, number), 0, news);
      }
      runs.counted(inRuns.added, inRuns.replaced);
      blocks.counted(alone);
    }

    /**
     * Adds a group from a position on.
     *
     * @param news true if the preceding lengths had no holder; individual entries of the group are
     *     then not checked, although a run may have outlived them
     * @return true if the group had no holder
     */
    private boolean put(Group group, int from, boolean news) {
      long head = group.head();
      boolean any = runs.mayHave(head);
      int other = any ? runs.other(head, epoch) : 0;
      if (other != 0) {
        dissolve(head, other);
        dissolve(head, epoch);
      }
      int renewed = any && other == 0 ? runs.renew(group, from, epoch, stamp, inRuns) : 0;
      boolean unknown = other == 0 && renewed == 0 && from == 0 && (news || !blocks.contains(head));
      if (unknown && group.size() >= LEAST_RUN) {
        runs.open(group, epoch, stamp, inRuns);
        return true;
      }
      for (int position = from; position < group.size(); position++) {
        if ((renewed >>> position & 1) == 0) {
          blocks.put(group.hash(position), epoch, stamp, alone);
        }
      }
      return unknown;
    }

    /** Converts a run to individual entries when a second worker holds a part of the group. */
    private void dissolve(long head, int claim) {
      // Only one of several concurrent threads converts a run, because another thread's entries
      // must stay.
      synchronized (dissolving[(int) head & (DISSOLVING - 1)]) {
        RunTable.Run run = runs.run(head, claim, stamp);
        if (run != null) {
          dissolve(run, head, claim);
        }
      }
    }

    private void dissolve(RunTable.Run run, long head, int claim) {
      for (int i = 0; i < run.count(); i++) {
        blocks.put(run.hashes()[i], claim, run.stamp(), alone);
      }
      RunTable.Run rest = run;
      while (rest != null && !runs.drop(head, claim, rest)) {
        rest = runs.run(head, claim, stamp);
      }
      for (int i = 0; i < run.count(); i++) {
        // Its worker has meanwhile evicted it from the run, without checking individual entries.
        if (rest == null || !rest.has(run.hashes()[i])) {
          blocks.remove(run.hashes()[i], claim);
        }
      }
    }
  }

  /**
   * Removes a worker's claims on some lengths of a prompt that it has evicted.
   *
   * @param from index of the first
   * @param to exclusive end index
   */
  public void remove(Lengths lengths, int from, int to, int epoch) {
    for (int i = from; i < to; ) {
      int position = (lengths.first + i) & (Group.LENGTHS - 1);
      int end = Math.min(to, i + Group.LENGTHS - position);
      int cleared = runs.clear(lengths.head(i), epoch, position, lengths.hashes, i, end);
      for (int at = i; at < end; at++) {
        if ((cleared >>> (at - i) & 1) == 0 || blocks.evicting()) {
          blocks.remove(lengths.hashes[at], epoch);
        }
      }
      i = end;
    }
  }

  /**
   * Prefetches the memory that {@link #remove} will read. The locations are random; consecutive
   * reads overlap their cache misses.
   *
   * @param soon lengths that will be removed; only the first group of each is read
   * @return a meaningless value that keeps the reads from being optimised away
   */
  public long touch(Iterable<? extends Lengths> soon) {
    long read = 0;
    for (Lengths lengths : soon) {
      read += runs.touchNotes(lengths.head(0));
    }
    for (Lengths lengths : soon) {
      read += runs.touchRows(lengths.head(0));
    }
    return read;
  }

  /**
   * Removes all claims of the worker in {@code slot}, so the slot can be reused. Readers are not
   * blocked. The time depends only on the number of holder bitmaps.
   */
  public void forget(int slot) {
    blocks.forget(slot);
  }

  /** Number of claims, including those of departed workers until they are overwritten. */
  public long entries() {
    return runs.entries() + blocks.entries();
  }

  /** Returns true if claims have been evicted, so a prefix of a longer one may be missing. */
  public boolean evicting() {
    return runs.evicting() || blocks.evicting();
  }

  /** Number of claims evicted to stay within the memory bound. */
  public long evictions() {
    return runs.evictions() + blocks.evictions();
  }

  /** Current memory in bytes. */
  public long bytes() {
    return runs.bytes() + blocks.bytes();
  }

  /** Maximum memory in bytes. */
  public long maxBytes() {
    return maxBytes;
  }
}
