package io.pointsman.engine.policy.cost.cache;

import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.kv.KvKnowledge;
import io.pointsman.engine.prefix.Lengths;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import java.util.List;

/**
 * The assumed cache of one worker: its content, its capacity, and its entries in the fleet's index.
 * Guarded by the worker model's lock.
 */
public final class WorkerCache {
  /** Result of {@link #clearedUntil} and {@link #ended} for a cache that was not emptied. */
  public static final long NOT_EMPTIED = Long.MIN_VALUE;

  /**
   * A prefix is still cached if the worker has received less than this fraction of its capacity
   * since the last use. The rest allows for the memory of answers.
   */
  private static final double SAFE_PART = 0.25;

  private final Worker worker;
  private final PrefixIndex index;
  private final int epoch;
  private final GhostList ghosts;
  private final KvIndex announced;
  private final CacheMemory.Part memory;
  private final CacheModel model;
  private final CapacityEstimator capacity;
  private KindCache kind;

  /**
   * @param kvTokens KV memory in tokens, if the worker does not report it
   */
  public WorkerCache(Worker worker, FleetCaches fleet, KindCache kind, int kvTokens) {
    this.worker = worker;
    this.kind = kind;
    index = fleet.index();
    ghosts = fleet.ghosts();
    announced = fleet.announced();
    epoch = index.epoch(worker.slot());
    memory = fleet.memory().join();
    model = new CacheModel(memory, this::evicted, this::withdrawn, this::prefetch);
    capacity = new CapacityEstimator(worker, announced, kvTokens);
  }

  /** Moves the worker to another kind. */
  public void join(KindCache other) {
    kind = other;
  }

  /** Removes everything, because the worker has left. */
  public void close() {
    model.clear((blocks, from, to) -> remember(blocks, from, to, GhostList.Fate.LEFT));
    memory.close();
  }

  private void evicted(Lengths blocks, int from, int to) {
    index.remove(blocks, from, to, epoch);
    if (!keepsNothing()) {
      remember(blocks, from, to, GhostList.Fate.EVICTED);
    }
  }

  private void withdrawn(Lengths blocks, int from, int to) {
    index.remove(blocks, from, to, epoch);
  }

  private long prefetch(List<? extends Lengths> soon) {
    return index.touch(soon) + ghosts.touch(soon);
  }

  private void remember(Lengths blocks, int from, int to, GhostList.Fate fate) {
    for (int i = from; i < to; i++) {
      ghosts.add(blocks.hashes[i], fate);
    }
  }

  /** Returns this worker's part of the memory for cache models. */
  public CacheMemory.Part memory() {
    return memory;
  }

  /** Evicts some prompts, because another worker's model needs the memory. */
  public void giveBack() {
    model.giveBack(memory.owed());
  }

  /** Returns the capacity in tokens: as reported, else as announced, else as configured. */
  public double declaredTokens() {
    return capacity.declared();
  }

  /** Returns the number of distinct prompt tokens of the requests in flight. */
  public long pinnedTokens() {
    return model.pinnedTokens();
  }

  /** Returns true if the engine seems to have no prefix cache. */
  public boolean keepsNothing() {
    return capacity.keepsNothing() || (kind.keepsNothing() && !announced.live(worker.slot()));
  }

  /** Evicts prompts until {@code reserved} tokens are free for answers. */
  public void fit(double reserved) {
    model.shrinkTo(capacity.tokens() - reserved);
  }

  /**
   * Finds the cached part of a prompt that is about to be placed.
   *
   * @param tokens length of the prompt
   * @param announcedBlocks blocks of the key that the worker has by announcements, or {@link
   *     CachedPrefix#NOT_ANNOUNCED}
   */
  public PlacedPrompt look(BlockScale scale, int tokens, int announcedBlocks, long now) {
    PrefixBlocks prefix = scale.coarse();
    PlacedPrompt prompt = new PlacedPrompt(prefix, tokens, now);
    prompt.modelled = model.match(prefix);
    prompt.blocks =
        announcedBlocks == CachedPrefix.NOT_ANNOUNCED
            ? prompt.modelled
            : scale.coarse(announcedBlocks);
    prompt.shared = tokensOf(prompt.blocks, prompt);
    prompt.cached = keepsNothing() ? 0 : prompt.shared;
    prompt.reused =
        prompt.cached == 0 ? 0 : (int) Math.clamp(prompt.cached - kind.rounding(), 0, tokens - 1);
    int left = model.computed(prefix, prompt.modelled);
    prompt.certain = tokensOf(Math.min(left, prompt.blocks), prompt);
    prompt.announceable = announceable(prefix, left, now) ? tokensOf(left, prompt) : 0;
    return prompt;
  }

