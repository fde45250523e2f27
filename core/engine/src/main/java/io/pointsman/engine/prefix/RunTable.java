package io.pointsman.engine.prefix;

import static io.pointsman.engine.prefix.Partitions.publish;
import static io.pointsman.engine.prefix.Partitions.read;
import static io.pointsman.engine.prefix.Partitions.readAcquire;
import static io.pointsman.engine.prefix.Partitions.replace;
import static io.pointsman.engine.prefix.Partitions.words;
import static io.pointsman.engine.prefix.Partitions.write;

import io.pointsman.engine.env.LargePages;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * A set-associative table of runs. A run is a {@link Group} of a prompt that one worker alone
 * holds, in one cache line. An unknown prompt touches two cache lines for eight lengths: the note
 * of its run and the run. Reads take no lock. Writers take a row, and write its tag, by
 * compare-and-set. They can lose only their own write.
 *
 * <p>A set is eight lines: one of notes, then seven rows. A note has the claim in its upper half
 * and the time of last use in its lower half. Its last bits contain the number of lengths, so a row
 * can be replaced without being read. A row contains the hashes of the group's lengths in order,
 * each exclusive-or the claim. A hash is thus found only if it was written for the noted claim
 * ({@link ClaimTable}). A row is written completely and before its note, so no part of an earlier
 * run reappears.
 *
 * <p>A word after the notes contains a tag for each row: eight bits of the hash of its group's
 * first length. Reading it excludes most rows.
 *
 * <p>The least recently used run of a set is replaced.
 */
final class RunTable implements Partitions.Copying {
  private static final int ROWS = 7;
  private static final int ROW = Group.LENGTHS;
  private static final int SET = (1 + ROWS) * ROW;

  /** A note without an owner. */
  private static final long BEING_WRITTEN = 1;

  private static final long CLAIM = 0xFFFF_FFFF_0000_0000L;

  /**
   * Bits for the number of lengths beyond the first; ages are distinguishable up to half a year.
   */
  private static final int COUNT_BITS = 3;

  private static final int COUNT = (1 << COUNT_BITS) - 1;

  private static final int TAG_BITS = 8;
  private static final long TAG = (1 << TAG_BITS) - 1;

  /** One in each of the seven tags, and the highest bit of each. */
  private static final long ONES = 0x0001_0101_0101_0101L;

  private static final long HIGHS = ONES << (TAG_BITS - 1);

  private final Partitions partitions;
  private final SlotEpochs epochs;
  private final LongAdder entries = new LongAdder();
  private final LongAdder evictions = new LongAdder();
  private volatile boolean evicting;

  RunTable(long maxBytes, SlotEpochs epochs, LargePages largePages) {
    this.epochs = epochs;
    partitions = new Partitions(maxBytes, largePages, this);
  }

  /** Returns true if runs in use have been replaced. */
  boolean evicting() {
    return evicting;
  }

  /** Number of lengths in all runs, including those of departed workers until they are replaced. */
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
   * Returns the claim of a worker that has a length in a run; 0 if there is none.
   *
   * @param head hash of the first length of its group
   * @param position index of the length in its group
   */
  int holder(long head, int position, long hash) {
    MemorySegment partition = partitions.find(head);
    if (partition == null) {
      return 0;
    }
    int set = set(head, partition);
    for (long rows = tagged(partition, set, head); rows != 0; rows &= rows - 1) {
      int row = row(rows);
      long note = readAcquire(partition, set + row);
      if (note != 0
          && (read(partition, at(set, row) + position) ^ (note & CLAIM)) == hash
          && epochs.present(claim(note))) {
        return claim(note);
      }
    }
    return 0;
  }

  /** Returns true if a worker has a length in a run that was used at {@code oldest} or later. */
  boolean usedSince(long head, int position, long hash, int claim, int oldest) {
    MemorySegment partition = partitions.find(head);
    int row = partition == null ? -1 : own(partition, head, claim);
    if (partition == null || row < 0) {
      return false;
    }
    int set = set(head, partition);
    return (read(partition, at(set, row) + position) ^ claimed(claim)) == hash
        && age(oldest, read(partition, set + row)) <= 0;
  }

