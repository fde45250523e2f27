package io.pointsman.engine.prefix;

import io.pointsman.engine.env.LargePages;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Which workers are thought to hold which prefixes: for each indexed prefix length of each prompt
 * that was placed (see {@link Milestones}), the slots of the workers it was placed on.
 *
 * <p>Eight lengths in a row that one worker alone holds lie together ({@link RunTable}), so that a
 * prompt nobody knows touches few places in memory. Lengths that others hold too, and those of
 * prompts that part within such a group, are found by themselves ({@link BlockIndex}).
 *
 * <p>Safe for any number of threads. Nothing ever waits: reads are lock-free, writes too. Writes
 * that collide may be lost, never mixed up: a worker is found only for a prefix that was added for
 * it and not forgotten since.
 *
 * <p>Bounded in bytes by construction. What was used least lately, by bucket, makes room; so a
 * chain may have holes, and then a match may come out shorter than it is, never longer. Since a
 * block's hash stands for everything before it, a deep block that is present is proof of all above
 * it.
 */
public final class PrefixIndex {
  /** What {@link #holder} answers when there is none. */
  public static final int NOBODY = BlockIndex.NOBODY;

  /** One part in so many of all bytes is for runs. */
  private static final int RUN_SHARE = 2;

  /** Shorter runs would take more memory than their lengths do alone. */
  private static final int LEAST_RUN = 3;

  /** Where a prefix is found: nowhere, in a worker's run, or by itself. */
  private static final int NOWHERE = 0;

  private static final int IN_RUN = 1;
  private static final int BY_ITSELF = 2;

  /** Behind all ways of a bucket. */
  private static final int RUN_WAY = ClaimTable.WAYS;

  private static final int DISSOLVING = 16;

  private final long maxBytes;
  private final Tenancies tenancies;
  private final RunTable runs;
  private final BlockIndex blocks;

  /** Locks, by the head of a group. */
  private final Object[] dissolving = new Object[DISSOLVING];

  /**
   * @param maxBytes most bytes it may ever take; at least 64 KiB
   * @param slots worker slots, 1 to 65,536; slots above have no claims
   */
  public PrefixIndex(long maxBytes, int slots) {
    this(maxBytes, slots, LargePages.NONE);
  }

  /**
   * @param maxBytes most bytes it may ever take; at least 64 KiB
   * @param slots worker slots, 1 to 65,536; slots above have no claims
   * @param largePages used for what is large, if there are any
   */
  public PrefixIndex(long maxBytes, int slots, LargePages largePages) {
    this.maxBytes = BlockIndex.checked(maxBytes);
    tenancies = new Tenancies(slots);
    long runBytes = maxBytes / RUN_SHARE;
    runs = new RunTable(runBytes, tenancies, largePages);
    blocks =
        new BlockIndex(
            maxBytes - runBytes, maxBytes / BlockIndex.CROWD_SHARE, tenancies, largePages);
    Arrays.setAll(dissolving, _ -> new Object());
  }

  /**
   * The longest indexed prefix that any worker holds, in blocks; 0 if none. Looks at the whole
   * prompt first, then halves: ten looks for 256 blocks, twice as many once claims are being
   * replaced, because then a miss is believed only if the next longer prefix is missed too.
   */
  public int match(PrefixBlocks prefix) {
    int count = prefix.count();
    if (count == 0 || held(prefix, count)) {
      return count;
    }
    int end = Milestones.upTo(count - 1);
    int first = end > 0 ? likely(prefix, 0, end, IN_RUN) : NOWHERE;
    int found = first == NOWHERE ? -1 : halve(prefix, end, first);
    if (found < 0 && !evicting()) {
      return 0;
    }
    while (found + 1 < end && held(prefix, Milestones.blocks(found + 1))) {
      found++;
    }
    while (found >= 0 && !held(prefix, Milestones.blocks(found))) {
      found--;
    }
    return found < 0 ? 0 : Milestones.blocks(found);
  }

  /** By halves, each look where the last one that found something has found it. */
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

  /** Where the milestone is held, or one beyond it, which says the same. */
  private int likely(PrefixBlocks prefix, int milestone, int end, int before) {
    int where = where(prefix, Milestones.blocks(milestone), before);
    return where == NOWHERE && evicting() && milestone + 1 < end
        ? where(prefix, Milestones.blocks(milestone + 1), before)
        : where;
  }

