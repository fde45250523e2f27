package io.pointsman.engine;

import static java.util.Objects.requireNonNull;

import io.pointsman.engine.Pickers.PooledPicker;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.LeaseKind;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.SilentPools;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.Insight;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.WantedFields;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Decides which worker serves a request. The decision is a lease on a worker, or the reason for a
 * rejection. The engine does no I/O, and any number of threads may use it. The decision path takes
 * no lock in the engine, unless it finds no worker while workers are being replaced.
 *
 * <p>The engine rebuilds pickers when the fleet changes and publishes them through one volatile
 * field. A policy cannot fail a request. If it throws, the engine reports the fault. If it throws,
 * chooses no worker, or chooses an ineligible one, the engine places the request by least load.
 *
 * <p>It is one class because decisions, previews and explanations share their steps: the pool, the
 * pick, and the check of the picked worker.
 */
public final class RoutingEngine {
  /**
   * Maximum number of picks for one request. A worker can become ineligible between pick and lease:
   * its last slot or its breaker's probe is taken. A worker can become eligible after a pick that
   * found none.
   */
  private static final int PICKS = 8;

  private final Fleet fleet;
  private volatile StagePolicies policies;
  private volatile EngineSettings settings;

  /** Models that were found beside the settings and may have no worker for a time. */
  private volatile Set<String> discovered = Set.of();

  private final EngineListener listener;
  private final LearnerReports reports;
  private final Ticker ticker;
  private final RandomSource random;
  private final MissedModels missed;
  private volatile WantedFields wanted;
  private volatile boolean anyServesWhole;
  private volatile Pickers pickers;

  /**
   * Creates an engine that follows changes of {@code fleet}.
   *
   * @param policy the policy for all roles, with its learners
   */
  public RoutingEngine(
      Fleet fleet,
      PolicySetup policy,
      EngineSettings settings,
      EngineListener listener,
      Ticker ticker,
      RandomSource random) {
    this(fleet, StagePolicies.same(policy), settings, listener, ticker, random);
  }

  /**
   * Creates an engine that follows changes of {@code fleet}.
   *
   * @param policies the policies, each with its learners
   */
  public RoutingEngine(
      Fleet fleet,
      StagePolicies policies,
      EngineSettings settings,
      EngineListener listener,
      Ticker ticker,
      RandomSource random) {
    this.fleet = fleet;
    this.policies = policies;
    wanted = policies.wanted();
    this.settings = settings;
    this.listener = listener;
    reports = new LearnerReports(listener, policies.learners());
    this.ticker = ticker;
    missed = new MissedModels(ticker);
    this.random = random;
    pickers = new Pickers(fleet.snapshot(), null, policies, this::build);
    fleet.listen(this::follow);
  }

  /** The fleet calls this under its lock, so calls are sequential. */
  private void follow(FleetSnapshot snapshot) {
    FleetSnapshot before = pickers.snapshot();
    if (snapshot.version() == before.version()) {
      return;
    }
    missed.follow(before, snapshot);
    pickers = new Pickers(snapshot, pickers, policies, this::build);
    Set<Worker> present = new HashSet<>(snapshot.workers());
    for (Worker worker : before.workers()) {
      if (!present.contains(worker)) {
        reports.left(worker);
      }
    }
  }

  /**
   * Replaces the policies and the settings, as one change for requests that are decided later. A
   * request that is placed ends under the policies that placed it.
   *
   * @param kept learners of earlier policies that a later policy may take over; they follow
   *     departures
   */
  public void use(StagePolicies next, EngineSettings nextSettings, List<Learner> kept) {
    fleet.exclusively(
        snapshot -> {
          Set<Learner> all = new LinkedHashSet<>(next.learners());
          all.addAll(kept);
          Pickers made = new Pickers(snapshot, pickers, next, this::build);
          reports.use(List.copyOf(all));
          wanted = next.wanted();
          settings = nextSettings;
          policies = next;
          pickers = made;
        });
  }

  /** The policies and settings that {@link #use} replaces. */
  public static final class InForce {
    private final StagePolicies policies;
    private final EngineSettings settings;
    private final List<Learner> learners;

    private InForce(StagePolicies policies, EngineSettings settings, List<Learner> learners) {
      this.policies = policies;
      this.settings = settings;
      this.learners = learners;
    }
  }

  /**
   * The present policies and settings, for {@link #restore}. Call it while nothing replaces them.
   */
  public InForce inForce() {
    return new InForce(policies, settings, reports.learners());
  }

  /** Uses earlier policies and settings again, as {@link #use}. */
  public void restore(InForce before) {
    use(before.policies, before.settings, before.learners);
  }

  /**
   * Lets any worker serve whole requests while no worker has the role for them. For the change that
   * ends the split of prefill and decode, in which all workers get this role a moment later.
   */
  public void anyServesWhole(boolean any) {
    anyServesWhole = any;
  }

