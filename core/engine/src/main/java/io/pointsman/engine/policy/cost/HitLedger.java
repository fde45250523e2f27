package io.pointsman.engine.policy.cost;

import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.CacheMiss;
import io.pointsman.engine.policy.CacheMissAttribution;
import io.pointsman.engine.policy.PickNotes;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.HolderBitmap;
import io.pointsman.engine.prefix.IndexedLengths;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Finds out why prompt tokens were not found in a cache: looks who has a prompt when it is placed,
 * and books what was found when it has ended. Any thread.
 */
final class HitLedger {
  /** A worker counts as new for so long. */
  private static final long NEW_NANOS = TimeUnit.MINUTES.toNanos(1);

  /** Workers that joined as close to each other as this are of one age. */
  private static final long SAME_AGE_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Engines find whole blocks and leave the last token: less than this share is no loss. */
  private static final double ROUNDING = 0.1;

  /** So few tokens are no loss either. */
  private static final int ROUNDING_TOKENS = 64;

  /**
   * What of a prompt was expected to be found where it was placed, and why not more: the prompt is
   * cut into what the worker holds, what another holds beyond that, what was held until of late,
   * and the rest.
   *
   * @param held blocks that the worker holds
   * @param elsewhere blocks that the worker that holds most holds; at least {@code held}
   * @param notThere why the request is not there
   * @param remembered blocks that were held until of late; at least {@code elsewhere}
   * @param lost how they were lost
   * @param rest why nobody has what is beyond
   */
  record Prospect(
      int held,
      int elsewhere,
      CacheMiss notThere,
      int remembered,
      CacheMiss lost,
      CacheMiss rest) {}

  private final PrefixIndex index;
  private final GhostList ghosts;
  private final SaltList salts = new SaltList();
  private final IntFunction<@Nullable WorkerModel> bySlot;
  private final int slots;
  private final Announcements announcements;
  private final CacheMissAttribution sums = new CacheMissAttribution();

  /** Looks a prompt up for its holders, those included that are known by announcements alone. */
  @FunctionalInterface
  interface Announcements {
    /** Null if nobody holds anything. */
    @Nullable CachedPrefix held(RoutingRequest request, long now);
  }

  /**
   * @param bySlot the model of the worker in a slot; null if there is none
   * @param slots how many slots there are
   */
  HitLedger(
      PrefixIndex index,
      GhostList ghosts,
      IntFunction<@Nullable WorkerModel> bySlot,
      int slots,
      Announcements announcements) {
    this.index = index;
    this.ghosts = ghosts;
    this.bySlot = bySlot;
    this.slots = slots;
    this.announcements = announcements;
  }

  CacheMissAttribution sums() {
    return sums;
  }

  /**
   * What can be expected of a prompt that is about to be placed.
   *
   * @param grain of its key; all blocks are counted in it
   * @param held blocks that the chosen worker holds
   */
  Prospect prospect(
      RoutingRequest request, BlockScale grain, int held, WorkerModel chosen, long now) {
    PrefixBlocks key = request.prefix();
    PrefixBlocks prefix = grain.coarse();
    PickNotes notes = request.notes();
    int longest = looksAtHoldings(notes) ? grain.coarse(notes.knownBlocks()) : index.match(prefix);
    longest = Math.max(held, Math.min(longest, prefix.count()));
    Elsewhere elsewhere =
        longest > held
            ? elsewhere(request, grain, held, longest, chosen, now)
            : new Elsewhere(held, CacheMiss.NEVER_SEEN, held);
    int from = elsewhere.evicted;
    int remembered = remembered(prefix, from);
    CacheMiss lost = from > elsewhere.blocks ? CacheMiss.EVICTED : CacheMiss.NEVER_SEEN;
    if (lost == CacheMiss.NEVER_SEEN && remembered > from) {
      lost = fate(prefix, from);
    }
    CacheMiss rest = remembered == 0 ? newOrSalted(key) : CacheMiss.NEVER_SEEN;
    if (key.count() > 0) {
      salts.add(key.start(), key.hashes()[0]);
    }
    return new Prospect(held, elsewhere.blocks, elsewhere.notThere, remembered, lost, rest);
  }

  /** Whether the notes say how much any worker holds: {@code cost} chose, fallen back or not. */
  private static boolean looksAtHoldings(PickNotes notes) {
    return notes.reason() == PickReason.LEAST_COST
        || (notes.reason() == PickReason.LEAST_LOAD && notes.expectsHits());
  }

  /**
   * Who holds more of a prompt than the chosen worker.
   *
   * @param blocks that the worker holds that holds most
   * @param notThere why the request is not there
   * @param evicted blocks that were placed somewhere and then announced as evicted; at least {@code
   *     blocks}
   */
  private record Elsewhere(int blocks, CacheMiss notThere, int evicted) {}