  /**
   * Where a prefix is held.
   *
   * @param before where to look first
   */
  private int where(PrefixBlocks prefix, int length, int before) {
    long hash = prefix.hashes()[length - 1];
    if (before == BY_ITSELF && blocks.held(hash)) {
      return BY_ITSELF;
    }
    if (runHolder(prefix, length) != 0) {
      return IN_RUN;
    }
    return before != BY_ITSELF && blocks.held(hash) ? BY_ITSELF : NOWHERE;
  }

  /** The longest indexed length below {@code blocks}; 0 if there is none. */
  public static int shorter(int blocks) {
    int below = Milestones.upTo(blocks - 1);
    return below == 0 ? 0 : Milestones.blocks(below - 1);
  }

  /** Whether any worker holds the first {@code length} blocks of a prompt. */
  boolean held(PrefixBlocks prefix, int length) {
    return runHolder(prefix, length) != 0 || blocks.held(prefix.hashes()[length - 1]);
  }

  /** The worker that has a prefix in a run, as a claim; it holds it alone. */
  private int runHolder(PrefixBlocks prefix, int length) {
    return runs.holder(
        Group.head(prefix, length), Group.position(length), prefix.hashes()[length - 1]);
  }

  /**
   * The few workers that hold a prefix, one at a time: start with cursor 0, go on with {@link
   * #after}. A worker may come twice.
   *
   * @param length blocks of it; a length that is indexed
   * @return {@link #NOBODY} at the end, else what {@link #slotOf} and {@link #after} understand
   */
  public int holder(PrefixBlocks prefix, int length, int cursor) {
    int alone = cursor == 0 ? runHolder(prefix, length) : 0;
    if (alone != 0) {
      return RUN_WAY << 16 | Tenancies.slotOf(alone);
    }
    return cursor >= RUN_WAY ? NOBODY : blocks.holder(prefix.hashes()[length - 1], cursor);
  }

  /** The slot of the worker that {@link #holder} has found. */
  public static int slotOf(int holder) {
    return BlockIndex.slotOf(holder);
  }

  /** The cursor behind what {@link #holder} has found. */
  public static int after(int holder) {
    return BlockIndex.after(holder);
  }

  /** The workers that hold a prefix when they are many; null when they are few. */
  public @Nullable Crowd crowd(PrefixBlocks prefix, int length) {
    return runHolder(prefix, length) != 0 ? null : blocks.crowd(prefix.hashes()[length - 1]);
  }

  /** Fills {@code holders} with those of a prefix. */
  public void look(PrefixBlocks prefix, int length, BlockIndex.Holders holders) {
    int alone = runHolder(prefix, length);
    if (alone != 0) {
      holders.alone(alone);
    } else {
      blocks.look(prefix.hashes()[length - 1], holders);
    }
  }

  /** Whether a prefix was added or renewed for a worker at {@code then} or later, to a second. */
  public boolean addedSince(PrefixBlocks prefix, int length, int tenancy, long then) {
    return fresh(prefix, length, tenancy, (int) (then >>> BlockIndex.STAMP_SHIFT));
  }

  private boolean fresh(PrefixBlocks prefix, int length, int tenancy, int stamp) {
    long hash = prefix.hashes()[length - 1];
    int oldest = stamp - BlockIndex.RENEWAL;
    return runs.usedSince(Group.head(prefix, length), Group.position(length), hash, tenancy, oldest)
        || blocks.fresh(hash, tenancy, oldest);
  }

  /** The present tenancy of a slot, which {@link #add} asks for; changed by {@link #forget}. */
  public int tenancy(int slot) {
    return tenancies.of(slot);
  }

  /**
   * Adds the prefixes of a prompt for a worker. Of those that nobody holds, the longest come early,
   * so that an identical prompt that arrives meanwhile finds them.
   *
   * @param tenancy the worker's, as of a moment when it certainly had its slot; of no effect when
   *     it has left since
   * @param known blocks that the worker was found to hold already, which spares adding them
   * @param now the engine's time in nanoseconds
   */
  public void add(PrefixBlocks prefix, int tenancy, int known, long now) {
    add(prefix, prefix.count(), tenancy, known, now);
  }

