package io.pointsman.engine.policy.cost.cache;

import io.pointsman.engine.policy.cost.cache.CachedRuns.Run;
import io.pointsman.engine.prefix.IndexedLengths;
import io.pointsman.engine.prefix.Lengths;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The assumed content of one worker's cache. It contains the prompts placed on the worker, as the
 * indexed lengths of their prefixes. If they exceed the worker's KV memory, the least recently used
 * one is evicted. A prompt is in the cache from its placement on, because later requests will find
 * it; while a request uses it, it is not evicted. Like in engines, the end of a prompt is evicted
 * first.
 *
 * <p>Lengths that were added by one prompt, and always used together, form one run. A run is found,
 * used and evicted as one. A prompt that shares a part of a run cuts it in two. A request that uses
 * a prefix also uses all shorter ones. So a prompt is a chain of whole runs, without gaps.
 *
 * <p>Not thread-safe: guarded by its worker's lock. It grows as needed, within a memory limit
 * shared with the other workers. At the limit it evicts early, and may have to evict for others.
 */
final class CacheModel {
  /** Maximum number of runs that are evicted together. */
  static final int BATCH = 16;

  /** A full cache evicts further runs ahead, up to 1 / this number of its size. */
  static final int AHEAD_PART = 64;

  private final CacheMemory.Part memory;
  private final Losses evicted;
  private final Losses withdrawn;
  private final Prefetcher prefetcher;

  private final CachedRuns runs = new CachedRuns();
  private long idleTokens;
  private long pinnedTokens;

  /** Tokens added since the start, without tokens that were cached already. */
  private long sent;

  private long sinceUse;

  /** Bytes of its memory that are not in use; negative after a cut. */
  private long spare;

  /** True if anything was evicted since the cache was empty. */
  private boolean full;

  /** Sum of the prefetched values; stored to make the compiler keep the reads. */
  long prefetched;

  /** Receives blocks that are no longer cached. */
  interface Losses {
    /** Called for the blocks with indexes from {@code from} to {@code to - 1}. */
    void lost(Lengths blocks, int from, int to);
  }

  /** Loads the data of several evictions into the processor's caches at once. */
  interface Prefetcher {
    /**
     * @param soon the runs that will be evicted
     * @return any value computed from the data; it makes the compiler keep the reads
     */
    long touch(List<? extends Lengths> soon);
  }

  /**
   * @param memory its memory, to be closed by the owner
   * @param evicted receives evicted blocks
   * @param withdrawn receives blocks that were placed and not computed
   * @param prefetcher receives runs before their eviction
   */
  CacheModel(CacheMemory.Part memory, Losses evicted, Losses withdrawn, Prefetcher prefetcher) {
    this.memory = memory;
    this.evicted = evicted;
    this.withdrawn = withdrawn;
    this.prefetcher = prefetcher;
  }

  /**
   * Returns the tokens sent to the worker between the last two uses of the cached part of the
   * prompt added last.
   */
  long tokensSinceUse() {
    return sinceUse;
  }

  /** Returns the distinct prompt tokens of the requests in flight. */
  long pinnedTokens() {
    return pinnedTokens;
  }

  /** Returns the tokens in the cache, in use or not. */
  long cachedTokens() {
    return pinnedTokens + idleTokens;
  }

  /** Returns the bytes that it has allocated and does not use, without those kept for reuse. */
  long spareBytes() {
    return spare - runs.keptBytes();
  }

  /**
   * Returns true if the worker's memory was too small for all prompts since the cache was empty.
   */
  boolean everFull() {
    return full;
  }

  /** Returns the blocks of the longest prefix that is cached or being computed. */
  int match(PrefixBlocks prefix) {
    int ends = ends(prefix);
    int matched = 0;
    while (matched < ends) {
      Run run = runs.find(hash(prefix, matched, ends));
      int common = run == null ? 0 : run.common(prefix, matched, ends);
      matched += common;
      if (run == null || common < run.size) {
        break;
      }
    }
    return matched == 0 ? 0 : end(prefix, matched - 1, ends);
  }

