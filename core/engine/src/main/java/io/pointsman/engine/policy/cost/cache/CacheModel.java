package io.pointsman.engine.policy.cost.cache;

import io.pointsman.engine.policy.cost.cache.CachedRuns.Run;
import io.pointsman.engine.prefix.IndexedLengths;
import io.pointsman.engine.prefix.Lengths;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What one worker's cache is thought to hold: prompts placed on it, as the indexed lengths of their
 * prefixes, the least lately used evicted when they exceed the worker's KV memory. A prompt is held
 * from its placement on, because whoever comes after it will find it; while a request uses it, it
 * is not evicted. Of one prompt the end is evicted first, as engines do.
 *
 * <p>Lengths that came with one prompt and were used together ever since are one run: found, used
 * and evicted at the price of one. A prompt that shares a part of a run with another cuts it in
 * two. Since whoever has a prefix in use has every shorter one in use too, a prompt is a chain of
 * whole runs, none missing before one that is held.
 *
 * <p>Not safe for several threads: guarded by its worker's lock. It grows as needed, within a
 * number of bytes that it shares with the other workers; when they are used up it forgets early,
 * and may have to for others.
 */
public final class CacheModel {
  /** Runs that are evicted in one go. */
  static final int BATCH = 16;

  /** Once a cache is full, further runs are evicted ahead up to such a part of it. */
  static final int AHEAD_PART = 64;

  private final CacheMemory.Part memory;
  private final Losses evicted;
  private final Losses withdrawn;
  private final Foresight foresight;

  private final CachedRuns runs = new CachedRuns();
  private long idleTokens;
  private long pinnedTokens;

  /** Tokens taken in since the beginning, those that were held not counted. */
  private long sent;

  private long sinceUse;

  /** Bytes taken of the memory that are not in use; below 0 after a cut. */
  private long spare;

  /** Whether anything had to make room since it was empty. */
  private boolean full;

  /** Sum of what was read ahead: written, so that the reads are not taken for useless. */
  long foresaw;

  /** Hears of blocks that are not held any more. */
  interface Losses {
    /**
     * @param blocks those from {@code from} up to {@code to} are meant
     */
    void lost(Lengths blocks, int from, int to);
  }

  /** Brings what evictions will look at into the processor's caches, of several at once. */
  interface Foresight {
    /**
     * @param soon what is about to be evicted
     * @return what was read, or the reads would be taken for useless
     */
    long touch(List<? extends Lengths> soon);
  }

  /**
   * @param memory what it may take, to be closed by its owner
   * @param evicted hears of blocks that had to make room
   * @param withdrawn hears of blocks that were expected and not computed
   * @param foresight hears of what will be told to {@code evicted}
   */
  CacheModel(CacheMemory.Part memory, Losses evicted, Losses withdrawn, Foresight foresight) {
    this.memory = memory;
    this.evicted = evicted;
    this.withdrawn = withdrawn;
    this.foresight = foresight;
  }

  /**
   * Tokens that the worker has been sent since the prompt that was taken in last had been used
   * there, as far as it was held.
   */
  long tokensSinceUse() {
    return sinceUse;
  }

  /** Distinct prompt tokens of the requests in flight. */
  long pinnedTokens() {
    return pinnedTokens;
  }

  /** Tokens held, in use or not. */
  long heldTokens() {
    return pinnedTokens + idleTokens;
  }

  /** Bytes that it has taken and uses for nothing, not even for what it keeps to be used again. */
  long spareBytes() {
    return spare - runs.keptBytes();
  }

  /**
   * Whether the engine's memory has been too small for all that was sent to it since it was empty.
   */
  boolean everFull() {
    return full;
  }

  /** Blocks of the longest prefix that is held or on its way. */
  int match(PrefixBlocks prefix) {
    int ends = ends(prefix);
    int held = 0;
    while (held < ends) {
      Run run = runs.find(hash(prefix, held, ends));
      int common = run == null ? 0 : run.common(prefix, held, ends);
      held += common;
      if (run == null || common < run.size) {
        break;
      }
    }
    return held == 0 ? 0 : end(prefix, held - 1, ends);
  }

  /**
   * How many of the blocks that are held requests have left which have ended.
   *
   * @param held what {@link #match} has answered
   */
  int computed(PrefixBlocks prefix, int held) {
    int ends = ends(prefix);
    int at = 0;
    while (at < ends) {
      Run run = runs.find(hash(prefix, at, ends));
      if (run == null || !run.computed) {
        break;
      }
      at += run.size;
    }
    return at == 0 ? 0 : Math.min(held, end(prefix, Math.min(at, ends) - 1, ends));
  }