  /**
   * The same of a part of a prompt.
   *
   * @param count blocks of it; 0 to all
   */
  public void add(PrefixBlocks prefix, int count, int tenancy, int known, long now) {
    int stamp = (int) (now >>> BlockIndex.STAMP_SHIFT);
    boolean fresh = known > 0 && fresh(prefix, known, tenancy, stamp);
    if (count == 0 || (fresh && known >= count)) {
      return;
    }
    new Adding(prefix, count, tenancy, stamp).from(fresh ? Milestones.upTo(known) : 0);
  }

  /** One prompt on its way in. */
  private final class Adding {
    private final PrefixBlocks prefix;
    private final int count;
    private final int tenancy;
    private final int stamp;
    private final Tally inRuns = new Tally();
    private final Tally alone = new Tally();

    Adding(PrefixBlocks prefix, int count, int tenancy, int stamp) {
      this.prefix = prefix;
      this.count = count;
      this.tenancy = tenancy;
      this.stamp = stamp;
    }

    /** Takes in the indexed lengths from the {@code first}th on. */
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
     * Takes in a group from a position on.
     *
     * @param news whether nobody held what comes before it, so that it is not looked for by itself;
     *     a run of it may have outlived that
     * @return whether nobody did
     */
    private boolean put(Group group, int from, boolean news) {
      long head = group.head();
      boolean any = runs.mayHave(head);
      int other = any ? runs.other(head, tenancy) : 0;
      if (other != 0) {
        dissolve(head, other);
        dissolve(head, tenancy);
      }
      int held = any && other == 0 ? runs.renew(group, from, tenancy, stamp, inRuns) : 0;
      boolean unknown = other == 0 && held == 0 && from == 0 && (news || !blocks.held(head));
      if (unknown && group.size() >= LEAST_RUN) {
        runs.open(group, tenancy, stamp, inRuns);
        return true;
      }
      for (int position = from; position < group.size(); position++) {
        if ((held >>> position & 1) == 0) {
          blocks.put(group.hash(position), tenancy, stamp, alone);
        }
      }
      return unknown;
    }

    /** Once a second worker comes to a group, its lengths must be found by themselves. */
    private void dissolve(long head, int claim) {
      // Of several who come at once one does it: what another has put must stay.
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
        // Its worker has evicted it from the run meanwhile, and looked no further.
        if (rest == null || !rest.has(run.hashes()[i])) {
          blocks.remove(run.hashes()[i], claim);
        }
      }
    }
  }

  /**
   * Forgets that a worker holds some lengths of a prompt, because it has evicted them.
   *
   * @param from the first of them
   * @param to where they end
   */
  public void remove(Lengths lengths, int from, int to, int tenancy) {
    for (int i = from; i < to; ) {
      int position = (lengths.first + i) & (Group.LENGTHS - 1);
      int end = Math.min(to, i + Group.LENGTHS - position);
      int cleared = runs.clear(lengths.head(i), tenancy, position, lengths.hashes, i, end);
      for (int at = i; at < end; at++) {
        if ((cleared >>> (at - i) & 1) == 0 || blocks.evicting()) {
          blocks.remove(lengths.hashes[at], tenancy);
        }
      }
      i = end;
    }
  }

  /**
   * Reads the places that {@link #remove} will have to look at, so that they are in the processor's
   * caches by then. They lie anywhere in memory: many that are read in a row are waited for
   * together, each of them alone takes as long.
   *
   * @param soon what will be removed; of each the first group
   * @return of no meaning, but for the reads to have a purpose
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
   * Forgets all that was added for the worker in {@code slot}, so that the slot can be given to
   * another. Readers are not held up; takes time only by the number of crowds.
   */
  public void forget(int slot) {
    blocks.forget(slot);
  }

  /** Claims in use, those of workers that have left included until their place is taken. */
  public long entries() {
    return runs.entries() + blocks.entries();
  }

  /** Whether claims have been replaced, so that a prefix may be missing in front of longer ones. */
  public boolean evicting() {
    return runs.evicting() || blocks.evicting();
  }

  /** Claims replaced so far to stay within the bound. */
  public long evictions() {
    return runs.evictions() + blocks.evictions();
  }

  /** Bytes taken at present. */
  public long bytes() {
    return runs.bytes() + blocks.bytes();
  }

  /** Most bytes it may ever take. */
  public long maxBytes() {
    return maxBytes;
  }
}
