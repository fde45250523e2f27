package io.pointsman.engine.policy.kv;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.kv.KvCredits;
import io.pointsman.engine.kv.KvKnowledge;
import io.pointsman.engine.kv.PendingPrompts;
import io.pointsman.engine.policy.AnswerLearner;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.cache.PrefixLearner;
import io.pointsman.engine.policy.cost.cache.PrefixHolders;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * The state of {@code kv_aware} in addition to KV events. It counts the uncached prompt tokens that
 * each worker must still compute, from placement to the first token or the end. It also records
 * placements, for workers without events and for prompts without known ids.
 */
public final class KvLearner implements AnswerLearner {
  private final KvKnowledge knowledge;

  /** A view for lookups that do not belong to a decision. */
  private final KvKnowledge unseen;

  private final KvCredits credits;
  private final Ticker ticker;
  private final PrefixLearner placements;
  private final AtomicLongArray prefillTokens;
  private final PendingPrompts pending;

  /** Tokens counted for each lease without a first token; as many entries as leases in flight. */
  private final ConcurrentHashMap<LeaseView, Integer> charged = new ConcurrentHashMap<>();

  /** Tokens that each lease's worker must have announced by now, if it holds them. */
  private final ConcurrentHashMap<LeaseView, Integer> announceable = new ConcurrentHashMap<>();

  /**
   * @param credits values of blocks on tiers other than the device
   * @param index index of placements
   */
  public KvLearner(
      KvKnowledge knowledge, KvCredits credits, Ticker ticker, PrefixIndex index, int slots) {
    this.ticker = ticker;
    this.knowledge = knowledge;
    unseen = knowledge.unseen();
    this.credits = credits;
    placements = new PrefixLearner(index, slots, ticker.nanos());
    prefillTokens = new AtomicLongArray(slots);
    pending = knowledge.index().pending();
  }

  KvKnowledge knowledge() {
    return knowledge;
  }

  /** The index of placements. */
  public PrefixIndex placements() {
    return placements.index();
  }

  /** The prompts that are placed but not computed yet. */
  PendingPrompts pending() {
    return pending;
  }

  /** Uncached prompt tokens placed on the worker in a slot without a first token yet. */
  long prefillTokens(int slot) {
    return Math.max(0, prefillTokens.getOpaque(slot));
  }

  void adopt(Pool pool) {
    placements.adopt(pool);
  }

  @Override
  public void placed(RoutingRequest request, LeaseView lease) {
    int uncached = uncached(request, lease);
    int tokens = announceable(request, lease);
    if (tokens > 0) {
      announceable.put(lease, tokens);
    }
    placements.placed(request, lease);
    pending.placed(lease);
    if (uncached > 0) {
      prefillTokens.addAndGet(lease.worker().slot(), uncached);
      charged.put(lease, uncached);
    }
  }

  private int uncached(RoutingRequest request, LeaseView lease) {
    if (request.result().reason() != PickReason.STICKY_HIT || lease.promptTokens() == 0) {
      return lease.promptTokens() - lease.cachedTokens();
    }
    // The session determined the worker, so no policy has looked up the prompt.
    KnownPrompt prompt = new KnownPrompt(request, this, credits, lease.placedAt());
    return (int) Math.ceil(prompt.input() - prompt.credit(lease.worker().slot()));
  }

  /**
   * Excludes recently placed prompts, because they or their events may still be on the way. For a
   * bitmap the times of single holders are not known, so it is not excluded. Otherwise a prefix
   * that all workers hold could never reveal missing events.
   */
  private int announceable(RoutingRequest request, LeaseView lease) {
    PrefixBlocks prompt = request.prefix();
    int slot = lease.worker().slot();
    boolean reports = request.role() != Role.DECODE && knowledge.index().live(slot);
    PrefixHolders holders = reports ? PrefixHolders.of(placements(), prompt) : null;
    int blocks = holders == null ? 0 : holders.blocks(slot);
    long late = lease.placedAt() - KvKnowledge.LATE_NANOS;
    boolean fresh =
        blocks > 0
            && placements().holderBitmap(prompt, blocks) == null
            && placements().addedSince(prompt, blocks, placements().epoch(slot), late);
    return fresh ? 0 : (int) (lease.promptTokens() * prompt.ratio(blocks));
  }

  @Override
  public void answered(RoutingRequest request, LeaseView lease, long at) {
    computed(lease);
  }

  @Override
  public void ended(RoutingRequest request, LeaseView lease, Outcome outcome) {
    placements.ended(request, lease, outcome);
    computed(lease);
    Integer tokens = announceable.remove(lease);
    if (tokens != null) {
      int found = Math.min(lease.usage().cachedTokens(), tokens);
      unseen.found(request.prefix(), request.model(), lease.worker().slot(), found, ticker.nanos());
    }
  }

  private void computed(LeaseView lease) {
    pending.computed(lease);
    Integer uncached = charged.remove(lease);
    if (uncached != null) {
      // The slot does not pass to another worker before the lease is settled.
      prefillTokens.addAndGet(lease.worker().slot(), -uncached);
    }
  }

  @Override
  public void forget(Worker worker) {
    placements.forget(worker);
    knowledge.index().forget(worker);
  }
}
