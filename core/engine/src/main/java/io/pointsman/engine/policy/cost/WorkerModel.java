package io.pointsman.engine.policy.cost;

import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.cost.cache.BlockScale;
import io.pointsman.engine.policy.cost.cache.CacheMemory;
import io.pointsman.engine.policy.cost.cache.FleetCaches;
import io.pointsman.engine.policy.cost.cache.PlacedPrompt;
import io.pointsman.engine.policy.cost.cache.WorkerCache;
import io.pointsman.engine.policy.cost.latency.Expectation;
import io.pointsman.engine.policy.cost.latency.InFlight;
import io.pointsman.engine.policy.cost.latency.PrefillTracker;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The model of one worker: its cache, its prompts in flight, its speed and its free KV memory. It
 * learns from placements and their results only; the router does not query the engine.
 *
 * <p>Events change it under its lock. Picks take no lock: they read the state published by the last
 * event.
 */
public final class WorkerModel {
  private static final double DRAIN_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** Time in which a full worker becomes free, until the model has measured it. */
  private static final double DRAIN_PRIOR_MILLIS = 30_000;

  private final Worker worker;
  private final PlacementObserver observer;
  private final WorkerCache cache;
  private final PrefillTracker prefills;
  private final long joinedAt;
  private final Map<LeaseView, ModelPlacement> inFlight = new HashMap<>();

  private volatile KindModel kind;

  /** The base models that the worker served when it joined its kind. */
  private volatile Set<String> served;

  private boolean closed;

  /** True if the worker counts in its kind: one that is out takes no waiting request. */
  private volatile boolean counted = true;

  /**
   * True if the last response reported no first token although one was expected and it contained
   * tokens. The next response is then expected to report none either.
   */
  private boolean mute;

  private double drained;
  private long drainedAt;

  /** The state that picks read. */
  private volatile WorkerState state;

  /**
   * One request on this worker.
   *
   * @param awaited true if the request's first token is reported
   * @param report receives the result
   */
  record ModelPlacement(
      InFlight prefill, PlacedPrompt prompt, boolean awaited, PlacementObserver.Placed report) {}

  /**
   * @param kvTokens KV memory in tokens, if the worker does not report it
   * @param joinedAt the present time
   */
  WorkerModel(
      Worker worker,
      KindModel kind,
      FleetCaches caches,
      PlacementObserver observer,
      int kvTokens,
      long joinedAt) {
    this.worker = worker;
    this.kind = kind;
    this.observer = observer;
    this.joinedAt = joinedAt;
    served = worker.bases();
    drainedAt = joinedAt;
    cache = new WorkerCache(worker, caches, kind.cache(), kvTokens);
    kind.pool().workers(1);
    prefills = new PrefillTracker(kind.pool());
    state = figures();
  }

  /** Empties the cache if it became empty since the last call, as announced or with its engine. */
  synchronized void noticeClears(long now) {
    if (closed) {
      return;
    }
    long until = cache.clearedUntil(now);
    if (until != WorkerCache.NOT_EMPTIED) {
      emptied(until);
      publish();
    }
  }

  /** Empties the cache if the engine has ended. Takes a lock only in that case. */
  void noticeEnd(long now) {
    if (cache.engineEnded()) {
      noticeClears(now);
    }
  }

  /** Counts the worker in its kind while only its load can exclude it. */
  void noticeService() {
    if (worker.inService() != counted) {
      count();
    }
  }

  private synchronized void count() {
    boolean serves = worker.inService();
    if (!closed && serves != counted) {
      counted = serves;
      kind.pool().workers(serves ? 1 : -1);
    }
  }

  /** Removes the prompts placed up to a time, also those of requests in flight. */
  private void emptied(long until) {
    cache.empty(until);
    for (ModelPlacement each : inFlight.values()) {
      cache.drop(each.prompt, until);
    }
  }

  /** Returns the worker's step time as a multiple of the usual one of its kind. */
  public double speed() {
    return state.speed();
  }

  /** Sets the speed to one that another model of the same worker has learned. */
  public synchronized void speed(double learned) {
    prefills.speed(learned);
    state = state.withSpeed(learned);
  }

  /** Returns the time at which the router first saw the worker. */
  public long joinedAt() {
    return joinedAt;
  }

  public Worker worker() {
    return worker;
  }

  /** Returns true if the worker's base models have changed since it joined its kind. */
  boolean misplaced() {
    return !worker.bases().equals(served);
  }

  /** Returns the models that the worker shares with others of its kind. */
  public KindModel kind() {
    return kind;
  }

  /** Moves the worker to another kind, because its models have changed. */
  synchronized void join(KindModel other, Set<String> bases) {
    served = bases;
    if (other != kind && !closed) {
      int counts = counted ? 1 : 0;
      kind.pool().workers(-counts);
      kind = other;
      kind.pool().workers(counts);
      prefills.join(kind.pool());
      cache.join(kind.cache());
      publish();
    }
  }

  /** Ends the model, because the worker has left. Its requests in flight no longer count. */
  synchronized void close() {
    if (!closed) {
      closed = true;
      kind.pool().workers(counted ? -1 : 0);
      prefills.close();
      cache.close();
      inFlight.clear();
    }
  }

  /** Stops learning of the worker's speed. */
  synchronized void assumeUsualSpeed() {
    prefills.assumeUsualSpeed();
  }

  /** Returns the memory of its cache model. */
  CacheMemory.Part memory() {
    return cache.memory();
  }