  private Elsewhere elsewhere(
      RoutingRequest request,
      BlockScale grain,
      int held,
      int longest,
      WorkerModel chosen,
      long now) {
    CachedPrefix known = announcements.held(request, now);
    if (known == null || !known.announced()) {
      return new Elsewhere(longest, notThere(grain.coarse(), longest, chosen, now), longest);
    }
    AnnouncedHolders holders =
        new AnnouncedHolders(known, grain, bySlot, chosen, held, longest, now);
    WorkerModel holder = holders.find(slots);
    int blocks = holders.blocks();
    CacheMiss notThere = holder == null ? CacheMiss.EVICTED : notWith(holder, chosen, now);
    // The last block of a prompt is seldom full, and is not announced then.
    return new Elsewhere(blocks, notThere, longest - blocks > 1 ? longest : blocks);
  }

  /** Why a request is not where most of its prompt is held, as far as placements tell. */
  private CacheMiss notThere(PrefixBlocks prefix, int blocks, WorkerModel chosen, long now) {
    HolderBitmap crowd = index.crowd(prefix, blocks);
    if (crowd != null) {
      return crowd.holds(chosen.worker().slot()) ? CacheMiss.EVICTED : CacheMiss.LOAD;
    }
    @Nullable CacheMiss reason = null;
    for (int holder = index.holder(prefix, blocks, 0);
        holder != PrefixIndex.NOBODY;
        holder = index.holder(prefix, blocks, PrefixIndex.after(holder))) {
      WorkerModel model = bySlot.apply(PrefixIndex.slotOf(holder));
      if (model == chosen) {
        return CacheMiss.EVICTED;
      }
      if (reason == null || (model != null && choosable(model.worker(), now))) {
        reason = model == null ? CacheMiss.WORKER_GONE : notWith(model, chosen, now);
      }
    }
    return reason != null ? reason : fate(prefix.hashes()[blocks - 1]);
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

  /** Blocks up to which the prompt was held until of late, behind {@code from}. */
  private int remembered(PrefixBlocks prefix, int from) {
    int ends = CacheModel.ends(prefix);
    int known = from;
    for (int i = from == 0 ? 0 : IndexedLengths.upTo(from); i < ends; i++) {
      int end = CacheModel.end(prefix, i, ends);
      if (end > known) {
        if (ghosts.fate(prefix.hashes()[end - 1]) == null) {
          return known;
        }
        known = end;
      }
    }
    return known;
  }

  /** How the first block behind {@code from}, which is remembered, was lost. */
  private CacheMiss fate(PrefixBlocks prefix, int from) {
    int ends = CacheModel.ends(prefix);
    int at = from == 0 ? 0 : Math.min(IndexedLengths.upTo(from), ends - 1);
    int end = CacheModel.end(prefix, at, ends);
    return fate(prefix.hashes()[end - 1]);
  }

  private CacheMiss fate(long hash) {
    return ghosts.fate(hash) == GhostList.Fate.EVICTED ? CacheMiss.EVICTED : CacheMiss.WORKER_GONE;
  }

  private CacheMiss newOrSalted(PrefixBlocks prefix) {
    return prefix.count() > 0 && salts.underAnother(prefix.start(), prefix.hashes()[0])
        ? CacheMiss.OTHER_SALT
        : CacheMiss.NEVER_SEEN;
  }

  /** Books a request that has ended well. */
  void book(InFlight entry, Usage usage, PickNotes notes) {
    Prospect prospect = entry.prospect;
    int prompt = usage.promptTokens() > 0 ? usage.promptTokens() : entry.tokens;
    if (prompt == 0) {
      return;
    }
    PrefixBlocks prefix = entry.prefix;
    int expected = tokens(prompt, prefix, prospect.held());
    int cached = usage.cachedTokens() < 0 ? expected : Math.min(usage.cachedTokens(), prompt);
    sums.add(prompt, expected, cached);
    if (expected - cached > Math.max(ROUNDING_TOKENS, ROUNDING * expected)) {
      lost(notes, notFound(entry), expected - cached);
    }
    int from = Math.max(expected, cached);
    int elsewhere = tokens(prompt, prefix, prospect.elsewhere());
    lost(notes, prospect.notThere(), elsewhere - from);
    from = Math.max(from, elsewhere);
    int remembered = tokens(prompt, prefix, prospect.remembered());
    lost(notes, prospect.lost(), remembered - from);
    lost(notes, prospect.rest(), prompt - Math.max(from, remembered));
  }

  private static int tokens(int prompt, PrefixBlocks prefix, int blocks) {
    return (int) Math.round(prompt * prefix.ratio(blocks));
  }

  /** Why a worker did not find what it was sent. */
  private static CacheMiss notFound(InFlight entry) {
    if (entry.emptied) {
      return CacheMiss.WORKER_GONE;
    }
    return entry.mayBeEvicted ? CacheMiss.EVICTED : CacheMiss.TOKENS_DIFFER;
  }

  private void lost(PickNotes notes, CacheMiss reason, int tokens) {
    if (tokens > 0) {
      sums.lost(reason, tokens);
      notes.lost(reason, tokens);
    }
  }

  static long bytes() {
    return SaltList.bytes();
  }
}
