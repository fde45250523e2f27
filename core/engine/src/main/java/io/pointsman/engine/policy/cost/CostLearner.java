package io.pointsman.engine.policy.cost;

import io.pointsman.engine.env.LargePages;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.kv.KvCredits;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.kv.KvKnowledge;
import io.pointsman.engine.kv.PendingPrompts;
import io.pointsman.engine.policy.AnswerLearner;
import io.pointsman.engine.policy.CacheMissAttribution;
import io.pointsman.engine.policy.Insight;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Keeps what {@code cost} goes by up with what is placed and what comes back: a model of each
 * worker, one of each kind of worker, and the index of who holds which prefix.
 */
public final class CostLearner implements AnswerLearner {
  /** Half of the memory is the index's, to find holders by; half the models', to know when. */
  private static final int INDEX_SHARE = 2;

  /** From whom it takes how fast engines are, in place of learning it; null if it learns. */
  private @Nullable CostLearner teacher;

  private final CostSettings settings;
  private final KvKnowledge kv;

  /** The same for look-ups that are not for a decision. */
  private final KvKnowledge unseen;

  private final KvCredits credits;
  private final Ticker ticker;
  private final PrefixIndex index;
  private final PendingPrompts pending;
  private final Predictions predictions = new Predictions();
  private final AtomicReferenceArray<@Nullable WorkerModel> models;
  private final HitLedger ledger;
  private final WorkerModel.Shared shared;
  private final CostGuard guard;

  /** False if another policy acts: first tokens come from the workers that it has chosen. */
  private boolean acts = true;

  /** Of {@link KvIndex#allClears}, what models know of. */
  private volatile long clearsSeen;

  /** Guarded by this: those that have workers. */
  private final Map<Kind, PoolModel> kinds = new HashMap<>();

  /** For engines that announce nothing. */
  public CostLearner(CostSettings settings, Ticker ticker, int maxWorkers) {
    this(
        settings,
        KvKnowledge.none(ticker),
        KvCredits.DEFAULTS,
        ticker,
        maxWorkers,
        LargePages.NONE);
  }

  /**
   * @param kv what engines announce of their caches
   * @param credits what blocks on other tiers than the device are worth
   * @param largePages for the index
   */
  public CostLearner(
      CostSettings settings,
      KvKnowledge kv,
      KvCredits credits,
      Ticker ticker,
      int maxWorkers,
      LargePages largePages) {
    this.settings = settings;
    this.kv = kv;
    unseen = kv.unseen();
    this.credits = credits;
    this.ticker = ticker;
    long indexBytes = settings.maxBytes() / INDEX_SHARE;
    index = new PrefixIndex(indexBytes, maxWorkers, largePages);
    models = new AtomicReferenceArray<>(maxWorkers);
    guard = new CostGuard(ticker.nanos());
    pending = kv.index().pending();
    GhostList ghosts = new GhostList();
    ledger = new HitLedger(index, ghosts, models::get, maxWorkers, this::announced);
    long taken = indexBytes + GhostList.bytes() + HitLedger.bytes();
    shared =
        new WorkerModel.Shared(
            index, ghosts, ledger, kv.index(), new CacheMemory(settings.maxBytes() - taken));
  }

  /** Takes how fast engines are from {@code other}; to be said before workers are adopted. */
  CostLearner taughtBy(@Nullable CostLearner other) {
    teacher = other;
    return this;
  }

  /**
   * For a shadow of another policy. Its workers do not serve its choices, so it neither learns the
   * speed of one worker nor falls back to least load. To be called before workers are adopted.
   */
  public void inShadow() {
    acts = false;
  }

  public PrefixIndex index() {
    return index;
  }

  public Predictions predictions() {
    return predictions;
  }

  /** What the models of caches share. */
  CacheMemory memory() {
    return shared.memory();
  }

  CacheMissAttribution lostHits() {
    return ledger.sums();
  }

  /** Compares first tokens with those that least load would give. */
  CostGuard guard() {
    return guard;
  }

  Insight.Fallback fallback() {
    return guard.view(ticker.nanos());
  }

  /** Who holds how much of a prompt; null if nobody holds anything. */
  @Nullable CachedPrefix held(RoutingRequest request, long now) {
    if (kv.index().allClears() != clearsSeen) {
      emptyModels(now);
    }
    return CachedPrefix.of(index, pending, kv, credits, request, now);
  }

  /** The same for a decision that was made already, without counting what is looked up. */
  @Nullable CachedPrefix heldAgain(RoutingRequest request, long now) {
    return CachedPrefix.of(index, pending, unseen, credits, request, now);
  }

  /** The same where engines announce their caches; else null. */
  private @Nullable CachedPrefix announced(RoutingRequest request, long now) {
    return kv.index().blocks() > 0 ? heldAgain(request, now) : null;
  }

  /** Caches that are announced to be empty, or whose engines have started anew, hold nothing. */
  private synchronized void emptyModels(long now) {
    clearsSeen = kv.index().allClears();
    for (int slot = 0; slot < models.length(); slot++) {
      WorkerModel model = models.get(slot);
      if (model != null) {
        model.noticeClears(now);
      }
    }
  }

  /**
   * A model for each worker of the pool, in its order; called before requests are placed there. One
   * that has left learns nothing.
   */
  synchronized WorkerModel[] adopt(Pool pool) {
    WorkerModel[] adopted = new WorkerModel[pool.size()];
    for (int i = 0; i < adopted.length; i++) {
      adopted[i] = adopt(pool.worker(i));
    }
    return adopted;
  }