  /**
   * Returns true if the worker should have announced its blocks of a prompt, if it announces at
   * all. Recent placements do not count. For a prefix with many holders the time is not known per
   * holder, so it counts as old; else unannounced blocks of such a prefix would never be noticed.
   */
  private boolean announceable(PrefixBlocks prefix, int blocks, long now) {
    return blocks > 0
        && announced.live(worker.slot())
        && (index.holderBitmap(prefix, blocks) != null
            || !index.addedSince(prefix, blocks, epoch, now - KvKnowledge.LATE_NANOS));
  }

  /** Returns the tokens of a prompt's blocks. An engine always computes the last token. */
  private static int tokensOf(int blocks, PlacedPrompt prompt) {
    int tokens = (int) (prompt.tokens * prompt.prefix.ratio(blocks));
    return Math.min(tokens, Math.max(0, prompt.tokens - 1));
  }

  /** Adds a placed prompt to the cache. */
  public void place(PlacedPrompt prompt) {
    PrefixBlocks prefix = prompt.prefix;
    if (prefix.count() == 0) {
      return;
    }
    double tokensPerBlock = (double) prompt.tokens * prefix.blockLength() / prefix.length();
    prompt.taken = model.acquire(prefix, tokensPerBlock, prompt.placedAt);
    prompt.usedRecently = model.tokensSinceUse() < capacity.declared() * SAFE_PART;
    // Under the lock: otherwise a block evicted meanwhile would never leave the index.
    int blocks = CacheModel.blocks(prefix, prompt.taken);
    index.add(prefix, blocks, epoch, prompt.modelled, prompt.placedAt);
  }

  /**
   * Releases the prompt of a request that has ended.
   *
   * @param computed true if the worker has computed the prompt, or will
   * @return prompt tokens that no request in flight uses any more
   */
  public long release(PlacedPrompt prompt, boolean computed) {
    long before = model.pinnedTokens();
    model.release(prompt.prefix, prompt.taken, computed);
    return before - model.pinnedTokens();
  }

  /**
   * Learns from a request that has ended, after its release.
   *
   * @return the time up to which placed prompts are lost, if the engine must have restarted; else
   *     {@link #NOT_EMPTIED}
   */
  public long ended(PlacedPrompt prompt, Outcome outcome, Usage usage, long now) {
    prompt.mayBeEvicted = model.everFull() && !prompt.usedRecently;
    prompt.emptied = capacity.restarted(prompt, outcome, usage, now);
    boolean shared = prompt.shared >= CapacityEstimator.WORTH_TOKENS && usage.promptTokens() > 0;
    boolean hit = usage.cachedTokens() > 0;
    if (hit || (shared && usage.cachedTokens() == 0)) {
      kind.found(hit);
    }
    if (prompt.cached > 0 && hit && usage.promptTokens() > 0) {
      double expected = prompt.cached * (double) usage.promptTokens() / prompt.tokens;
      kind.rounded(expected - usage.cachedTokens());
    }
    return prompt.emptied ? capacity.lostUntil() : NOT_EMPTIED;
  }

  /** Returns true if the engine has ended since the last call of {@link #clearedUntil}. */
  public boolean engineEnded() {
    return capacity.hasEnded();
  }

  /**
   * Returns the time up to which placed prompts are lost, if the cache became empty since the last
   * call; else {@link #NOT_EMPTIED}. Reasons are an announcement or the end of the engine.
   */
  public long clearedUntil(long now) {
    boolean ended = capacity.ended();
    boolean announcedEmpty = capacity.cleared();
    if (ended) {
      return now;
    }
    return announcedEmpty ? capacity.emptyUntil(now) : NOT_EMPTIED;
  }

  /** Removes the prompts placed up to a time. The requests in flight follow by {@link #drop}. */
  public void empty(long until) {
    model.clear(
        until,
        (blocks, from, to) -> {
          index.remove(blocks, from, to, epoch);
          remember(blocks, from, to, GhostList.Fate.EMPTIED);
        });
  }

  /** Releases the prompt of a request in flight if it was placed before the cache was emptied. */
  public void drop(PlacedPrompt prompt, long until) {
    if (prompt.placedAt - until <= 0) {
      model.release(prompt.prefix, prompt.taken, false);
      prompt.taken = 0;
    }
  }
}