  /**
   * Returns the number of cached blocks that ended requests have computed.
   *
   * @param matched result of {@link #match}
   */
  int computed(PrefixBlocks prefix, int matched) {
    int ends = ends(prefix);
    int at = 0;
    while (at < ends) {
      Run run = runs.find(hash(prefix, at, ends));
      if (run == null || !run.computed) {
        break;
      }
      at += run.size;
    }
    return at == 0 ? 0 : Math.min(matched, end(prefix, Math.min(at, ends) - 1, ends));
  }

  /**
   * Adds the prompt of a request in flight.
   *
   * @param tokensPerBlock length of a block in tokens
   * @param now time of the placement
   * @return the number of added lengths, for {@link #release}: all, unless memory is short
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
   * Releases the prompt of a request that has ended.
   *
   * @param taken result of {@link #acquire}; 0 if the cache was cleared since
   * @param wasComputed true if the worker has computed the prompt. If not, the part that only this
   *     request used is removed.
   */
  void release(PrefixBlocks prefix, int taken, boolean wasComputed) {
    release(prefix, 0, taken, wasComputed);
  }

  /** Releases the end first, so it becomes older than the part before it. */
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
   * Evicts unused runs until at most {@code most} tokens are cached. While whole runs are a small
   * part of the cache, it evicts several of them together. An eviction accesses random memory, so
   * the accesses of many overlap.
   */
  void shrinkTo(double most) {
    Run oldest = runs.oldest();
    while (oldest != null && cachedTokens() > most) {
      full = true;
      List<Run> soon = runs.oldest(BATCH, cachedTokens() - most * (1 - 1.0 / AHEAD_PART));
      if (soon.isEmpty()) {
        evict(oldest, excess(oldest, cachedTokens() - most));
      } else {
        evict(soon);
      }
      oldest = runs.oldest();
    }
  }

  private void evict(List<Run> soon) {
    if (soon.size() > 1) {
      prefetched += prefetcher.touch(soon);
    }
    for (Run run : soon) {
      evict(run, run.size);
    }
  }

  /** Returns the number of blocks at the end of a run that contain {@code tokens}; at most all. */
  private static int excess(Run run, double tokens) {
    int blocks = 0;
    double rest = tokens;
    while (blocks < run.size && rest > 0) {
      rest -= run.tokens(run.size - ++blocks);
    }
    return blocks;
  }

  /** Evicts the last {@code blocks} of an unused run. */
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
   * Removes everything, as a restarted engine does.
   *
   * @param forgotten receives each block
   */
  void clear(Losses forgotten) {
    runs.forEach(run -> forgotten.lost(run, 0, run.size));
    close();
  }

  /**
   * Removes the runs that were last placed up to a time. A placement uses all earlier runs of its
   * prompt, so the remaining prompts have no gaps. The requests in flight that were placed up to
   * that time must be {@linkplain #release released} before the next prompt is added.
   *
   * @param until the time, in ticker nanoseconds
   * @param forgotten receives each block
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

  /** Gives the memory back. */
  void close() {
    memory.give(memory.bytes());
    spare = 0;
    runs.clear();
    idleTokens = 0;
    pinnedTokens = 0;
    full = false;
  }

  /** Returns the number of stored lengths of a prompt: the indexed ones, and the whole. */
  static int ends(PrefixBlocks prefix) {
    return prefix.count() == 0 ? 0 : IndexedLengths.upTo(prefix.count() - 1) + 1;
  }

  /** Returns the number of blocks of the first {@code lengths} lengths. */
  static int blocks(PrefixBlocks prefix, int lengths) {
    return lengths == 0 ? 0 : end(prefix, lengths - 1, ends(prefix));
  }

  static int end(PrefixBlocks prefix, int i, int ends) {
    return i == ends - 1 ? prefix.count() : IndexedLengths.blocks(i);
  }

  static long hash(PrefixBlocks prefix, int i, int ends) {
    return prefix.hashes()[end(prefix, i, ends) - 1];
  }

  /** Adds the rest of a prompt as a run, as far as there is memory; null if there is none. */
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

  /** Returns the number of blocks for which there is memory, after evictions. */
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

  /** Evicts the oldest runs, as far as possible, until {@code bytes} can be given back. */
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

  /** Returns the first {@code size} blocks of a run as a run. */
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