  /** Blocks up to which a prompt was held, behind what is held at present, until it was evicted. */
  static int knownBeyond(PrefixBlocks prefix, int held, GhostList ghosts) {
    int ends = ends(prefix);
    int known = held;
    for (int i = held == 0 ? 0 : IndexedLengths.upTo(held); i < ends; i++) {
      int end = end(prefix, i, ends);
      if (ghosts.fate(prefix.hashes()[end - 1]) != GhostList.Fate.EVICTED) {
        return known;
      }
      known = end;
    }
    return known;
  }

  /**
   * Takes a prompt in for a request in flight.
   *
   * @param tokensPerBlock length of a block, in tokens
   * @param now when it was placed
   * @return how much of it was taken in, to be told to {@link #release}: all, but where memory was
   *     short
   */
  int acquire(PrefixBlocks prefix, double tokensPerBlock, long now) {
    int ends = ends(prefix);
    int at = 0;
    sinceUse = 0;
    long before = sent;
    while (at < ends) {
      Run run = runs.find(hash(prefix, at, ends));
      if (run == null) {
        run = add(prefix, at, tokensPerBlock);
        if (run == null) {
          break;
        }
        run.usedAt = now;
        sent += run.allTokens;
      } else {
        run = cut(run, run.common(prefix, at, ends));
        run.usedAt = now - run.usedAt > 0 ? now : run.usedAt;
        sinceUse = Math.max(sinceUse, run.users > 0 ? 0 : before - run.usedUntil);
      }
      if (run.users++ == 0) {
        pin(run);
      }
      at += run.size;
    }
    for (Run idle = runs.oldest();
        spare < 0 && !took(-spare) && idle != null;
        idle = runs.oldest()) {
      evict(idle, idle.size);
    }
    if (spareBytes() < 0) {
      runs.dropKept();
    }
    return at;
  }

  private void pin(Run run) {
    if (runs.idle(run)) {
      runs.use(run);
      idleTokens -= run.allTokens;
    }
    pinnedTokens += run.allTokens;
  }

  /**
   * A request that was taken in has ended.
   *
   * @param taken what {@link #acquire} answered; 0 if all was cleared since
   * @param wasComputed whether the worker has computed its prompt; if it has not, nobody will find
   *     what only this request would have brought
   */
  void release(PrefixBlocks prefix, int taken, boolean wasComputed) {
    release(prefix, 0, taken, wasComputed);
  }

  /** The end first, so that it becomes older than what is before it. */
  private void release(PrefixBlocks prefix, int at, int taken, boolean wasComputed) {
    Run run = at < taken ? runs.find(hash(prefix, at, ends(prefix))) : null;
    if (run != null) {
      release(prefix, at + run.size, taken, wasComputed);
      run.computed |= wasComputed;
      run.usedUntil = sent;
      if (--run.users == 0) {
        unpin(run);
      }
    }
  }

  private void unpin(Run run) {
    pinnedTokens -= run.allTokens;
    if (run.computed) {
      runs.append(run);
      idleTokens += run.allTokens;
    } else {
      withdrawn.lost(run, 0, run.size);
      forget(run);
    }
  }

  /**
   * Evicts what is not in use until no more than {@code most} tokens are held; then whole runs as
   * long as they are a small part of it, so that short prompts go several at a time. An eviction
   * looks at places anywhere in memory: of many in a row they are waited for together.
   */
  void shrinkTo(double most) {
    Run oldest = runs.oldest();
    while (oldest != null && heldTokens() > most) {
      full = true;
      List<Run> soon = runs.oldest(BATCH, heldTokens() - most * (1 - 1.0 / AHEAD_PART));
      if (soon.isEmpty()) {
        evict(oldest, excess(oldest, heldTokens() - most));
      } else {
        evict(soon);
      }
      oldest = runs.oldest();
    }
  }

  private void evict(List<Run> soon) {
    if (soon.size() > 1) {
      foresaw += foresight.touch(soon);
    }
    for (Run run : soon) {
      evict(run, run.size);
    }
  }

  /** How many blocks at the end of a run have so many tokens; no more than it has. */
  private static int excess(Run run, double tokens) {
    int blocks = 0;
    double rest = tokens;
    while (blocks < run.size && rest > 0) {
      rest -= run.tokens(run.size - ++blocks);
    }
    return blocks;
  }

  /** Evicts the last {@code blocks} of a run that is not in use. */
  private void evict(Run run, int blocks) {
    idleTokens -= run.allTokens;
    run.dropLast(blocks);
    evicted.lost(run, run.size, run.size + blocks);
    idleTokens += run.allTokens;
    if (run.size == 0) {
      runs.use(run);
      forget(run);
    }
  }

