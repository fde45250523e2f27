package io.pointsman.engine.policy.cost.cache;

import io.pointsman.engine.prefix.IndexedLengths;
import io.pointsman.engine.prefix.Lengths;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The runs of blocks that one worker's cache is thought to hold: by the hash of their first block,
 * with linear probing, and those that nobody uses in a line by age. For one thread at a time.
 */
final class CachedRuns {
  /** Of one run without its blocks, its share of the table included. */
  static final int RUN_BYTES = 144;

  /** Of one block of a run. */
  static final int BLOCK_BYTES = Long.BYTES;

  private static final int FIRST_PLACES = 64;

  /**
   * Runs taken out that are kept to be used again, and how many lengths they may have: with prompts
   * of few sizes, each that comes takes the place of one that goes. What lives as long as a run in
   * a cache is otherwise moved by many collections, and where it is linked to they have to look.
   */
  private static final int KEPT = CacheModel.BATCH;

  private static final int KEPT_LENGTHS = 16;

  private @Nullable Run[] places = new Run[0];

  /** First hashes of those in {@link #places}, so that probing does not have to look at them. */
  private long[] keys = new long[0];

  private int count;
  private @Nullable Run oldest;
  private @Nullable Run newest;
  private final @Nullable Run[] kept = new Run[KEPT];
  private long keptBytes;

  /** Which of {@link #kept} makes room next, when all are there. */
  private int turn;

  /**
   * Blocks in a row that are used by the same requests. Its hashes are those of the blocks and of
   * those that were evicted from its end.
   */
  static final class Run extends Lengths {
    /** How far into the prompt it reaches, in the prompt's own blocks. */
    private int end;

    /** How long one of these is. */
    private double tokensPerBlock;

    /** Blocks; at least 1 while it is held. */
    int size;

    /** Of all its blocks. */
    long allTokens;

    /** Requests in flight that use it. */
    int users;

    /** When the last of those that have used it was placed. */
    long usedAt;

    /** How many tokens the worker had been sent when the last of them ended. */
    long usedUntil;

    /** Whether one of those that have used it has been computed. */
    boolean computed;

    private @Nullable Run older;
    private @Nullable Run newer;

    private Run(int blocks) {
      super(new long[blocks]);
    }

    /**
     * Begins, with the hashes that have been entered.
     *
     * @param first how far its first block reaches into the prompt
     * @param end how far its last one does
     * @param tokensPerBlock length of one of the prompt's own blocks
     */
    void begin(PrefixBlocks prefix, int first, int end, double tokensPerBlock) {
      become(prefix, first);
      this.end = end;
      this.tokensPerBlock = tokensPerBlock;
      users = 0;
      usedAt = 0;
      computed = false;
      count();
    }

    private Run(Run whole, int from, int to) {
      super(whole, from, Arrays.copyOfRange(whole.hashes, from, to));
      end = whole.end(to - 1);
      tokensPerBlock = whole.tokensPerBlock;
      count();
    }

    private void count() {
      size = hashes.length;
      allTokens = 0;
      for (int i = 0; i < size; i++) {
        allTokens += tokens(i);
      }
    }

    long bytes() {
      return CachedRuns.bytes(hashes.length);
    }

    int tokens(int block) {
      int before = first + block == 0 ? 0 : IndexedLengths.blocks(first + block - 1);
      return (int) Math.round((end(block) - before) * tokensPerBlock);
    }

    private int end(int block) {
      return block == hashes.length - 1 ? end : IndexedLengths.blocks(first + block);
    }

    /** Takes its last blocks off. */
    void dropLast(int blocks) {
      if (blocks == size) {
        size = 0;
        allTokens = 0;
        return;
      }
      for (int i = 0; i < blocks; i++) {
        allTokens -= tokens(--size);
      }
    }

    /**
     * How many of its blocks are those of a prompt from its {@code at}th length on, of which the
     * first is known to be.
     */
    int common(PrefixBlocks prefix, int at, int ends) {
      int most = Math.min(size, ends - at);
      int common = 1;
      while (common < most && hashes[common] == CacheModel.hash(prefix, at + common, ends)) {
        common++;
      }
      return common;
    }

    private Run part(int from, int to) {
      Run part = new Run(this, from, to);
      part.users = users;
      part.usedAt = usedAt;
      part.usedUntil = usedUntil;
      part.computed = computed;
      return part;
    }
  }

  /** What a run of so many blocks takes. */
  static long bytes(int blocks) {
    return RUN_BYTES + (long) blocks * BLOCK_BYTES;
  }

  boolean isEmpty() {
    return count == 0;
  }

  /** The run that begins with a block; null if there is none. */
  @Nullable Run find(long first) {
    int mask = keys.length - 1;
    if (mask < 0) {
      return null;
    }
    for (int at = home(first); places[at] != null; at = at + 1 & mask) {
      if (keys[at] == first) {
        return places[at];
      }
    }
    return null;
  }