  private WorkerModel adopt(Worker worker) {
    WorkerModel present = models.get(worker.slot());
    if (present != null && present.worker() == worker) {
      join(present);
      return present;
    }
    boolean left = worker.left();
    if (present != null && !left) {
      drop(present);
    }
    PoolModel kind = kind(Kind.of(worker), null);
    WorkerModel model = new WorkerModel(worker, kind, shared, settings.kvTokens(), ticker.nanos());
    if (!acts) {
      model.assumeUsualSpeed();
    }
    if (left) {
      // A stale picker may see it still, while its slot is another's.
      model.close();
      freeIfUnused(kind);
      return model;
    }
    // It may have told other models in between.
    join(model);
    models.set(worker.slot(), model);
    return model;
  }

  /** Takes a worker to its kind, if it has told since what it serves; notices a new engine. */
  void revisit(WorkerModel model, long now) {
    if (model.misplaced()) {
      join(model);
    }
    model.noticeEnd(now);
  }

  private synchronized void join(WorkerModel model) {
    Kind kind = Kind.of(model.worker());
    PoolModel former = model.kind();
    PoolModel own = kind(kind, former);
    model.join(own, kind.bases());
    freeIfUnused(former);
    // Whose worker has left joins none.
    freeIfUnused(own);
  }

  /**
   * @param former of which a worker has been that is now of this kind; null if it is new
   */
  private PoolModel kind(Kind kind, @Nullable PoolModel former) {
    PoolModel present = kinds.get(kind);
    if (present != null) {
      return present;
    }
    PoolModel created =
        new PoolModel(kind, settings, teacher == null ? null : teacher.learned(kind));
    if (former != null && kind.continues(former.kind())) {
      created.beginFrom(former);
    }
    kinds.put(kind, created);
    return created;
  }

  private synchronized PoolModel learned(Kind kind) {
    return kind(kind, null);
  }

  private void freeIfUnused(PoolModel kind) {
    if (kind.unused()) {
      kinds.remove(kind.kind(), kind);
    }
  }

  /** How many kinds of workers there are. */
  synchronized int kinds() {
    return kinds.size();
  }

  private void drop(WorkerModel model) {
    model.close();
    freeIfUnused(model.kind());
    index.forget(model.worker().slot());
  }

  /** The model of a worker; null if it has left. */
  @Nullable WorkerModel model(Worker worker) {
    WorkerModel model = models.get(worker.slot());
    return model != null && model.worker() == worker ? model : null;
  }

  @Override
  public void placed(RoutingRequest request, Lease lease) {
    WorkerModel model = model(lease.worker());
    pending.placed(lease);
    if (model != null) {
      model.placed(request, lease, model.kind().tokens(request.prefix()), told(request, lease));
      if (model.memory().wants()) {
        makeRoom(model.memory());
      }
    }
  }

  /** Blocks that a request's worker holds, if announcements tell. */
  private int told(RoutingRequest request, Lease lease) {
    int slot = lease.worker().slot();
    CachedPrefix held = kv.index().comparable(slot) ? heldAgain(request, lease.placedAt()) : null;
    return held == null ? CachedPrefix.UNTOLD : held.told(slot);
  }

  /** Has whoever has most of the memory give some of it back; under no lock but that one's. */
  private void makeRoom(CacheMemory.Part wanting) {
    wanting.asked();
    WorkerModel most = null;
    for (int slot = 0; slot < models.length(); slot++) {
      WorkerModel each = models.get(slot);
      if (each != null && (most == null || each.memory().bytes() > most.memory().bytes())) {
        most = each;
      }
    }
    if (most != null) {
      most.giveBack();
    }
  }

  @Override
  public void answered(RoutingRequest request, Lease lease) {
    answered(request, lease, lease.firstTokenAt());
  }

  /** The same with the time of the first token, which may have passed. */
  void answered(RoutingRequest request, Lease lease, long at) {
    pending.computed(lease);
    WorkerModel model = model(lease.worker());
    double predicted = request.notes().predictedMillis();
    if (model != null && model.answered(lease, at) && !Double.isNaN(predicted)) {
      double measured = (at - lease.placedAt()) / 1e6;
      predictions.add(predicted, measured);
      double plain = request.notes().plainMillis();
      if (acts && !Double.isNaN(plain)) {
        guard.answered(lease.placedAt(), measured, plain, predicted == plain, ticker.nanos());
      }
    }
  }

  @Override
  public void ended(RoutingRequest request, Lease lease, Outcome outcome) {
    pending.computed(lease);
    WorkerModel model = model(lease.worker());
    if (model == null) {
      return;
    }
    InFlight entry = model.ended(lease, outcome, ticker.nanos());
    boolean good = outcome instanceof Outcome.Succeeded(boolean served) && served;
    Usage usage = lease.usage();
    if (entry != null && good && request.role() != Role.DECODE) {
      ledger.book(entry, usage, request.notes());
    }
    PrefixBlocks prefix = request.prefix();
    if (entry != null) {
      // What was brought a short while before may have been announced since.
      int found = Math.min(usage.cachedTokens(), entry.announceable);
      unseen.found(prefix, request.model(), lease.worker().slot(), found, ticker.nanos());
    }
    if (usage.promptTokens() > 0 && prefix.tokens() > 0 && !PoolModel.exact(prefix)) {
      model.kind().counted(prefix.tokens(), usage.promptTokens());
    }
  }

  @Override
  public synchronized void forget(Worker worker) {
    WorkerModel model = models.get(worker.slot());
    if (model != null && model.worker() == worker) {
      models.set(worker.slot(), null);
      drop(model);
    }
    kv.index().forget(worker);
  }
}
