package io.pointsman.engine.policy.cost;

import io.pointsman.engine.env.LargePages;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.kv.KvCredits;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.kv.KvKnowledge;
import io.pointsman.engine.policy.AnswerLearner;
import io.pointsman.engine.policy.Insight;
import io.pointsman.engine.policy.RequestWaits;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.cost.cache.CacheMemory;
import io.pointsman.engine.policy.cost.cache.CachedPrefix;
import io.pointsman.engine.policy.cost.cache.FleetCaches;
import io.pointsman.engine.policy.cost.latency.PoolModel;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Updates the models of {@code cost} from placements and their results: one model for each worker,
 * one for each kind of worker, and the caches of the fleet. Any thread.
 */
public final class CostLearner implements AnswerLearner {
  private final CostSettings settings;
  private final CostTerms terms;
  private final Ticker ticker;
  private final FleetCaches caches;
  private final KindModels kinds;
  private final AtomicReferenceArray<@Nullable WorkerModel> models;
  private final CostGuard guard;
  private PlacementObserver observer = PlacementObserver.NONE;

  /** False if another policy chooses the workers that serve the requests. */
  private boolean acts = true;

  /** The value of {@link KvIndex#allClears} that the models include. */
  private volatile long clearsSeen;

  /** Creates a learner for engines that announce nothing. */
  public CostLearner(CostSettings settings, Ticker ticker, int slots) {
    this(settings, KvKnowledge.none(ticker), KvCredits.DEFAULTS, ticker, slots, LargePages.NONE);
  }

  /**
   * @param kv the engines' announcements of their caches
   * @param credits values of blocks on other tiers than the device
   * @param slots number of slots of workers
   * @param largePages memory pages for the index
   */
  public CostLearner(
      CostSettings settings,
      KvKnowledge kv,
      KvCredits credits,
      Ticker ticker,
      int slots,
      LargePages largePages) {
    this(
        settings,
        new FleetCaches(settings.maxBytes(), kv, credits, slots, largePages),
        ticker,
        slots);
  }

  /** Creates a learner with given caches. */
  public CostLearner(CostSettings settings, FleetCaches caches, Ticker ticker, int slots) {
    this(settings, CostTerms.ALL, caches, ticker, slots);
  }

  /** Creates a learner for a rule without some parts. */
  public CostLearner(
      CostSettings settings, CostTerms terms, FleetCaches caches, Ticker ticker, int slots) {
    this.settings = settings;
    this.terms = terms;
    this.ticker = ticker;
    this.caches = caches;
    kinds = new KindModels(settings, terms);
    models = new AtomicReferenceArray<>(slots);
    guard = new CostGuard(ticker.nanos());
  }

  /** Uses the times that {@code other} learns. To be called before workers are adopted. */
  public CostLearner taughtBy(@Nullable CostLearner other) {
    if (other != null) {
      kinds.learnFrom(other.kinds);
    }
    return this;
  }

  /** Reports placements to {@code other}. To be called before workers are adopted. */
  public void observe(PlacementObserver other) {
    observer = other;
  }

  /**
   * For a shadow of another policy. Its workers do not serve its choices, so it neither learns the
   * speed of single workers nor falls back to least load. To be called before workers are adopted.
   */
  public void inShadow() {
    acts = false;
  }

  public PrefixIndex index() {
    return caches.index();
  }

  public FleetCaches caches() {
    return caches;
  }

  /** Returns the parts of the rule that apply. */
  CostTerms terms() {
    return terms;
  }

  /** Compares measured first tokens with those predicted for least load. */
  CostGuard guard() {
    return guard;
  }

  /** Returns the state of the fallback to least load. */
  public Insight.Fallback fallback() {
    return guard.view(ticker.nanos());
  }

  /** Finds the holders of a prompt for a decision; null if there are none. */
  @Nullable CachedPrefix find(RoutingRequest request, long now) {
    if (caches.announced().allClears() != clearsSeen) {
      noticeClears(now);
    }
    return caches.find(request, now);
  }

  private synchronized void noticeClears(long now) {
    clearsSeen = caches.announced().allClears();
    for (int slot = 0; slot < models.length(); slot++) {
      WorkerModel model = models.get(slot);
      if (model != null) {
        model.noticeClears(now);
      }
    }
  }

  /**
   * Returns the models of the pool's workers, in the pool's order. To be called before requests are
   * placed there. The model of a departed worker learns nothing.
   */
  public synchronized WorkerModel[] adopt(Pool pool) {
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
    KindModel kind = kinds.get(WorkerKind.of(worker), null);
    WorkerModel model =
        new WorkerModel(worker, kind, caches, observer, settings.kvTokens(), ticker.nanos());
    if (!acts || !terms.speeds()) {
      model.assumeUsualSpeed();
    }
    if (left) {
      // An outdated picker may still contain it, although its slot belongs to another worker.
      model.close();
      kinds.removeIfUnused(kind);
      return model;
    }
    // Its models may have changed in the meantime.
    join(model);
    models.set(worker.slot(), model);
    return model;
  }