  /** Replaces the models that are expected beside those of the settings. */
  public void expect(Set<String> models) {
    discovered = Set.copyOf(models);
  }

  private @Nullable Picker build(Policy policy, Pool pool) {
    try {
      return policy.picker(pool);
    } catch (RuntimeException | LinkageError e) {
      reports.failed(e);
      return null;
    }
  }

  public Fleet fleet() {
    return fleet;
  }

  /** Version of the fleet's snapshot that decisions use; for a moment older than the newest. */
  public long version() {
    return pickers.snapshot().version();
  }

  /**
   * The fields of clients' requests that the policies read. The caller must provide them in {@link
   * RoutingRequest#fields}.
   */
  public WantedFields wanted() {
    return wanted;
  }

  /** Chooses a worker that the request has not tried yet and places the request on it. */
  public Decision decide(RoutingRequest request) {
    return reported(request, attempt(request));
  }

  /**
   * Decides like {@link #decide} if the expected wait is at most {@code millis}; otherwise changes
   * nothing. The wait is the policy's estimate. Policies without an estimate decide at once.
   *
   * @param millis longest accepted wait in milliseconds
   * @return null if the wait is longer
   */
  public @Nullable Decision decideWithin(RoutingRequest request, double millis) {
    Decision decision = attemptWithin(request, millis);
    return decision == null ? null : reported(request, decision);
  }

  private Decision reported(RoutingRequest request, Decision decision) {
    if (decision instanceof Decision.Rejected rejected) {
      rejected(request, rejected);
    }
    return decision;
  }

  /**
   * Decides like {@link #decide}, but does not report a rejection to the listener. For callers with
   * further options; they report the final rejection with {@link #rejected}.
   */
  public Decision attempt(RoutingRequest request) {
    return requireNonNull(attemptWithin(request, Double.POSITIVE_INFINITY), "decision");
  }

  /**
   * Decides like {@link #attempt} for a request that is sent later, after another worker has done
   * its part. Before {@link Lease#dispatched} its worker is not expected to show progress.
   */
  public Decision reserve(RoutingRequest request) {
    return requireNonNull(attempt(request, Double.POSITIVE_INFINITY, true), "decision");
  }

  /** Decides like {@link #decideWithin}, but does not report a rejection to the listener. */
  public @Nullable Decision attemptWithin(RoutingRequest request, double millis) {
    return attempt(request, millis, request.elsewhere());
  }

  /**
   * @param later true if the request is not sent at once, or by another proxy
   */
  private @Nullable Decision attempt(RoutingRequest request, double millis, boolean later) {
    for (int i = 0; i < PICKS; i++) {
      // Read for each pick, because the wait for replacements may be long.
      long now = ticker.nanos();
      Pickers current = pickers;
      PooledPicker pooled = current.forRequest(request, settings.unknownModel());
      if (pooled == null || pooled.pool().isEmpty()) {
        List<Worker> able = EarlierRoles.of(current.snapshot(), request, anyServesWhole);
        Decision earlier = byEarlierRole(able, request, now, later);
        if (earlier != null) {
          return earlier;
        }
        if (replaced(current)) {
          continue;
        }
        if (!able.isEmpty()) {
          Decision.Rejected refusal = Refusals.none(able, request, now);
          if (refusal != null) {
            return refusal;
          }
          continue;
        }
      }
      if (pooled == null) {
        return noPool(current.snapshot(), request);
      }
      Worker worker = choose(current, pooled, request, now);
      if (worker == null) {
        if (replaced(current)) {
          continue;
        }
        Decision.Rejected refusal =
            Refusals.none(candidates(current, pooled, request), request, now);
        if (refusal != null) {
          return refusal;
        }
        continue;
      }
      if (request.result().waitMillis() > millis) {
        return null;
      }
      explain(pooled.pool(), request, worker, now);
      PolicySetup by = policies.of(request);
      Lease lease = lease(worker, request, now, by, later);
      if (lease != null) {
        return routed(request, lease, by);
      }
    }
    return contended(request, ticker.nanos());
  }

  /**
   * Returns true if other workers are to be considered than {@code seen} has. Waits only in the
   * moment in which a change of the configuration replaces workers.
   */
  private boolean replaced(Pickers seen) {
    return fleet.awaitReplacement() || seen != pickers;
  }

  /**
   * Places a request if no worker has its role any longer. The least loaded worker that had this
   * role serves it.
   *
   * @param able the workers that had this role
   * @return null if none of them admits the request
   */
  private @Nullable Decision byEarlierRole(
      List<Worker> able, RoutingRequest request, long now, boolean later) {
    Worker worker = EarlierRoles.leastLoaded(able, request, now);
    if (worker == null) {
      return null;
    }
    request.picked(PickResult.of(PickReason.FALLBACK));
    PolicySetup by = policies.of(request);
    Lease lease = lease(worker, request, now, by, later);
    return lease == null ? null : routed(request, lease, by);
  }

