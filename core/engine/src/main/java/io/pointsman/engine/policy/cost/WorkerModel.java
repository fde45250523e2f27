package io.pointsman.engine.policy.cost;

import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.kv.KvKnowledge;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.cost.CostEstimator.Expectation;
import io.pointsman.engine.prefix.Lengths;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What is thought of one worker: what its cache holds, what it has yet to compute, how fast it is,
 * how full its KV memory is. Everything is inferred from what was placed on it and what came back;
 * the engine is not asked.
 *
 * <p>Events change it under its lock. Picks take none: they read what it stands at, as of the last
 * event.
 */
final class WorkerModel {
  private static final double DRAIN_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** A full worker is taken to become free within so many milliseconds, until it shows better. */
  private static final double DRAIN_PRIOR_MILLIS = 30_000;

  /**
   * What was used while less than this part of a worker's memory was sent to it is there still,
   * whatever answers have taken of it besides.
   */
  private static final double SAFE_PART = 0.25;

  private final Worker worker;
  private final PrefixIndex index;
  private final int tenancy;
  private final GhostList ghosts;
  private final HitLedger ledger;
  private final KvIndex announced;
  private final CacheMemory.Part memory;
  private final CacheModel cache;
  private final CapacityEstimator truth;
  private final PrefillTracker progress;
  private final long joinedAt;
  private final Map<Lease, InFlight> inFlight = new HashMap<>();

  private volatile PoolModel pool;

  /** The base models by which it was told to be of that kind. */
  private volatile Set<String> served;

  private boolean closed;

  /**
   * Whether the last answer that was to tell its first token told none, though it had tokens: the
   * next may not either.
   */
  private boolean mute;

  private double drained;
  private long drainedAt;

  /** What picks read. */
  private volatile WorkerState state;

  /**
   * What the models of all workers share.
   *
   * @param index where others find what each holds
   * @param ghosts hears of what each loses
   * @param ledger finds out what can be expected of prompts
   * @param announced what workers have announced of their caches
   * @param memory what the caches' models may take
   */
  record Shared(
      PrefixIndex index,
      GhostList ghosts,
      HitLedger ledger,
      KvIndex announced,
      CacheMemory memory) {}

  /**
   * @param kvTokens tokens of its KV memory, unless it says so itself
   * @param joinedAt the present time
   */
  WorkerModel(Worker worker, PoolModel pool, Shared shared, int kvTokens, long joinedAt) {
    this.worker = worker;
    this.pool = pool;
    served = worker.bases();
    index = shared.index();
    ghosts = shared.ghosts();
    ledger = shared.ledger();
    announced = shared.announced();
    this.joinedAt = joinedAt;
    drainedAt = joinedAt;
    tenancy = index.tenancy(worker.slot());
    memory = shared.memory().join();
    cache = new CacheModel(memory, this::evicted, this::withdrawn, this::foresee);
    truth = new CapacityEstimator(worker, announced, kvTokens);
    pool.workers(1);
    progress = new PrefillTracker(pool);
    state = figures();
  }

  private void evicted(Lengths blocks, int from, int to) {
    index.remove(blocks, from, to, tenancy);
    if (!keepsNothing()) {
      remember(blocks, from, to, GhostList.Fate.EVICTED);
    }
  }

  private long foresee(List<? extends Lengths> soon) {
    return index.touch(soon) + ghosts.touch(soon);
  }

  private void withdrawn(Lengths blocks, int from, int to) {
    index.remove(blocks, from, to, tenancy);
  }

  private void remember(Lengths blocks, int from, int to, GhostList.Fate fate) {
    for (int i = from; i < to; i++) {
      ghosts.add(blocks.hashes[i], fate);
    }
  }

  /**
   * The worker has started anew: it holds nothing of what was placed there until then, for the
   * requests in flight either. What was placed since has come to the new one.
   */
  private void emptied(long until) {
    cache.clear(
        until,
        (blocks, from, to) -> {
          index.remove(blocks, from, to, tenancy);
          remember(blocks, from, to, GhostList.Fate.EMPTIED);
        });
    for (InFlight entry : inFlight.values()) {
      if (entry.placedAt - until <= 0) {
        cache.release(entry.prefix, entry.taken, false);
        entry.taken = 0;
      }
    }
  }

  /**
   * Empties its cache if it has become known since last asked that it is empty, by announcements or
   * because the engine has ended.
   */
  synchronized void noticeClears(long now) {
    if (closed) {
      return;
    }
    boolean ended = truth.ended();
    if (truth.cleared() || ended) {
      emptied(ended ? now : truth.emptyUntil(now));
      publish();
    }
  }

  /** The same, if its engine has ended; else without a lock. */
  void noticeEnd(long now) {
    if (truth.hasEnded()) {
      noticeClears(now);
    }
  }