  /**
   * Moves a worker to its kind if its models have changed, and notices a restarted engine and a
   * worker that is out.
   */
  void revisit(WorkerModel model, long now) {
    if (model.misplaced()) {
      join(model);
    }
    model.noticeEnd(now);
    model.noticeService();
  }

  private synchronized void join(WorkerModel model) {
    WorkerKind kind = WorkerKind.of(model.worker());
    KindModel former = model.kind();
    KindModel own = kinds.get(kind, former);
    model.join(own, kind.bases());
    kinds.removeIfUnused(former);
    // The model of a departed worker joins no kind.
    kinds.removeIfUnused(own);
  }

  /** Returns the number of kinds of workers. */
  int kinds() {
    return kinds.size();
  }

  private void drop(WorkerModel model) {
    model.close();
    kinds.removeIfUnused(model.kind());
    index().forget(model.worker().slot());
  }

  /** Returns the model of a worker; null if the worker has left. */
  public @Nullable WorkerModel model(Worker worker) {
    WorkerModel model = models.get(worker.slot());
    return model != null && model.worker() == worker ? model : null;
  }

  /** Returns the model of the worker in a slot below {@link #slots}; null if there is none. */
  public @Nullable WorkerModel inSlot(int slot) {
    return models.get(slot);
  }

  /** Returns the number of slots. */
  public int slots() {
    return models.length();
  }

  @Override
  public void placed(RoutingRequest request, LeaseView lease) {
    WorkerModel model = model(lease.worker());
    caches.pending().placed(lease);
    if (model != null) {
      int tokens = model.kind().pool().tokens(request.prefix());
      model.placed(request, lease, tokens, announcedBlocks(request, lease));
      if (model.memory().wants()) {
        makeRoom(model.memory());
      }
    }
  }

  /** Returns the blocks that the worker has by announcements, if they are known. */
  private int announcedBlocks(RoutingRequest request, LeaseView lease) {
    int slot = lease.worker().slot();
    CachedPrefix found =
        caches.announced().comparable(slot)
            ? caches.findUncounted(request, lease.placedAt())
            : null;
    return found == null ? CachedPrefix.NOT_ANNOUNCED : found.announcedBlocks(slot);
  }

  /** Takes memory from the largest cache model. Holds only that model's lock. */
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
  public void answered(RoutingRequest request, LeaseView lease, long at) {
    caches.pending().computed(lease);
    WorkerModel model = model(lease.worker());
    double predicted = request.result().predictedMillis();
    if (model != null && model.answered(lease, at) && !Double.isNaN(predicted)) {
      compare(request, lease.placedAt(), at);
    }
  }

  /** Passes a first token to the guard, if the request was placed by choice. */
  private void compare(RoutingRequest request, long placedAt, long at) {
    double plain = request.result().plainMillis();
    if (!acts || !terms.guard() || Double.isNaN(plain)) {
      return;
    }
    if (request.result().predictedMillis() == plain) {
      guard.answeredPlain(placedAt, (at - placedAt) / 1e6, plain, ticker.nanos());
    }
    RequestWaits waits = request.waits();
    // Earlier attempts do not count: they failed for another reason than the choice.
    long arrivedAt = placedAt - waits.deferredNanos();
    double plainAtArrival = Double.isNaN(waits.plainMillis()) ? plain : waits.plainMillis();
    guard.answered(arrivedAt, (at - arrivedAt) / 1e6, plainAtArrival, ticker.nanos());
  }

  @Override
  public void ended(RoutingRequest request, LeaseView lease, Outcome outcome) {
    caches.pending().computed(lease);
    WorkerModel model = model(lease.worker());
    if (model == null) {
      return;
    }
    WorkerModel.ModelPlacement placement = model.ended(lease, outcome, ticker.nanos());
    boolean good = outcome instanceof Outcome.Succeeded(boolean served) && served;
    Usage usage = lease.usage();
    if (placement != null && good && request.role() != Role.DECODE) {
      placement.report().succeeded(placement.prompt(), usage, request);
    }
    PrefixBlocks prefix = request.prefix();
    if (placement != null) {
      // Blocks placed recently may have been announced since, so they do not count.
      int found = Math.min(usage.cachedTokens(), placement.prompt().announceable());
      int slot = lease.worker().slot();
      caches.unseen().found(prefix, request.model(), slot, found, ticker.nanos());
    }
    if (usage.promptTokens() > 0 && prefix.tokens() > 0 && !PoolModel.exact(prefix)) {
      model.kind().pool().counted(prefix.tokens(), usage.promptTokens());
    }
  }

  @Override
  public synchronized void forget(Worker worker) {
    WorkerModel model = models.get(worker.slot());
    if (model != null && model.worker() == worker) {
      models.set(worker.slot(), null);
      drop(model);
    }
    caches.announced().forget(worker);
  }
}
