package io.pointsman.pd.rule;

import io.pointsman.engine.Decision;
import io.pointsman.engine.RejectReason;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.LoadRange;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.pd.rule.DecodeCaches.Holder;
import io.pointsman.pd.rule.Placement.Single;
import io.pointsman.pd.rule.Placement.Split;
import io.pointsman.pd.rule.SplitDecision.Placed;
import io.pointsman.pd.rule.SplitDecision.Refused;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Decides in a fleet with prefill and decode workers: one worker or two, and which. Fleets without
 * such workers use only the {@link RoutingEngine}. The class does no I/O, and any number of threads
 * may use it.
 *
 * <p>It reserves the decode worker first, because a prefill without a decode worker is wasted. The
 * policy of each role places its part.
 */
public final class SplitRouter {
  /** Maximum number of decisions about one request while the fleet changes. */
  private static final int MOST_LOOKS = 8;

  /** The rejection of a request that waits behind others; the time is unknown. */
  private static final Decision.Rejected BEHIND = new Decision.Rejected(RejectReason.ALL_BUSY, 0);

  private final RoutingEngine engine;
  private final DecodeCaches caches;
  private final SplitSettings settings;
  private final Ticker ticker;

  /** True after the settings have changed; requests that began before still come. */
  private volatile boolean replaced;

  /**
   * @param caches the prefixes; must be a learner of the engine's decode policy
   */
  public SplitRouter(
      RoutingEngine engine, DecodeCaches caches, SplitSettings settings, Ticker ticker) {
    this.engine = engine;
    this.caches = caches;
    this.settings = settings;
    this.ticker = ticker;
  }

  /**
   * Records that other settings are in force for requests that begin later. The roles of workers
   * may then change with them.
   */
  public void replaced() {
    replaced = true;
  }

  private void look(SplitRequest request) {
    if (replaced) {
      request.acceptEarlierRoles();
    }
  }

  /**
   * Chooses one worker or two and places the request on them. A refusal is not reported to the
   * listener, because the caller may decide again; {@link #refused} reports it.
   */
  public SplitDecision decide(SplitRequest request) {
    return decideBehind(request, Set.of());
  }

  /**
   * Decides like {@link #decide} for a request that must not overtake others.
   *
   * @param waited roles with earlier requests waiting; their workers are treated as busy
   */
  public SplitDecision decideBehind(SplitRequest request, Set<Role> waited) {
    look(request);
    long version = engine.version();
    SplitDecision decision = decideOnce(request, waited);
    return decision instanceof Refused
        ? unlessReplaced(decision, version, () -> decideOnce(request, waited))
        : decision;
  }

  /**
   * Decides again after a refusal if the fleet has changed meanwhile. A decision looks at several
   * roles one after the other, so workers that change their role between two looks are in neither.
   *
   * @param first the refusal
   * @param before the engine's version before that refusal
   * @param once leaves nothing placed if it refuses
   */
  private SplitDecision unlessReplaced(
      SplitDecision first, long before, Supplier<SplitDecision> once) {
    SplitDecision decision = first;
    long version = before;
    for (int i = 1; i < MOST_LOOKS && decision instanceof Refused && replacedSince(version); i++) {
      version = engine.version();
      decision = once.get();
    }
    return decision;
  }

  /**
   * Returns true if the engine uses another snapshot than {@code version}. The fleet's newest
   * snapshot is no sign of that, because the engine follows a moment later.
   */
  private boolean replacedSince(long version) {
    return engine.fleet().awaitReplacement() || engine.version() != version;
  }

  private SplitDecision decideOnce(SplitRequest request, Set<Role> waited) {
    if (request.facts().unsplittable() != null) {
      return whole(request, SplitRule.UNSPLITTABLE, waited);
    }
    boolean shorter = tokens(request) < settings.threshold();
    SplitDecision alone = shorter ? rather(request, SplitRule.SHORT_INPUT, waited) : null;
    if (alone != null) {
      return alone;
    }
    boolean behindDecodes = waited.contains(Role.DECODE);
    boolean mayHold = settings.decodeServesWhole() && !behindDecodes;
    Single known = mayHold ? byCachedPrefix(request) : null;
    if (known != null) {
      return new Placed(known);
    }
    boolean loaded = prefillLoaded(request);
    SplitDecision relieved = loaded ? rather(request, SplitRule.PREFILL_LOADED, waited) : null;
    if (relieved != null) {
      return relieved;
    }
    if (behindDecodes) {
      return new Refused(Role.DECODE, BEHIND);
    }
    Decision.Rejected full = prefillsFull(request, waited);
    if (full != null) {
      return asRefused(request, Role.PREFILL, full);
    }
    return switch (engine.reserve(request.decode())) {
      case Decision.Routed(Lease lease) ->
          withPrefill(request, lease, SplitRule.NO_PREFILL, waited);
      case Decision.Rejected rejection ->
          orRefused(request, SplitRule.NO_DECODE, new Refused(Role.DECODE, rejection), waited);
    };
  }