  /** A run of so many blocks whose hashes are to be entered; it has to {@link Run#begin} then. */
  Run blank(int blocks) {
    for (int i = 0; i < KEPT; i++) {
      Run run = kept[i];
      if (run != null && run.hashes.length == blocks) {
        kept[i] = null;
        keptBytes -= run.bytes();
        return run;
      }
    }
    return new Run(blocks);
  }

  /**
   * Keeps a run that has been taken out, to be used again: nobody may know it any more. If all
   * places are taken, each makes room in turn, or sizes that are seldom asked for would fill all.
   */
  void keep(Run run) {
    if (run.hashes.length > KEPT_LENGTHS) {
      return;
    }
    int at = 0;
    while (at < KEPT && kept[at] != null) {
      at++;
    }
    if (at == KEPT) {
      at = turn;
      turn = (turn + 1) % KEPT;
    }
    Run before = kept[at];
    keptBytes += run.bytes() - (before == null ? 0 : before.bytes());
    kept[at] = run;
  }

  /** Bytes of those that are kept to be used again. */
  long keptBytes() {
    return keptBytes;
  }

  void dropKept() {
    Arrays.fill(kept, null);
    keptBytes = 0;
  }

  void add(Run run) {
    if (++count * 2 > keys.length) {
      grow();
    }
    put(run);
  }

  private void grow() {
    @Nullable Run[] before = places;
    int size = Math.max(FIRST_PLACES, before.length * 2);
    places = new Run[size];
    keys = new long[size];
    for (Run run : before) {
      if (run != null) {
        put(run);
      }
    }
  }

  private void put(Run run) {
    int at = home(run.hashes[0]);
    while (places[at] != null) {
      at = at + 1 & keys.length - 1;
    }
    places[at] = run;
    keys[at] = run.hashes[0];
  }

  /** Takes a run out that is not in the line. */
  void remove(Run run) {
    int mask = keys.length - 1;
    int gap = place(run);
    // Closes the gap behind what is taken out, so that probing needs no tombstones.
    for (int at = gap + 1 & mask; places[at] != null; at = at + 1 & mask) {
      if ((at - home(keys[at]) & mask) >= (at - gap & mask)) {
        places[gap] = places[at];
        keys[gap] = keys[at];
        gap = at;
      }
    }
    places[gap] = null;
    count--;
  }

  /** Makes two runs of one, the first of {@code size} blocks, and answers that one. */
  Run cut(Run run, int size) {
    Run first = run.part(0, size);
    Run rest = run.part(size, run.size);
    places[place(run)] = first;
    add(rest);
    if (idle(run)) {
      // In the place of the one; the end is older than what it continues.
      rest.older = run.older;
      rest.newer = first;
      first.older = rest;
      first.newer = run.newer;
      tie(rest);
      tie(first);
    }
    return first;
  }

  private int place(Run run) {
    int at = home(run.hashes[0]);
    while (places[at] != run) {
      at = at + 1 & keys.length - 1;
    }
    return at;
  }

  private int home(long hash) {
    return (int) (hash >>> 20) & (keys.length - 1);
  }

  void forEach(Consumer<Run> action) {
    for (Run run : places) {
      if (run != null) {
        action.accept(run);
      }
    }
  }

  void clear() {
    places = new Run[0];
    keys = new long[0];
    count = 0;
    oldest = null;
    newest = null;
    dropKept();
  }

  /** The one that nobody has used for longest; null if all are in use. */
  @Nullable Run oldest() {
    return oldest;
  }

  /**
   * Those that nobody has used for longest, the oldest first.
   *
   * @param most no more than so many
   * @param tokens nor more than have so many tokens together
   */
  List<Run> oldest(int most, double tokens) {
    List<Run> line = new ArrayList<>();
    double rest = tokens;
    for (Run run = oldest; run != null && run.allTokens <= rest && line.size() < most; ) {
      line.add(run);
      rest -= run.allTokens;
      run = run.newer;
    }
    return line;
  }

  /** Whether it stands in the line of those that nobody uses. */
  boolean idle(Run run) {
    return run.older != null || oldest == run;
  }

  /** Nobody uses it any more: puts it at the end of the line. */
  void append(Run run) {
    run.older = newest;
    run.newer = null;
    tie(run);
  }

  /** Tells a run's neighbours, or the ends of the line, that they are next to it. */
  private void tie(Run run) {
    if (run.older == null) {
      oldest = run;
    } else {
      run.older.newer = run;
    }
    if (run.newer == null) {
      newest = run;
    } else {
      run.newer.older = run;
    }
  }

  /** Takes a run out of the line. */
  void use(Run run) {
    Run before = run.older;
    Run after = run.newer;
    if (before == null) {
      oldest = after;
    } else {
      before.newer = after;
    }
    if (after == null) {
      newest = before;
    } else {
      after.older = before;
    }
    run.older = null;
    run.newer = null;
  }
}
