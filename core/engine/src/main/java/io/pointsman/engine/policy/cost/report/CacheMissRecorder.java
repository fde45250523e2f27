package io.pointsman.engine.policy.cost.report;

import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.CacheMiss;
import io.pointsman.engine.policy.CacheMissAttribution;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.cost.CostLearner;
import io.pointsman.engine.policy.cost.PlacementObserver;
import io.pointsman.engine.policy.cost.WorkerModel;
import io.pointsman.engine.policy.cost.cache.BlockScale;
import io.pointsman.engine.policy.cost.cache.CachedPrefix;
import io.pointsman.engine.policy.cost.cache.GhostList;
import io.pointsman.engine.policy.cost.cache.PlacedPrompt;
import io.pointsman.engine.prefix.HolderBitmap;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Records why prompt tokens were not found in a cache. It looks up the holders of a prompt when a
 * request is placed, and compares them with the cached tokens when the request has ended. Any
 * thread.
 */
public final class CacheMissRecorder implements PlacementObserver {
  /** Time for which a worker counts as new. */
  private static final long NEW_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** Workers that joined within this time count as equally old. */
  private static final long SAME_AGE_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Engines match whole blocks and leave the last token: a smaller fraction is no loss. */
  private static final double ROUNDING = 0.1;

  /** A smaller number of tokens is no loss either. */
  private static final int ROUNDING_TOKENS = 64;

  /**
   * The expected cache hit of a placed prompt, and the reasons for the rest. The prompt has four
   * parts, in this order: the worker has it; another worker has it; it was lost recently; the rest.
   *
   * @param cached blocks that the worker has
   * @param elsewhere most blocks that any worker has; at least {@code cached}
   * @param notThere why the request is not on that worker
   * @param remembered blocks up to the end of the recently lost part; at least {@code elsewhere}
   * @param lost why they were lost
   * @param rest why no worker has the rest
   */
  private record Prospect(
      int cached,
      int elsewhere,
      CacheMiss notThere,
      int remembered,
      CacheMiss lost,
      CacheMiss rest) {}

  private final CostLearner learner;
  private final PrefixIndex index;
  private final GhostList ghosts;
  private final SaltList salts = new SaltList();
  private final CacheMissAttribution sums = new CacheMissAttribution();

  private CacheMissRecorder(CostLearner learner) {
    this.learner = learner;
    index = learner.index();
    ghosts = learner.caches().ghosts();
  }

  /** Creates a recorder of the learner's placements; to be called before workers are adopted. */
  public static CacheMissRecorder observing(CostLearner learner) {
    CacheMissRecorder recorder = new CacheMissRecorder(learner);
    learner.observe(recorder);
    return recorder;
  }

  /** Returns the sums since the start. */
  public CacheMissAttribution sums() {
    return sums;
  }

  @Override
  public Placed placing(
      RoutingRequest request, BlockScale scale, int cached, WorkerModel chosen, long now) {
    Prospect prospect = prospect(request, scale, cached, chosen, now);
    return (prompt, usage, ended) -> record(prospect, prompt, usage, ended);
  }

  private Prospect prospect(
      RoutingRequest request, BlockScale scale, int cached, WorkerModel chosen, long now) {
    PrefixBlocks key = request.prefix();
    PrefixBlocks prefix = scale.coarse();
    PickResult result = request.result();
    int longest = hasKnownBlocks(result) ? scale.coarse(result.knownBlocks()) : index.match(prefix);
    longest = Math.max(cached, Math.min(longest, prefix.count()));
    Elsewhere elsewhere =
        longest > cached
            ? elsewhere(request, scale, cached, longest, chosen, now)
            : new Elsewhere(cached, CacheMiss.NEVER_SEEN, cached);
    int from = elsewhere.evicted;
    int remembered = ghosts.lostUpTo(prefix, from);
    CacheMiss lost = from > elsewhere.blocks ? CacheMiss.EVICTED : CacheMiss.NEVER_SEEN;
    if (lost == CacheMiss.NEVER_SEEN && remembered > from) {
      lost = reason(ghosts.fateAfter(prefix, from));
    }
    CacheMiss rest = remembered == 0 ? newOrSalted(key) : CacheMiss.NEVER_SEEN;
    if (key.count() > 0) {
      salts.add(key.start(), key.hashes()[0]);
    }
    return new Prospect(cached, elsewhere.blocks, elsewhere.notThere, remembered, lost, rest);
  }

  /** Returns true if the result has the longest cached prefix: {@code cost} has chosen. */
  private static boolean hasKnownBlocks(PickResult result) {
    return result.reason() == PickReason.LEAST_COST
        || (result.reason() == PickReason.LEAST_LOAD && result.expectsHits());
  }

  /**
   * The part of a prompt that another worker has.
   *
   * @param blocks most blocks that any worker has
   * @param notThere why the request is not on that worker
   * @param evicted blocks up to the end of a part that workers had and announced as evicted; at
   *     least {@code blocks}
   */
  private record Elsewhere(int blocks, CacheMiss notThere, int evicted) {}