  /**
   * Tries one worker for a request that two workers could serve. Returns null if two are better
   * than a refusal.
   */
  private @Nullable SplitDecision rather(SplitRequest request, SplitRule rule, Set<Role> waited) {
    if (settings.decodeServesWhole()) {
      return whole(request, rule, waited);
    }
    Single single = tryWhole(request, rule, waited);
    return single == null ? null : new Placed(single);
  }

  /**
   * Returns the rejection if the request must wait for prefill; null otherwise. Runs before decode
   * is placed, so waiting requests leave no trace in the decode policy.
   */
  private Decision.@Nullable Rejected prefillsFull(SplitRequest request, Set<Role> waited) {
    boolean behind = waited.contains(Role.PREFILL);
    boolean waits = behind || !settings.wholeWhenPrefillBusy();
    Pool pool = waits ? engine.pool(Role.PREFILL, request.model()) : null;
    Pool decodes = pool == null ? null : engine.pool(Role.DECODE, request.model());
    if (pool == null || decodes == null || !anyAdmitted(request.decode(), decodes)) {
      return null;
    }
    return behind ? BEHIND : engine.full(request.prefill(), pool);
  }

  private boolean anyAdmitted(RoutingRequest request, Pool pool) {
    long now = ticker.nanos();
    return pool.workers().stream().anyMatch(worker -> request.admits(worker, now));
  }

  /**
   * Chooses another prefill worker after prefill has failed, else the decode worker alone. The
   * caller settles the failed lease and excludes its worker, unless that worker is only busy. The
   * decode lease continues, or is settled if no worker is available. If the fleet has changed
   * meanwhile, both workers are chosen again.
   */
  public SplitDecision prefillAgain(SplitRequest request, Lease decode) {
    look(request);
    long version = engine.version();
    SplitDecision decision = withPrefill(request, decode, SplitRule.PREFILL_FAILED, Set.of());
    return decision instanceof Refused && replacedSince(version) ? decide(request) : decision;
  }

  /**
   * Chooses another decode worker after decode has failed before its first byte, for the same
   * handover or for a whole request. The caller settles failed and finished leases. It excludes the
   * failed worker, unless that worker is only busy.
   */
  public SplitDecision decodeAgain(SplitRequest request) {
    look(request);
    long version = engine.version();
    SplitDecision decision = decodeOnce(request);
    return decision instanceof Refused
        ? unlessReplaced(decision, version, () -> decodeOnce(request))
        : decision;
  }

  private SplitDecision decodeOnce(SplitRequest request) {
    return switch (engine.attempt(request.decode())) {
      case Decision.Routed(Lease lease) -> new Placed(new Single(lease, SplitRule.SPLIT));
      case Decision.Rejected rejection -> asRefused(request, Role.DECODE, rejection);
    };
  }

  private SplitDecision withPrefill(
      SplitRequest request, Lease decode, SplitRule otherwise, Set<Role> waited) {
    switch (engine.attempt(request.prefill())) {
      case Decision.Routed(Lease lease) -> {
        return new Placed(new Split(lease, decode));
      }
      case Decision.Rejected rejection -> {
        boolean busy = rejection.reason() == RejectReason.ALL_BUSY;
        boolean serves =
            settings.decodeServesWhole()
                && (settings.decodeWithoutPrefill() || otherwise != SplitRule.NO_PREFILL);
        if (serves && (!busy || settings.wholeWhenPrefillBusy())) {
          if (!request.decode().elsewhere()) {
            decode.dispatched();
          }
          return new Placed(new Single(decode, otherwise));
        }
        decode.ignored();
        return busy && !settings.wholeWhenPrefillBusy()
            ? asRefused(request, Role.PREFILL, rejection)
            : orRefused(request, otherwise, new Refused(Role.PREFILL, rejection), waited);
      }
    }
  }

  private SplitDecision orRefused(
      SplitRequest request, SplitRule rule, Refused refusal, Set<Role> waited) {
    Set<Role> others = EnumSet.noneOf(Role.class);
    others.addAll(waited);
    if (refusal.rejection().reason() == RejectReason.ALL_BUSY && refusal.missing() == Role.DECODE) {
      // A decode worker that gets a free slot in this moment must not take a request for prefill.
      others.add(Role.DECODE);
    }
    Single single = tryWhole(request, rule, others);
    return single == null
        ? asRefused(request, refusal.missing(), refusal.rejection())
        : new Placed(single);
  }