  /** Returns the row of a worker's run that begins with {@code head}; -1 if there is none. */
  private static int own(MemorySegment partition, long head, int claim) {
    int set = set(head, partition);
    for (long rows = tagged(partition, set, head); rows != 0; rows &= rows - 1) {
      int row = row(rows);
      if (claim(read(partition, set + row)) == claim
          && read(partition, at(set, row)) == (head ^ claimed(claim))) {
        return row;
      }
    }
    return -1;
  }

  /** Returns true if there may be runs that begin with {@code head}; reads one word. */
  boolean mayHave(long head) {
    MemorySegment partition = partitions.find(head);
    return partition != null && tagged(partition, set(head, partition), head) != 0;
  }

  /**
   * Returns the claim of another worker with a run that begins with {@code head}; 0 if there is
   * none.
   */
  int other(long head, int claim) {
    MemorySegment partition = partitions.find(head);
    if (partition == null) {
      return 0;
    }
    int set = set(head, partition);
    for (long rows = tagged(partition, set, head); rows != 0; rows &= rows - 1) {
      int row = row(rows);
      int found = claim(readAcquire(partition, set + row));
      if (found != claim
          && found != 0
          && read(partition, at(set, row)) == (head ^ claimed(found))
          && epochs.present(found)) {
        return found;
      }
    }
    return 0;
  }

  /**
   * Renews a worker's run and adds lengths of a group with the same beginning, where positions are
   * free.
   *
   * @param from first position to add
   * @return the positions that the run has, as bits; 0 if there is no such run
   */
  int renew(Group group, int from, int claim, int stamp, PrefixTally tally) {
    long head = group.head();
    MemorySegment partition = partitions.find(head);
    int row = partition == null ? -1 : own(partition, head, claim);
    if (partition == null || row < 0) {
      return 0;
    }
    int set = set(head, partition);
    int at = at(set, row);
    int renewed = 1;
    int added = 0;
    for (int position = from; position < group.size(); position++) {
      long present = read(partition, at + position);
      long wanted = group.hash(position) ^ claimed(claim);
      if (present == 0) {
        write(partition, at + position, wanted);
        added++;
      }
      renewed |= present == 0 || present == wanted ? 1 << position : 0;
    }
    int lengths = lengths(read(partition, set + row)) + added;
    write(partition, set + row, note(claim, stamp, lengths));
    tally.added += added;
    return renewed;
  }

  /** Stores a group as a new run of the worker. */
  void open(Group group, int claim, int stamp, PrefixTally tally) {
    long head = group.head();
    MemorySegment partition = partitions.get(head);
    int best = leastUseful(partition, head, stamp);
    while (read(partition, set(head, partition) + best) != 0 && partitions.canGrow(partition)) {
      partition = partitions.grow(head, partition);
      best = leastUseful(partition, head, stamp);
    }
    int row = take(partition, best, head, stamp, tally);
    if (row < 0) {
      return;
    }
    int set = set(head, partition);
    // Before the row, because a compare-and-set waits for all earlier writes of the processor.
    tag(partition, set, row, head);
    for (int position = 0; position < ROW; position++) {
      boolean used = position < group.size();
      write(partition, at(set, row) + position, used ? group.hash(position) ^ claimed(claim) : 0);
    }
    publish(partition, set + row, note(claim, stamp, group.size()));
    tally.added += group.size();
  }

  /**
   * Reserves the least useful row for one writer, so concurrent writers do not mix their rows.
   *
   * @param best the row to try first
   * @return -1 if other writers were faster each time
   */
  private int take(MemorySegment partition, int best, long head, int stamp, PrefixTally tally) {
    int set = set(head, partition);
    int row = best;
    for (int i = 0; i < ROWS; i++) {
      long note = read(partition, set + row);
      if (note != BEING_WRITTEN && replace(partition, set + row, note, BEING_WRITTEN)) {
        if (note != 0) {
          tally.replaced += lengths(note);
          noteEviction();
        }
        return row;
      }
      row = leastUseful(partition, head, stamp);
    }
    return -1;
  }

