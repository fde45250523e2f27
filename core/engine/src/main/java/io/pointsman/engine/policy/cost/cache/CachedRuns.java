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
 * The runs of one worker's cache: a hash table by the first block, with linear probing, and a list
 * of the unused runs by age. For one thread at a time.
 */
final class CachedRuns {
  /** Size of a run without its blocks, including its part of the table. */
  static final int RUN_BYTES = 144;

  /** Size of one block of a run. */
  static final int BLOCK_BYTES = Long.BYTES;

  private static final int FIRST_PLACES = 64;

  /**
   * Number of removed runs that are kept for reuse, and their maximum number of lengths. Prompts of
   * few sizes then replace each other without allocation. Otherwise the garbage collector would
   * copy each long-lived run several times and scan references to it.
   */
  private static final int KEPT = CacheModel.BATCH;

  private static final int KEPT_LENGTHS = 16;

  private @Nullable Run[] places = new Run[0];

  /** First hashes of {@link #places}, so probing need not read the runs. */
  private long[] keys = new long[0];

  private int count;
  private @Nullable Run oldest;
  private @Nullable Run newest;
  private final @Nullable Run[] kept = new Run[KEPT];
  private long keptBytes;

  /** The entry of {@link #kept} that is replaced next if all are in use. */
  private int turn;

  /**
   * Consecutive blocks that are used by the same requests. {@code hashes} also contains the blocks
   * that were evicted from its end.
   */
  static final class Run extends Lengths {
    /** End of the run in the prompt, in the prompt's own blocks. */
    private int end;

    /** Length of one of these blocks in tokens. */
    private double tokensPerBlock;

    /** Number of blocks; at least 1 while the run is cached. */
    int size;

    /** Tokens of all its blocks. */
    long allTokens;

    /** Number of requests in flight that use it. */
    int users;

    /** Latest placement of a request that has used it. */
    long usedAt;

    /** Tokens sent to the worker when the last of these requests ended. */
    long usedUntil;

    /** True if one of these requests has been computed. */
    boolean computed;

    private @Nullable Run older;
    private @Nullable Run newer;

    private Run(int blocks) {
      super(new long[blocks]);
    }

    /**
     * Initializes the run, after its hashes were stored.
     *
     * @param first end of its first block in the prompt
     * @param end end of its last block
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

    /** Removes its last blocks. */
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
     * Returns the number of its blocks that equal a prompt's blocks from length {@code at} on. The
     * first block must be equal.
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

  /** Returns the size of a run in bytes. */
  static long bytes(int blocks) {
    return RUN_BYTES + (long) blocks * BLOCK_BYTES;
  }

  boolean isEmpty() {
    return count == 0;
  }

  /** Returns the run that begins with a block; null if there is none. */
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

  /** Returns a run of {@code blocks} blocks without hashes; {@link Run#begin} must follow. */
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
   * Keeps a removed run for reuse: no other reference to it may exist. If all entries are in use,
   * they are replaced in turn; otherwise rare sizes would fill them.
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

  /** Returns the bytes of the runs kept for reuse. */
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

  /** Removes a run that is not in the list of unused runs. */
  void remove(Run run) {
    int mask = keys.length - 1;
    int gap = place(run);
    // Closes the gap behind the removed run, so probing needs no tombstones.
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

  /** Cuts a run in two and returns the first part, of {@code size} blocks. */
  Run cut(Run run, int size) {
    Run first = run.part(0, size);
    Run rest = run.part(size, run.size);
    places[place(run)] = first;
    add(rest);
    if (idle(run)) {
      // Both take the place of the run in the list; the end is older than the part before it.
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

  /** Returns the run that was unused for the longest time; null if all are in use. */
  @Nullable Run oldest() {
    return oldest;
  }

  /**
   * Returns the runs that were unused for the longest time, the oldest first.
   *
   * @param most maximum number of runs
   * @param tokens maximum number of tokens of all together
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

  /** Returns true if the run is in the list of unused runs. */
  boolean idle(Run run) {
    return run.older != null || oldest == run;
  }

  /** Adds a run that is no longer used at the end of the list. */
  void append(Run run) {
    run.older = newest;
    run.newer = null;
    tie(run);
  }

  /** Links a run's neighbours, or the ends of the list, to it. */
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

  /** Removes a run from the list of unused runs. */
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