  /**
   * Tries a regular worker, then a decode worker, then a prefill worker, as far as permitted. If
   * earlier requests wait for the first of these roles, the request is refused; those have tried
   * the other roles.
   */
  private SplitDecision whole(SplitRequest request, SplitRule rule, Set<Role> waited) {
    RoutingRequest first = first(request);
    if (waited.contains(first.role())) {
      return new Refused(first.role(), BEHIND);
    }
    Single single = tryWhole(request, rule, waited);
    if (single != null) {
      return new Placed(single);
    }
    return switch (engine.attempt(first)) {
      case Decision.Routed(Lease lease) -> new Placed(new Single(lease, rule));
      case Decision.Rejected rejection -> asRefused(request, first.role(), rejection);
    };
  }

  private @Nullable Single tryWhole(SplitRequest request, SplitRule rule, Set<Role> waited) {
    Single single = tryOn(request.whole(), rule, waited);
    boolean needsPrefill = rule == SplitRule.NO_PREFILL && !settings.decodeWithoutPrefill();
    if (single == null && decodeMay(request) && !needsPrefill) {
      single = tryOn(request.wholeByDecode(), rule, waited);
    }
    if (single == null && prefillMay(request)) {
      single = tryOn(request.wholeByPrefill(), rule, waited);
    }
    return single;
  }

  /**
   * Returns the routing request for the first role that is present and may serve whole requests.
   */
  private RoutingRequest first(SplitRequest request) {
    String model = request.model();
    if (engine.serves(Role.REGULAR, model)) {
      return request.whole();
    }
    boolean prefill = prefillMay(request) && engine.serves(Role.PREFILL, model);
    if (decodeMay(request) && (engine.serves(Role.DECODE, model) || !prefill)) {
      return request.wholeByDecode();
    }
    return prefill ? request.wholeByPrefill() : request.whole();
  }

  /** Returns true if decode workers may serve the whole request. */
  private boolean decodeMay(SplitRequest request) {
    boolean serves = settings.decodeServesWhole() && !request.regularOnly();
    return serves || request.facts().promptless();
  }

  /** Returns true if prefill workers may serve the whole request. */
  private boolean prefillMay(SplitRequest request) {
    boolean serves = settings.prefillServesWhole() && !request.regularOnly();
    return serves || request.facts().promptless();
  }

  private @Nullable Single tryOn(RoutingRequest request, SplitRule rule, Set<Role> waited) {
    boolean asked =
        !waited.contains(request.role()) && engine.serves(request.role(), request.model());
    return asked && engine.attempt(request) instanceof Decision.Routed(Lease lease)
        ? new Single(lease, rule)
        : null;
  }

  private Refused asRefused(SplitRequest request, Role missing, Decision.Rejected rejection) {
    if (missing == Role.REGULAR && rolesOnly(request)) {
      return new Refused(missing, new Decision.Rejected(RejectReason.UNSPLITTABLE, 0));
    }
    boolean elsewhere =
        rejection.reason() == RejectReason.UNKNOWN_MODEL
            && request.model() != null
            && engine.fleet().snapshot().modelNames().contains(request.model());
    Decision.Rejected refusal =
        elsewhere
            ? new Decision.Rejected(RejectReason.NO_WORKERS, rejection.retryAfterNanos())
            : rejection;
    return new Refused(missing, refusal);
  }

  /**
   * Returns true if the request cannot be split, and all workers for its model are prefill or
   * decode workers.
   */
  private boolean rolesOnly(SplitRequest request) {
    String model = request.model();
    return request.facts().unsplittable() != null
        && !engine.serves(Role.REGULAR, model)
        && (engine.serves(Role.DECODE, model) || engine.serves(Role.PREFILL, model));
  }

  /**
   * Returns true if an untried worker of a role is eligible or busy. Otherwise waiting is useless:
   * tried workers get no second attempt, and the return of unavailable workers is unknown.
   */
  public boolean someUntried(SplitRequest request, Role role) {
    Pool pool = engine.pool(role, request.model());
    List<Worker> tried = request.of(role).tried();
    long now = ticker.nanos();
    return pool != null
        && pool.workers().stream()
            .anyMatch(
                each -> !tried.contains(each) && (each.eligible(now) || each.merelyBusy(now)));
  }

  /**
   * Returns true if an untried worker that may answer the request lists the model. A 404 of another
   * worker for the model then says little.
   */
  public boolean someMayAnswer(SplitRequest request) {
    boolean splits = request.facts().unsplittable() == null;
    return someHaveModel(request.whole())
        || ((splits || decodeMay(request)) && someHaveModel(request.wholeByDecode()))
        || (prefillMay(request) && someHaveModel(request.wholeByPrefill()));
  }