  /** Time that it takes, in parts of what its kind takes. */
  double speed() {
    return state.speed();
  }

  /** Takes its speed over from one that has learned it. */
  synchronized void speed(double learned) {
    progress.speed(learned);
    state = state.withSpeed(learned);
  }

  /** When it was first heard of. */
  long joinedAt() {
    return joinedAt;
  }

  Worker worker() {
    return worker;
  }

  /** Whether other base models have become known to be served since it joined its kind. */
  boolean misplaced() {
    return !worker.bases().equals(served);
  }

  /** What it shares with workers of its kind. */
  PoolModel kind() {
    return pool;
  }

  /** Goes to another kind, because it has become known what it serves. */
  synchronized void join(PoolModel other, Set<String> bases) {
    served = bases;
    if (other != pool && !closed) {
      pool.workers(-1);
      pool = other;
      pool.workers(1);
      progress.join(pool);
      publish();
    }
  }

  /** The worker has left: what is still in flight on it counts no more. */
  synchronized void close() {
    if (!closed) {
      closed = true;
      pool.workers(-1);
      progress.close();
      cache.clear((blocks, from, to) -> remember(blocks, from, to, GhostList.Fate.LEFT));
      memory.close();
      inFlight.clear();
    }
  }

  /** Does not learn the speed of the worker. */
  synchronized void assumeUsualSpeed() {
    progress.assumeUsualSpeed();
  }

  /** What the model of its cache has taken. */
  CacheMemory.Part memory() {
    return memory;
  }

  /** Forgets some of what its cache holds, so that the model of another one gets the memory. */
  synchronized void giveBack() {
    cache.giveBack(memory.owed());
  }

  /** What it stands at, for picks; any thread. Takes a lock only if it is due to change by now. */
  WorkerState state(long now) {
    WorkerState at = state;
    return now - at.assumesAt() < 0 ? at : assumed(now);
  }

  private synchronized WorkerState assumed(long now) {
    if (!closed) {
      progress.assume(now);
      publish();
    }
    return state;
  }

  /**
   * Takes a placed request in.
   *
   * @param tokens of its prompt, 0 if it has none
   * @param told blocks of its key that the worker holds, if announcements tell; else {@link
   *     CachedPrefix#UNTOLD}
   */
  synchronized void placed(RoutingRequest request, Lease lease, int tokens, int told) {
    if (closed) {
      return;
    }
    BlockScale grain = BlockScale.of(request.prefix());
    PrefixBlocks prefix = grain.coarse();
    long now = lease.placedAt();
    noticeClears(now);
    int blocks = cache.match(prefix);
    int here = told == CachedPrefix.UNTOLD ? blocks : grain.coarse(told);
    int shared = tokensOf(here, prefix, tokens);
    int cached = keepsNothing() ? 0 : shared;
    int held = cached == 0 ? 0 : (int) Math.clamp(cached - pool.rounding(), 0, tokens - 1);
    progress.assume(now);
    Expectation expected = new CostEstimator().about(pool, prefix, now).expect(figures(), here);
    HitLedger.Prospect prospect = ledger.prospect(request, grain, here, this, now);
    InFlight entry = new InFlight(prefix, tokens, held, prospect, now, expected);
    entry.shared = shared;
    entry.cached = cached;
    int left = cache.computed(prefix, blocks);
    entry.certain = tokensOf(Math.min(left, here), prefix, tokens);
    entry.announceable = announceable(prefix, left, now) ? tokensOf(left, prefix, tokens) : 0;
    double evicted = tokens * evictedShare(prefix, here);
    if (prefix.count() > 0) {
      entry.taken =
          cache.acquire(prefix, (double) tokens * prefix.blockLength() / prefix.length(), now);
      entry.usedOfLate = cache.tokensSinceUse() < truth.declared() * SAFE_PART;
      // Under the lock, or what is evicted meanwhile would stay in the index for good.
      index.add(prefix, CacheModel.blocks(prefix, entry.taken), tenancy, blocks, now);
    }
    inFlight.put(lease, entry);
    entry.awaited = request.heard();
    progress.begin(entry, entry.awaited && !mute, evicted);
    fit();
    publish();
  }

  /**
   * Whether the worker should have announced what it holds of a prompt, if it announces: not what
   * was placed a short while before. Of a crowd that is not known of each holder; else what it has
   * not told of what all hold would never be missed.
   */
  private boolean announceable(PrefixBlocks prefix, int blocks, long now) {
    return blocks > 0
        && announced.live(worker.slot())
        && (index.crowd(prefix, blocks) != null
            || !index.addedSince(prefix, blocks, tenancy, now - KvKnowledge.LATE_NANOS));
  }

  /** Tokens of a prompt's blocks; an engine computes the last token in any case. */
  private static int tokensOf(int blocks, PrefixBlocks prefix, int tokens) {
    return Math.min((int) (tokens * prefix.ratio(blocks)), Math.max(0, tokens - 1));
  }