  /** Reads before it writes, because the field is written once and read by all threads. */
  private void noteEviction() {
    if (!evicting) {
      evicting = true;
    }
  }

  private static int leastUseful(MemorySegment partition, long head, int stamp) {
    int set = set(head, partition);
    long best = Long.MIN_VALUE;
    for (int row = 0; row < ROWS; row++) {
      long note = read(partition, set + row);
      long useless = note == 0 ? Integer.MAX_VALUE : age(stamp, note);
      if (note == BEING_WRITTEN) {
        useless = Integer.MIN_VALUE;
      }
      best = Math.max(best, useless << 32 | row);
    }
    return (int) best;
  }

  /**
   * Returns the content of a worker's run that begins with {@code head}; null if there is none.
   *
   * @param stamp current time
   */
  @Nullable Run run(long head, int claim, int stamp) {
    MemorySegment partition = partitions.find(head);
    int row = partition == null ? -1 : own(partition, head, claim);
    if (partition == null || row < 0) {
      return null;
    }
    int set = set(head, partition);
    // Reads the note first, so a drop detects later changes of the lengths.
    long note = readAcquire(partition, set + row);
    if (claim(note) != claim) {
      return null;
    }
    long[] hashes = new long[ROW];
    int count = 0;
    for (int position = 0; position < ROW; position++) {
      long present = read(partition, at(set, row) + position);
      if (present != 0) {
        hashes[count++] = present ^ claimed(claim);
      }
    }
    return new Run(hashes, count, stamp - age(stamp, note), note);
  }

  /**
   * @param hashes hashes of its lengths; the first {@code count} are valid
   * @param stamp time of last use
   * @param note the note when the lengths were read
   */
  @SuppressWarnings("ArrayRecordComponent") // passed from one method to the next
  record Run(long[] hashes, int count, int stamp, long note) {
    boolean has(long hash) {
      for (int i = 0; i < count; i++) {
        if (hashes[i] == hash) {
          return true;
        }
      }
      return false;
    }
  }

  /**
   * Removes a worker's run that begins with {@code head}, if it is unchanged since it was read.
   *
   * @return false if it has changed or is gone
   */
  boolean drop(long head, int claim, Run as) {
    MemorySegment partition = partitions.find(head);
    int row = partition == null ? -1 : own(partition, head, claim);
    return partition != null && row >= 0 && takeOut(partition, set(head, partition) + row, as.note);
  }

  /**
   * Removes a row: without its note it is invalid.
   *
   * @param at index of its note
   * @return false if another thread has removed or changed it
   */
  private boolean takeOut(MemorySegment partition, int at, long note) {
    boolean was = replace(partition, at, note, 0L);
    if (was) {
      entries.add(-lengths(note));
    }
    return was;
  }

  /**
   * Removes lengths from a worker's run; without its first length the whole run is removed. If
   * several threads remove it at once, only one reports the lengths.
   *
   * @param position index of the first length in the group
   * @param from index of that length in {@code hashes}
   * @param to exclusive end index
   * @return the removed lengths as bits, the lowest for the first
   */
  int clear(long head, int claim, int position, long[] hashes, int from, int to) {
    MemorySegment partition = partitions.find(head);
    int row = partition == null ? -1 : own(partition, head, claim);
    if (partition == null || row < 0) {
      return 0;
    }
    int set = set(head, partition);
    int run = at(set, row);
    int cleared = 0;
    for (int i = 0; i < to - from; i++) {
      if (read(partition, run + position + i) == (hashes[from + i] ^ claimed(claim))) {
        cleared |= 1 << i;
      }
    }
    if (position == 0) {
      long note = read(partition, set + row);
      boolean taken = claim(note) == claim && takeOut(partition, set + row, note);
      return taken ? cleared : 0;
    }
    for (int rest = cleared; rest != 0; rest &= rest - 1) {
      write(partition, run + position + Integer.numberOfTrailingZeros(rest), 0L);
    }
    return countOut(partition, set + row, claim, Integer.bitCount(cleared)) ? cleared : 0;
  }