  /** As {@link #someMayAnswer}, for the prompt's part. */
  public boolean someMayPrefill(SplitRequest request) {
    return someHaveModel(request.prefill());
  }

  private boolean someHaveModel(RoutingRequest request) {
    String model = request.model();
    Pool pool = engine.pool(request.role(), model);
    return pool != null
        && pool.any(
            worker ->
                !request.tried().contains(worker)
                    && (model == null || worker.models().contains(model)));
  }

  /**
   * Returns true if one of {@code among} can take the missing role. If no worker has that role, a
   * regular one serves the whole request.
   */
  public boolean someServe(SplitRequest request, Role missing, List<Worker> among) {
    Pool pool = engine.pool(missing, request.model());
    Pool present = pool == null ? engine.pool(Role.REGULAR, request.model()) : pool;
    long now = ticker.nanos();
    return present != null && present.any(worker -> among.contains(worker) && worker.eligible(now));
  }

  /**
   * Returns true if another healthy prefill worker is available, or one worker may serve the whole
   * request.
   */
  public boolean goesOnWithout(SplitRequest request, Worker prefill) {
    long now = ticker.nanos();
    Pool pool = engine.pool(Role.PREFILL, request.model());
    boolean another =
        pool != null
            && pool.any(
                other ->
                    other != prefill
                        && other.health().healthy()
                        && request.prefill().admits(other, now));
    return another || decodeMay(request) || engine.serves(Role.REGULAR, request.model());
  }

  /** Reports the final refusal of a request; to be called once for each refused request. */
  public void refused(SplitRequest request, Refused refusal) {
    engine.rejected(request.of(refusal.missing()), refusal.rejection());
  }

  /**
   * Places a request on one worker, as far as permitted, after prefill has failed too often. The
   * caller settles the request's leases.
   */
  public SplitDecision withoutPrefill(SplitRequest request) {
    look(request);
    long version = engine.version();
    SplitDecision decision = whole(request, SplitRule.PREFILL_FAILED, Set.of());
    return decision instanceof Refused
        ? unlessReplaced(
            decision, version, () -> whole(request, SplitRule.PREFILL_FAILED, Set.of()))
        : decision;
  }

  /**
   * Returns a placement on the decode worker that holds enough of the prompt to compute the rest
   * itself; null if there is none.
   */
  private @Nullable Single byCachedPrefix(SplitRequest request) {
    boolean uncached = settings.uncachedThreshold() > 0;
    PrefixBlocks prefix = request.decode().prefix();
    Pool pool = prefix.count() == 0 ? null : engine.pool(Role.DECODE, request.model());
    if (pool == null || !(uncached || settings.cachedShare() <= 1)) {
      return null;
    }
    long now = ticker.nanos();
    Holder holder = caches.longest(pool, request.decode(), now);
    double share = holder == null ? 0 : prefix.ratio(holder.blocks());
    boolean nearlyAll = holder != null && share >= settings.cachedShare();
    boolean few = uncached && (1 - share) * tokens(request) < settings.uncachedThreshold();
    if (!nearlyAll && !few) {
      return null;
    }
    SplitRule rule = nearlyAll ? SplitRule.CACHED_ON_DECODE : SplitRule.FEW_UNCACHED;
    return holder == null
        ? tryOn(request.decode(), rule, Set.of())
        : on(holder, pool, request, rule, now);
  }

  private @Nullable Single on(
      Holder holder, Pool pool, SplitRequest request, SplitRule rule, long now) {
    RoutingRequest decode = request.decode();
    LoadRange loads = pool.loadRange(now, decode.tried());
    boolean uneven =
        loads == null || holder.worker().load() - loads.least() > settings.maxLoadGap();
    if (uneven) {
      return null;
    }
    decode.picked(PickResult.of(PickReason.PREFIX_HIT, holder.blocks()));
    Lease lease = engine.place(decode, holder.worker());
    return lease == null ? null : new Single(lease, rule);
  }

  private static long tokens(SplitRequest request) {
    long estimated = request.facts().tokens();
    return estimated >= 0 ? estimated : request.decode().prefix().tokens();
  }

  private boolean prefillLoaded(SplitRequest request) {
    Pool pool =
        settings.maxPendingPrefill() == 0 ? null : engine.pool(Role.PREFILL, request.model());
    if (pool == null) {
      return false;
    }
    long now = ticker.nanos();
    boolean any = false;
    for (Worker worker : pool.workers()) {
      if (request.prefill().admits(worker, now)) {
        any = true;
        if (worker.pendingTokens() <= settings.maxPendingPrefill()) {
          return false;
        }
      }
    }
    return any;
  }
}