  /** Share of a prompt, behind what is held, that was evicted of late. */
  private double evictedShare(PrefixBlocks prefix, int held) {
    int known = CacheModel.knownBeyond(prefix, held, ghosts);
    return prefix.ratio(known) - prefix.ratio(held);
  }

  /**
   * The first token of a request has come.
   *
   * @param at when it came; may have passed
   * @return whether it is news
   */
  synchronized boolean answered(Lease lease, long at) {
    InFlight entry = inFlight.get(lease);
    if (entry == null || entry.heard || closed) {
      return false;
    }
    mute &= !entry.awaited;
    progress.hear(entry, at, state.util());
    publish();
    return true;
  }

  /**
   * A request has ended.
   *
   * @return what was known of it; null if nothing was
   */
  synchronized @Nullable InFlight ended(Lease lease, Outcome outcome, long now) {
    InFlight entry = inFlight.remove(lease);
    if (entry == null || closed) {
      return null;
    }
    Usage usage = lease.usage();
    progress.assume(now);
    // What generates nothing, as an embedding or an error within a stream, has none to tell.
    if (outcome instanceof Outcome.Succeeded(boolean served)
        && served
        && usage.completionTokens() > 0) {
      mute |= entry.awaited && !entry.heard;
    }
    // Before the end of an answer in one piece counts as its first token.
    boolean streamed = entry.heard;
    // What counts no prompt may have computed none, as /tokenize.
    if (outcome instanceof Outcome.Succeeded(boolean served)
        && served
        && usage.promptTokens() > 0) {
      progress.hearWhole(entry, now, state.util());
    }
    boolean left = leavesPrompt(entry, outcome, usage);
    progress.end(entry, now, left);
    long before = cache.pinnedTokens();
    cache.release(entry.prefix, entry.taken, left);
    drain(before - cache.pinnedTokens() + Math.max(0, usage.completionTokens()), now);
    entry.mayBeEvicted = cache.everFull() && !entry.usedOfLate;
    entry.emptied = truth.restarted(entry, outcome, usage, now);
    if (entry.emptied) {
      emptied(truth.goneUntil());
    }
    learn(entry, usage, streamed, now);
    fit();
    publish();
    return entry;
  }

  /** Whether its engine seems to run without a prefix cache. */
  private boolean keepsNothing() {
    return truth.keepsNothing() || (pool.keepsNothing() && !announced.live(worker.slot()));
  }

  private void learn(InFlight entry, Usage usage, boolean streamed, long now) {
    if (usage.completionTokens() > 0) {
      pool.answered(usage.completionTokens());
      if (streamed) {
        pool.ended(entry.expected.own(), (now - entry.placedAt) / 1e6);
      }
    }
    boolean shared = entry.shared >= CapacityEstimator.WORTH_TOKENS && usage.promptTokens() > 0;
    boolean found = usage.cachedTokens() > 0;
    if (found || (shared && usage.cachedTokens() == 0)) {
      pool.found(found);
    }
    if (entry.cached > 0 && found && usage.promptTokens() > 0) {
      double expected = entry.cached * (double) usage.promptTokens() / entry.tokens;
      pool.rounded(expected - usage.cachedTokens());
    }
  }

  /** Whether the worker has computed the prompt of a request that has ended, or will have. */
  private static boolean leavesPrompt(InFlight entry, Outcome outcome, Usage usage) {
    return switch (outcome) {
      case Outcome.Succeeded(boolean served) -> served || entry.heard;
      case Outcome.Failed(Failure failure) -> failure != Failure.CONNECT && entry.computed;
      case Outcome.Ignored(Outcome.Rest rest) ->
          switch (rest) {
            case OVER -> entry.computed || usage.promptTokens() > 0;
            case GOES_ON -> true;
            case UNKNOWN -> entry.heard;
          };
    };
  }

  private void drain(long tokens, long now) {
    drained = drained * Math.exp((drainedAt - now) / DRAIN_NANOS) + tokens;
    drainedAt = now;
  }

  /** Evicts what the engine will have evicted for those in flight. */
  private void fit() {
    cache.shrinkTo(truth.tokens() - inFlight.size() * pool.meanAnswer());
  }

  private void publish() {
    state = figures();
  }

  private WorkerState figures() {
    double capacity = truth.declared();
    return new WorkerState(
        pool,
        progress.prefill(),
        progress.assumesAt(),
        progress.computed(),
        Math.min(1, progress.contextTokens() / capacity),
        capacity - cache.pinnedTokens() - (inFlight.size() + 1) * pool.meanAnswer(),
        worker.kvTokens() > 0,
        progress.speed(),
        Math.max(drained / DRAIN_NANOS * 1e6, capacity / DRAIN_PRIOR_MILLIS),
        keepsNothing());
  }
}