  /**
   * Places the request on a worker that the caller has chosen, for the reason in the request's
   * result. Returns null if the worker does not admit it.
   */
  public @Nullable Lease place(RoutingRequest request, Worker worker) {
    long now = ticker.nanos();
    PolicySetup by = policies.of(request);
    Lease lease =
        request.admits(worker, now) ? lease(worker, request, now, by, request.elsewhere()) : null;
    if (lease != null) {
      placed(request, lease, by);
    }
    return lease;
  }

  /**
   * Returns the worker that the policy would choose now; null if none. Nothing is placed. A policy
   * that counts its picks counts this one too.
   */
  public @Nullable Worker preview(RoutingRequest request) {
    PooledPicker pooled = pickers.forRequest(request, settings.unknownModel());
    long now = ticker.nanos();
    Worker picked = pooled == null ? null : pick(pooled.picker(), request, now);
    return picked != null && request.admits(picked, now) ? picked : null;
  }

  /** Returns the number of workers that can serve the request, now or when they are less busy. */
  public int serving(RoutingRequest request) {
    PooledPicker pooled = pickers.forRequest(request, settings.unknownModel());
    return pooled == null ? 0 : pooled.pool().serving(ticker.nanos(), request.tried());
  }

  /**
   * Decides like {@link #decide} and explains the choice in the request. Places, binds and reports
   * nothing, and gives no trial to a worker that is out. A policy that counts its picks counts this
   * one too.
   */
  public Preview explain(RoutingRequest request) {
    request.previewOnly();
    long now = ticker.nanos();
    Pickers current = pickers;
    PooledPicker pooled = current.forRequest(request, settings.unknownModel());
    if (pooled == null) {
      return new Preview.Refused(noPool(current.snapshot(), request));
    }
    Worker worker = previewed(current, pooled, request, now);
    if (worker == null) {
      return new Preview.Refused(Refusals.last(candidates(current, pooled, request), request, now));
    }
    explain(pooled.pool(), request, worker, now);
    return new Preview.Chosen(worker);
  }

  private @Nullable Worker previewed(
      Pickers current, PooledPicker pooled, RoutingRequest request, long now) {
    if (request.pinnedWorker() != null) {
      request.picked(PickResult.of(PickReason.PINNED));
      Worker pinned = pinned(current.snapshot(), pooled.pool(), request);
      return pinned != null && request.admits(pinned, now) ? pinned : null;
    }
    Worker picked = pick(pooled.picker(), request, now);
    if (picked != null && request.admits(picked, now)) {
      return picked;
    }
    request.picked(PickResult.of(PickReason.FALLBACK));
    return pooled.pool().leastLoaded(now, request.tried(), random);
  }

  /** Runs before placement, so the explanation shows the workers as the policy saw them. */
  private void explain(Pool pool, RoutingRequest request, Worker chosen, long now) {
    if (!request.explained() && !listener.explains(request)) {
      return;
    }
    Insight insight = policies.of(request).insight();
    try {
      request.explain(insight == null ? List.of() : insight.explain(pool, request, chosen, now));
    } catch (RuntimeException | LinkageError e) {
      reports.failed(e);
    }
  }

  /**
   * @param by the policy that learns from the request, to its end
   * @param later true if the request is not sent at once, or by another proxy
   */
  private @Nullable Lease lease(
      Worker worker, RoutingRequest request, long now, PolicySetup by, boolean later) {
    PrefixBlocks prefix = request.prefix();
    int cached = (int) (prefix.tokens() * prefix.ratio(request.result().matchedBlocks()));
    LeaseKind kind = LeaseKind.of(later, request.observed());
    return worker.tryLease(now, kind, prefix.tokens(), cached, reports.of(request, by));
  }

  /**
   * Settles the lease if a learner or the listener throws, because the caller never receives that
   * lease.
   */
  private Decision routed(RoutingRequest request, Lease lease, PolicySetup by) {
    boolean handedOver = false;
    try {
      placed(request, lease, by);
      handedOver = true;
      return new Decision.Routed(lease);
    } finally {
      if (!handedOver) {
        lease.ignored();
      }
    }
  }

  private void placed(RoutingRequest request, Lease lease, PolicySetup by) {
    request.waits().placed(lease.placedAt());
    reports.placed(request, lease, by);
  }