  /**
   * Subtracts lengths from a run's count. If the whole count is being removed, leaves that to the
   * other thread.
   *
   * @return false if the run is gone
   */
  private boolean countOut(MemorySegment partition, int at, int claim, int lengths) {
    long note = read(partition, at);
    while (lengths > 0 && claim(note) == claim && lengths(note) > lengths) {
      if (replace(partition, at, note, note - lengths)) {
        entries.add(-lengths);
        return true;
      }
      note = read(partition, at);
    }
    return claim(note) == claim;
  }

  /** Prefetches the notes and tags that lead to a run. */
  long touchNotes(long head) {
    MemorySegment partition = partitions.find(head);
    return partition == null ? 0 : read(partition, set(head, partition) + ROWS);
  }

  /**
   * Prefetches the rows that may contain the run; their notes should have been prefetched before.
   */
  long touchRows(long head) {
    MemorySegment partition = partitions.find(head);
    long read = 0;
    if (partition != null) {
      int set = set(head, partition);
      for (long rows = tagged(partition, set, head); rows != 0; rows &= rows - 1) {
        read += read(partition, at(set, row(rows)));
      }
    }
    return read;
  }

  /** Counts the results for some groups. */
  void counted(int added, int replaced) {
    if (added != replaced) {
      entries.add(added - replaced);
    }
    if (replaced != 0) {
      evictions.add(replaced);
    }
  }

  private static long note(int claim, int stamp, int lengths) {
    int use = (stamp << COUNT_BITS) | Math.min(lengths - 1, COUNT);
    return claimed(claim) | (use & 0xFFFF_FFFFL);
  }

  private static int lengths(long note) {
    return ((int) note & COUNT) + 1;
  }

  /** Age of a run at {@code stamp}. */
  private static int age(int stamp, long note) {
    return (((stamp << COUNT_BITS) | COUNT) - (int) note) >> COUNT_BITS;
  }

  private static long claimed(int claim) {
    return (long) claim << 32;
  }

  private static int claim(long note) {
    return (int) (note >>> 32);
  }

  private static long tag(long head) {
    return head >>> 16 & TAG;
  }

  /** Sets a row's tag without losing concurrent changes to other tags. */
  private static void tag(MemorySegment partition, int set, int row, long head) {
    int shift = row * TAG_BITS;
    long before;
    long after;
    do {
      before = read(partition, set + ROWS);
      after = (before & ~(TAG << shift)) | (tag(head) << shift);
    } while (!replace(partition, set + ROWS, before, after));
  }

  /**
   * Returns the rows with the tag of {@code head} as bits, rarely others too. Read them with {@link
   * #row}, lowest first.
   */
  private static long tagged(MemorySegment partition, int set, long head) {
    long different = read(partition, set + ROWS) ^ (tag(head) * ONES);
    return (different - ONES) & ~different & HIGHS;
  }

  private static int row(long rows) {
    return Long.numberOfTrailingZeros(rows) / TAG_BITS;
  }

  private static int set(long head, MemorySegment partition) {
    return ((int) head * SET) & (words(partition) - 1);
  }

  private static int at(int set, int row) {
    return set + ROW + row * ROW;
  }

  @Override
  public long copy(MemorySegment from, MemorySegment to) {
    long dropped = 0;
    for (int set = 0; set < words(from); set += SET) {
      for (int row = 0; row < ROWS; row++) {
        long note = read(from, set + row);
        if (note != 0 && !copyRun(from, at(set, row), note, to)) {
          dropped += lengths(note);
        }
      }
    }
    return dropped;
  }

  private boolean copyRun(MemorySegment from, int run, long note, MemorySegment to) {
    long head = read(from, run) ^ (note & CLAIM);
    int set = set(head, to);
    for (int row = 0; row < ROWS && epochs.present(claim(note)); row++) {
      if (read(to, set + row) == 0) {
        for (int position = 0; position < ROW; position++) {
          write(to, at(set, row) + position, read(from, run + position));
        }
        write(to, set + row, note);
        tag(to, set, row, head);
        return true;
      }
    }
    return false;
  }

  @Override
  public void dropped(long left) {
    entries.add(-left);
  }
}