  private Elsewhere elsewhere(
      RoutingRequest request,
      BlockScale scale,
      int cached,
      int longest,
      WorkerModel chosen,
      long now) {
    CachedPrefix known =
        learner.caches().announced().blocks() > 0
            ? learner.caches().findUncounted(request, now)
            : null;
    if (known == null || !known.announced()) {
      return new Elsewhere(longest, notThere(scale.coarse(), longest, chosen, now), longest);
    }
    AnnouncedHolders holders =
        new AnnouncedHolders(known, scale, learner::inSlot, chosen, cached, longest, now);
    WorkerModel holder = holders.find(learner.slots());
    int blocks = holders.blocks();
    CacheMiss notThere = holder == null ? CacheMiss.EVICTED : notWith(holder, chosen, now);
    // Engines do not announce the last block of a prompt if it is not full.
    return new Elsewhere(blocks, notThere, longest - blocks > 1 ? longest : blocks);
  }

  /** Returns why a request is not on the worker with the longest prefix, by placements. */
  private CacheMiss notThere(PrefixBlocks prefix, int blocks, WorkerModel chosen, long now) {
    HolderBitmap many = index.holderBitmap(prefix, blocks);
    if (many != null) {
      return many.holds(chosen.worker().slot()) ? CacheMiss.EVICTED : CacheMiss.LOAD;
    }
    @Nullable CacheMiss reason = null;
    for (int holder = index.holder(prefix, blocks, 0);
        holder != PrefixIndex.NOBODY;
        holder = index.holder(prefix, blocks, PrefixIndex.after(holder))) {
      WorkerModel model = learner.inSlot(PrefixIndex.slotOf(holder));
      if (model == chosen) {
        return CacheMiss.EVICTED;
      }
      if (reason == null || (model != null && choosable(model.worker(), now))) {
        reason = model == null ? CacheMiss.WORKER_GONE : notWith(model, chosen, now);
      }
    }
    return reason != null ? reason : reason(ghosts.fate(prefix.hashes()[blocks - 1]));
  }

  private static CacheMiss notWith(WorkerModel holder, WorkerModel chosen, long now) {
    if (!choosable(holder.worker(), now)) {
      return CacheMiss.WORKER_GONE;
    }
    boolean younger = chosen.joinedAt() - holder.joinedAt() > SAME_AGE_NANOS;
    return younger && now - chosen.joinedAt() < NEW_NANOS ? CacheMiss.NEW_WORKER : CacheMiss.LOAD;
  }

  static boolean choosable(Worker worker, long now) {
    return worker.eligible(now) || worker.merelyBusy(now);
  }

  /**
   * Returns the reason of a miss of blocks that a worker had.
   *
   * @param fate the reason of their loss; null if it is unknown, for example because an engine
   *     announced their removal between the choice and the placement
   */
  private static CacheMiss reason(GhostList.@Nullable Fate fate) {
    return switch (fate) {
      case null -> CacheMiss.EVICTED;
      case EVICTED -> CacheMiss.EVICTED;
      case EMPTIED, LEFT -> CacheMiss.WORKER_GONE;
    };
  }

  private CacheMiss newOrSalted(PrefixBlocks prefix) {
    return prefix.count() > 0 && salts.underAnother(prefix.start(), prefix.hashes()[0])
        ? CacheMiss.OTHER_SALT
        : CacheMiss.NEVER_SEEN;
  }

  private void record(Prospect prospect, PlacedPrompt placed, Usage usage, RoutingRequest request) {
    int prompt = usage.promptTokens() > 0 ? usage.promptTokens() : placed.tokens();
    if (prompt == 0) {
      return;
    }
    PrefixBlocks prefix = placed.prefix();
    int expected = tokens(prompt, prefix, prospect.cached());
    int cached = usage.cachedTokens() < 0 ? expected : Math.min(usage.cachedTokens(), prompt);
    sums.add(prompt, expected, cached);
    if (expected - cached > Math.max(ROUNDING_TOKENS, ROUNDING * expected)) {
      lost(request, notFound(placed), expected - cached);
    }
    int from = Math.max(expected, cached);
    int elsewhere = tokens(prompt, prefix, prospect.elsewhere());
    lost(request, prospect.notThere(), elsewhere - from);
    from = Math.max(from, elsewhere);
    int remembered = tokens(prompt, prefix, prospect.remembered());
    lost(request, prospect.lost(), remembered - from);
    lost(request, prospect.rest(), prompt - Math.max(from, remembered));
  }

  private static int tokens(int prompt, PrefixBlocks prefix, int blocks) {
    return (int) Math.round(prompt * prefix.ratio(blocks));
  }

  /** Returns why a worker did not find a prefix that it should have. */
  private static CacheMiss notFound(PlacedPrompt placed) {
    if (placed.emptied()) {
      return CacheMiss.WORKER_GONE;
    }
    return placed.mayBeEvicted() ? CacheMiss.EVICTED : CacheMiss.TOKENS_DIFFER;
  }

  private void lost(RoutingRequest request, CacheMiss reason, int tokens) {
    if (tokens > 0) {
      sums.lost(reason, tokens);
      request.lost(reason, tokens);
    }
  }
}