  /** Evicts some prompts, because another worker's cache model needs the memory. */
  synchronized void giveBack() {
    cache.giveBack();
  }

  /** Returns the state for picks. Any thread. Takes a lock only if a change is due. */
  public WorkerState state(long now) {
    WorkerState at = state;
    return now - at.assumesAt() < 0 ? at : assumed(now);
  }

  private synchronized WorkerState assumed(long now) {
    if (!closed) {
      prefills.assume(now);
      publish();
    }
    return state;
  }

  /**
   * Records a placed request.
   *
   * @param tokens length of its prompt; 0 without a prompt
   * @param announced blocks of its key that the worker has by announcements, or {@link
   *     io.pointsman.engine.policy.cost.cache.CachedPrefix#NOT_ANNOUNCED}
   */
  synchronized void placed(RoutingRequest request, LeaseView lease, int tokens, int announced) {
    if (closed) {
      return;
    }
    long now = lease.placedAt();
    noticeClears(now);
    BlockScale scale = BlockScale.of(request.prefix());
    PlacedPrompt prompt = cache.look(scale, tokens, announced, now);
    prefills.assume(now);
    Expectation expected =
        new CostEstimator().about(kind, prompt.prefix(), now).expect(figures(), prompt.blocks());
    PlacementObserver.Placed report = observer.placing(request, scale, prompt.blocks(), this, now);
    cache.place(prompt);
    InFlight prefill =
        new InFlight(prompt.prefix(), tokens, prompt.reused(), prompt.certain(), now, expected);
    boolean awaited = request.observed();
    inFlight.put(lease, new ModelPlacement(prefill, prompt, awaited, report));
    prefills.begin(prefill, awaited && !mute);
    fit();
    publish();
  }

  /**
   * Records a request's first token.
   *
   * @param at its time; may be in the past
   * @return true if it was not known yet
   */
  synchronized boolean answered(LeaseView lease, long at) {
    ModelPlacement placement = inFlight.get(lease);
    if (placement == null || placement.prefill.answered() || closed) {
      return false;
    }
    mute &= !placement.awaited;
    prefills.answered(placement.prefill, at, state.util());
    publish();
    return true;
  }

  /**
   * Records the end of a request.
   *
   * @return the request; null if it was not known
   */
  synchronized @Nullable ModelPlacement ended(LeaseView lease, Outcome outcome, long now) {
    ModelPlacement placement = inFlight.remove(lease);
    if (placement == null || closed) {
      return null;
    }
    InFlight prefill = placement.prefill;
    Usage usage = lease.usage();
    prefills.assume(now);
    boolean served = outcome instanceof Outcome.Succeeded(boolean good) && good;
    // An answer without tokens (embedding, error in a stream) has no first token.
    if (served && usage.completionTokens() > 0) {
      mute |= placement.awaited && !prefill.answered();
    }
    // Read first: the end of an answer in one piece counts as its first token.
    boolean streamed = prefill.answered();
    // A response without a prompt count may have computed none, for example /tokenize.
    if (served && usage.promptTokens() > 0) {
      prefills.answeredWhole(prefill, now, state.util());
    }
    boolean computed = leavesPrompt(prefill, outcome, usage);
    prefills.end(prefill, now, computed);
    long released = cache.release(placement.prompt, computed);
    drain(released + Math.max(0, usage.completionTokens()), now);
    long emptiedUntil = cache.ended(placement.prompt, outcome, usage, now);
    if (emptiedUntil != WorkerCache.NOT_EMPTIED) {
      emptied(emptiedUntil);
    }
    if (usage.completionTokens() > 0) {
      kind.pool().answered(usage.completionTokens());
      if (streamed) {
        kind.pool().ended(prefill.expected().own(), (now - lease.placedAt()) / 1e6);
      }
    }
    fit();
    publish();
    return placement;
  }

  /** Returns true if the worker has computed the prompt of an ended request, or will. */
  private static boolean leavesPrompt(InFlight prefill, Outcome outcome, Usage usage) {
    return switch (outcome) {
      case Outcome.Succeeded(boolean served) -> served || prefill.answered();
      case Outcome.Failed(Failure failure, boolean _) ->
          failure != Failure.CONNECT && prefill.computed();
      case Outcome.Ignored(Outcome.Rest rest) ->
          switch (rest) {
            case OVER -> prefill.computed() || usage.promptTokens() > 0;
            case GOES_ON -> true;
            case UNKNOWN -> prefill.answered();
          };
    };
  }

  private void drain(long tokens, long now) {
    drained = drained * Math.exp((drainedAt - now) / DRAIN_NANOS) + tokens;
    drainedAt = now;
  }

  /** Evicts the prompts that the engine evicts for the requests in flight. */
  private void fit() {
    cache.fit(inFlight.size() * kind.pool().meanAnswer());
  }

  private void publish() {
    state = figures();
  }

  private WorkerState figures() {
    double capacity = cache.declaredTokens();
    return new WorkerState(
        kind,
        prefills.prefill(),
        prefills.assumesAt(),
        prefills.computed(),
        Math.min(1, prefills.contextTokens() / capacity),
        capacity - cache.pinnedTokens() - (inFlight.size() + 1) * kind.pool().meanAnswer(),
        worker.kvTokens() > 0,
        prefills.speed(),
        Math.max(drained / DRAIN_NANOS * 1e6, capacity / DRAIN_PRIOR_MILLIS),
        cache.keepsNothing());
  }
}