  /**
   * Forgets everything, as an engine does that starts anew.
   *
   * @param forgotten hears of each block
   */
  void clear(Losses forgotten) {
    runs.forEach(run -> forgotten.lost(run, 0, run.size));
    close();
  }

  /**
   * Forgets what nobody was placed for since. Whoever is placed uses all that comes before, so that
   * nothing is missing before what stays. Those in flight that were placed until then must be
   * {@linkplain #release released} before anything else is taken in.
   *
   * @param until a time, by the ticker
   * @param forgotten hears of each block
   */
  void clear(long until, Losses forgotten) {
    List<Run> gone = new ArrayList<>();
    runs.forEach(
        run -> {
          if (run.usedAt - until <= 0) {
            gone.add(run);
          }
        });
    for (Run run : gone) {
      forgotten.lost(run, 0, run.size);
      if (runs.idle(run)) {
        runs.use(run);
        idleTokens -= run.allTokens;
      } else {
        pinnedTokens -= run.allTokens;
      }
      forget(run);
    }
    full = false;
    if (runs.isEmpty()) {
      close();
    }
  }

  /** Gives its memory back. */
  void close() {
    memory.give(memory.bytes());
    spare = 0;
    runs.clear();
    idleTokens = 0;
    pinnedTokens = 0;
    full = false;
  }

  /** How many lengths of a prompt are kept: the indexed ones, and the whole. */
  public static int ends(PrefixBlocks prefix) {
    return prefix.count() == 0 ? 0 : IndexedLengths.upTo(prefix.count() - 1) + 1;
  }

  /** The blocks that so many lengths reach to. */
  static int blocks(PrefixBlocks prefix, int lengths) {
    return lengths == 0 ? 0 : end(prefix, lengths - 1, ends(prefix));
  }

  public static int end(PrefixBlocks prefix, int i, int ends) {
    return i == ends - 1 ? prefix.count() : IndexedLengths.blocks(i);
  }

  static long hash(PrefixBlocks prefix, int i, int ends) {
    return prefix.hashes()[end(prefix, i, ends) - 1];
  }

  /**
   * The rest of a prompt as a run, or as much of it as there is memory for; null if there is none.
   */
  private @Nullable Run add(PrefixBlocks prefix, int from, double tokensPerBlock) {
    int ends = ends(prefix);
    int blocks = affordable(ends - from);
    if (blocks == 0) {
      return null;
    }
    Run run = runs.blank(blocks);
    for (int i = 0; i < blocks; i++) {
      run.hashes[i] = hash(prefix, from + i, ends);
    }
    int first = end(prefix, from, ends);
    int last = end(prefix, from + blocks - 1, ends);
    run.begin(prefix, first, last, tokensPerBlock);
    spare -= run.bytes();
    runs.add(run);
    return run;
  }

  /** How many of so many blocks there is memory for, with what can be evicted. */
  private int affordable(int blocks) {
    long wanted = CachedRuns.bytes(blocks);
    while (spare < wanted && !took(wanted - spare)) {
      Run idle = runs.oldest();
      if (idle == null) {
        return (int) Math.max(0, (spare - CachedRuns.RUN_BYTES) / CachedRuns.BLOCK_BYTES);
      }
      evict(idle, idle.size);
    }
    return blocks;
  }

  private boolean took(long bytes) {
    long taken = memory.take(bytes);
    spare += taken;
    return taken > 0;
  }

  /** Forgets, the oldest first, until so many bytes can be given back, as far as it can. */
  void giveBack(long bytes) {
    while (spare < bytes && runs.oldest() != null) {
      evict(runs.oldest(BATCH, Double.MAX_VALUE));
    }
    long portions = Math.max(0, Math.min(spare, bytes)) / CacheMemory.PORTION_BYTES;
    spare -= portions * CacheMemory.PORTION_BYTES;
    memory.give(portions * CacheMemory.PORTION_BYTES);
    if (spare < runs.keptBytes()) {
      runs.dropKept();
    }
  }

  /** A run's first {@code size} blocks as a run of their own. */
  private Run cut(Run run, int size) {
    if (size == run.size) {
      return run;
    }
    Run first = runs.cut(run, size);
    spare += run.bytes() - first.bytes() - CachedRuns.bytes(run.size - size);
    return first;
  }

  private void forget(Run run) {
    runs.remove(run);
    spare += run.bytes();
    runs.keep(run);
  }
}