  /** Returns a worker that admits the request; null if there is none. */
  private @Nullable Worker choose(
      Pickers current, PooledPicker pooled, RoutingRequest request, long now) {
    if (request.pinnedWorker() != null) {
      request.picked(PickResult.of(PickReason.PINNED));
      Worker pinned = pinned(current.snapshot(), pooled.pool(), request);
      return pinned == null ? null : LastResort.among(List.of(pinned), request, null, now);
    }
    Worker picked = pick(pooled.picker(), request, now);
    if (picked != null && request.admits(picked, now)) {
      return picked;
    }
    request.picked(PickResult.of(PickReason.FALLBACK));
    Worker least = pooled.pool().leastLoaded(now, request.tried(), random);
    return least != null ? least : lastResort(pooled.pool(), request, now);
  }

  private @Nullable Worker lastResort(Pool pool, RoutingRequest request, long now) {
    Worker worker = LastResort.among(pool.workers(), request, fleet.ejections(), now);
    return worker == null && SilentPools.ignoreProbes(pool.workers())
        ? pool.leastLoaded(now, request.tried(), random)
        : worker;
  }

  private @Nullable Worker pick(Picker picker, RoutingRequest request, long now) {
    try {
      return picker.pick(request, now);
    } catch (RuntimeException | LinkageError e) {
      reports.failed(e);
      return null;
    }
  }

  private static @Nullable Worker pinned(
      FleetSnapshot snapshot, Pool pool, RoutingRequest request) {
    String id = request.pinnedWorker();
    Worker worker = id == null ? null : snapshot.worker(id);
    return worker != null && pool.workers().contains(worker) ? worker : null;
  }

  /**
   * Returns the rejection if all workers of {@code pool} that could serve the request are busy.
   * Returns null if one admits it or the cause is another. Nothing is placed or counted.
   */
  public Decision.@Nullable Rejected full(RoutingRequest request, Pool pool) {
    long now = ticker.nanos();
    Decision.Rejected refusal = Refusals.none(pool.workers(), request, now);
    return refusal != null && refusal.reason() == RejectReason.ALL_BUSY ? refusal : null;
  }

  private Decision.Rejected noPool(FleetSnapshot snapshot, RoutingRequest request) {
    String model = request.model();
    boolean mayCome =
        settings.expects(model)
            || EngineSettings.expects(discovered, model)
            || missed.contains(request.role(), model);
    return Refusals.noPool(snapshot, request, mayCome);
  }

  /** Rejects a request for which each worker that was picked became ineligible before the lease. */
  private Decision.Rejected contended(RoutingRequest request, long now) {
    Pickers current = pickers;
    PooledPicker pooled = current.forRequest(request, settings.unknownModel());
    List<Worker> able =
        pooled == null || pooled.pool().isEmpty()
            ? EarlierRoles.of(current.snapshot(), request, anyServesWhole)
            : List.of();
    if (!able.isEmpty()) {
      return Refusals.last(able, request, now);
    }
    if (pooled == null) {
      return noPool(current.snapshot(), request);
    }
    return Refusals.last(candidates(current, pooled, request), request, now);
  }

  /** The workers that the request may go to, eligible or not. */
  private static List<Worker> candidates(
      Pickers current, PooledPicker pooled, RoutingRequest request) {
    if (request.pinnedWorker() == null) {
      return pooled.pool().workers();
    }
    Worker pinned = pinned(current.snapshot(), pooled.pool(), request);
    return pinned == null ? List.of() : List.of(pinned);
  }

  /** Returns true if a worker admits the request now. Nothing is placed or counted. */
  public boolean mayServe(RoutingRequest request) {
    PooledPicker pooled = pickers.forRequest(request, settings.unknownModel());
    long now = ticker.nanos();
    if (pooled != null && pooled.pool().any(worker -> request.admits(worker, now))) {
      return true;
    }
    List<Worker> able = EarlierRoles.of(fleet.snapshot(), request, anyServesWhole);
    return EarlierRoles.leastLoaded(able, request, now) != null;
  }

  /** Reports the final rejection of a request to the listener. */
  public void rejected(RoutingRequest request, Decision.Rejected rejection) {
    listener.rejected(request, rejection.reason());
  }

  /** Returns the workers of a role that may serve {@code model}; null if there are none. */
  public @Nullable Pool pool(Role role, @Nullable String model) {
    PooledPicker pooled = pickers.forModel(role, model, settings.unknownModel());
    return pooled == null || pooled.pool().isEmpty() ? null : pooled.pool();
  }

  /** Returns true if a role has workers that may serve {@code model}, healthy or not. */
  public boolean serves(Role role, @Nullable String model) {
    return pool(role, model) != null;
  }

  /**
   * The sorted names of models, if a request must name one. Empty if any worker serves a request
   * without a model.
   */
  public Set<String> modelsToName() {
    return settings.unknownModel() == UnknownModel.ANY_WORKER
        ? Set.of()
        : fleet.snapshot().modelsToName();
  }
}
