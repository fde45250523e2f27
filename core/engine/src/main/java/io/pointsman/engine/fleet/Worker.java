package io.pointsman.engine.fleet;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.LoadBoard.Mark;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * One routable engine endpoint with its live state. Its identity never changes. Leases, probes and
 * the fleet change its state, from any thread.
 *
 * <p>Each state is a class of its own with a lock of its own: {@link HealthState}, {@link
 * CircuitBreaker}, {@link ProbeState}, {@link RestState}, {@link StallState}, {@link
 * CapacityState}, {@link EngineShutdown}. Each sets its mark in the worker's {@link WorkerCell}
 * while it holds its lock, so a mark and its state change together. {@link WorkerLeases} changes
 * the states by the events of requests, one at a time and without a lock around them. If locks
 * nest, their order is health or breaker or stall, {@link EjectionLimit}, probes, capacity, cell.
 *
 * <p>It is long because it is the entry to all these states; most methods only call one of them.
 */
public final class Worker {
  private final WorkerSpec spec;
  private final WorkerCell cell;
  private final boolean defaultLimit;
  private final Ticker ticker;
  private final CircuitBreaker breaker;
  private final EngineShutdown shutdown = new EngineShutdown();
  private final EjectionLimit ejections;
  private final RestState rest;
  private final CapacityState capacity;
  private final ProbeState probes;
  private final WorkerLeases leases;
  private final Exclusion exclusion;
  private final BackgroundWork background = new BackgroundWork();
  private volatile ServedModels models;
  private volatile Map<String, String> labels;
  private final AtomicInteger returns = new AtomicInteger();
  private volatile int kvTokens;

  /** Maximum number of requests in flight; 0: none. */
  private volatile int maxInFlight;

  /** The role that its engine had before; its own if that has not changed. */
  private volatile Role earlierRole;

  /** A worker of a new fleet. */
  Worker(
      WorkerSpec spec,
      int slot,
      LoadBoard board,
      FleetSettings settings,
      EjectionLimit ejections,
      Ticker ticker) {
    this(spec, slot, board, settings, ejections, ticker, ticker.nanos());
  }

  /**
   * @param fleetBornAt time at which its fleet was created
   */
  Worker(
      WorkerSpec spec,
      int slot,
      LoadBoard board,
      FleetSettings settings,
      EjectionLimit ejections,
      Ticker ticker,
      long fleetBornAt) {
    this.spec = spec;
    this.ticker = ticker;
    this.ejections = ejections;
    cell = new WorkerCell(board, slot);
    defaultLimit = spec.role() == Role.PREFILL && spec.maxInFlight() == 0;
    labels = spec.labels();
    earlierRole = spec.role();
    models = ServedModels.configured(spec.models());
    breaker =
        new CircuitBreaker(
            settings.breaker(), open -> ejections.eject(this, open), this::breakerChanged);
    rest = new RestState(cell, ticker);
    capacity =
        new CapacityState(cell, spec.weight(), settings.slowStart().toNanos(), fleetBornAt, ticker);
    probes = new ProbeState(cell, settings.health(), breaker, shutdown, rest, capacity, ticker);
    leases =
        new WorkerLeases(
            this,
            cell,
            breaker,
            shutdown,
            rest,
            probes,
            new StallLimits(
                settings.stall(), (counts, mark) -> ejections.exclude(this, counts, mark)),
            ticker);
    exclusion = new Exclusion(this, cell);
    limitBy(settings);
  }

  private void limitBy(FleetSettings settings) {
    maxInFlight = defaultLimit ? settings.maxPrefills() : spec.maxInFlight();
    cell.mark(Mark.LIMITED, maxInFlight > 0);
  }

  /** Replaces the settings of health, breaker, stall, slow start and concurrent prefills. */
  void configure(FleetSettings next) {
    probes.health().configure(next.health());
    breaker.configure(next.breaker());
    capacity.configure(next.slowStart().toNanos());
    leases.stall().configure(next.stall());
    limitBy(next);
  }

  /**
   * Maximum number of requests in flight: that of its spec, or for a prefill worker without one
   * that of the fleet; 0: no limit.
   */
  public int maxInFlight() {
    return maxInFlight;
  }

  public WorkerSpec spec() {
    return spec;
  }

  public String id() {
    return spec.id();
  }

  /**
   * The worker's index in dense tables, for example the prefix index; in {@code [0, Fleet.slots)}.
   * Reused after the worker has left.
   */
  public int slot() {
    return cell.slot();
  }

  /**
   * The models as the newest snapshot shows them; empty if unknown or not reported. A decision
   * based on another snapshot must use that snapshot's models.
   */
  public Set<String> models() {
    return models.names();
  }

  /** The {@link #models} that are not adapters of others; the same set object until they change. */
  public Set<String> bases() {
    return models.bases();
  }

  /** Returns true if the worker is healthy but reports no models; it is assumed to serve any. */
  public boolean anyModel() {
    return models.any();
  }

  /** Records the models that the newest snapshot shows. */
  void shown(ServedModels served) {
    models = served;
  }

  /** Capacity of its KV memory in tokens, as reported; 0 if not reported. */
  public int kvTokens() {
    return kvTokens;
  }

  /** Records the reported capacity of its KV memory in tokens. */
  public void learnKvTokens(int tokens) {
    kvTokens = tokens;
  }

  /** Its labels, with changes by operators. */
  public Map<String, String> labels() {
    return labels;
  }

  /** Replaces the labels that {@link #labels} shows. Those of the spec still decide. */
  public void labels(Map<String, String> next) {
    labels = Map.copyOf(next);
  }

  /** Its capacity in relation to others, and the load that its engine reports. */
  public CapacityState capacity() {
    return capacity;
  }

  /** Its capacity in relation to other workers; 1 is usual. */
  public double weight() {
    return capacity.weight();
  }

  /**
   * Sets its capacity in relation to other workers. Policies that compare loads or costs divide by
   * it.
   *
   * @param weight in {@code [WorkerSpec.LEAST_WEIGHT, WorkerSpec.MOST_WEIGHT]}
   */
  public void weight(double weight) {
    capacity.weight(weight);
  }

  /** Its capacity in relation to others now: the weight, less during a slow start. */
  public double share(long now) {
    return capacity.share(now);
  }

  /**
   * Its load in comparisons with other workers: requests in flight and those of others that its
   * engine reports, divided by its weight.
   */
  public int load() {
    return capacity.load();
  }

  /** The role that its engine had before a change of roles; its own if there was none. */
  public Role earlierRole() {
    return earlierRole;
  }

  /** Records the worker of the same engine that this one replaces. */
  void follow(Worker before) {
    Role was = before.spec().role();
    earlierRole = was == spec.role() ? before.earlierRole() : was;
    before.background.ids().forEach(background::began);
  }

  /** Responses that its engine computes in the background. */
  public BackgroundWork background() {
    return background;
  }

  /**
   * True if it gets no new requests and none is in progress, neither in flight nor in the
   * background. Nobody sees the end of a response in the background after the worker has left.
   */
  public boolean drained() {
    // In this order, because a response in the background begins before its request ends.
    return draining() && inFlight() == 0 && (left() || background.count() == 0);
  }

  /** Its leases. */
  WorkerLeases leases() {
    return leases;
  }

  /** Requests placed on it and not settled yet. */
  public int inFlight() {
    return cell.inFlight();
  }

  /** Requests in flight after their first output. */
  public int answering() {
    return leases.counts().answering();
  }

  /** Estimated prompt tokens of its requests in flight without a response yet. */
  public long pendingTokens() {
    return leases.counts().pendingTokens();
  }

  /** Requests in flight that have not been sent yet. */
  public int reserved() {
    return leases.counts().unsent();
  }

  /** Requests in flight after which another worker failed, without output yet. */
  public int suspects() {
    return leases.counts().suspects();
  }

  /** Requests that it has served to the end. */
  public long served() {
    return leases.served();
  }

  /** Requests that failed on it. */
  public long failures() {
    return leases.failures();
  }

  /**
   * Expected nanoseconds between two completions at its present load, from its mean service time
   * (Little's law); 0 before the first.
   */
  public long nanosBetweenEnds() {
    return leases.serviceTime().nanos() / Math.max(1, inFlight());
  }

  /** Requests placed on it while its probes failed. */
  public long lastResorts() {
    return leases.lastResorts();
  }

  public HealthState health() {
    return probes.health();
  }

  public CircuitBreaker breaker() {
    return breaker;
  }

  /** Signs whether it fails by itself or because of a request. */
  public FailureSigns failureSigns() {
    return probes.failureSigns();
  }

  /** Charges its breaker with an earlier failure, because another worker served the request. */
  public void charge(Failure failure) {
    breaker.failed(false, failure, ticker.nanos());
  }

  /**
   * Withdraws a charge of its breaker, because the request failed on another worker too.
   *
   * @param run {@link CircuitBreaker#run} at the time of the charge
   */
  public void forgive(int run) {
    breaker.forgive(run);
  }

  /** Returns true if it is healthy and no condition but an operator keeps requests away. */
  boolean servesNow() {
    int open = LoadBoard.without(cell.value(), Mark.CORDONED);
    boolean out = LoadBoard.out(open) || LoadBoard.timed(open);
    return !left() && health().healthy() && !out;
  }

  /**
   * Takes its departure back, for a change of the fleet that is undone.
   *
   * @return false if its slot was given up
   */
  boolean rejoin() {
    boolean back = cell.rejoin();
    if (back) {
      returns.incrementAndGet();
    }
    return back;
  }

  /**
   * Number of times that it has left the fleet and come back. Others have forgotten it in between,
   * although it is the same object.
   */
  public int returns() {
    return returns.get();
  }

  /**
   * Returns true if it has left the fleet. It returns only if the change by which it has left is
   * undone.
   */
  public boolean left() {
    return cell.left();
  }

  /**
   * Returns true if it accepts no new requests: by a drain command, because an operator has
   * cordoned it, or because it has left.
   */
  public boolean draining() {
    return withdrawn() || cordoned();
  }

  /** Returns true if its source has withdrawn it with {@link #drain}, or it has left. */
  public boolean withdrawn() {
    return left() || cell.has(Mark.DRAINING);
  }

  /** Stops placing new requests on it, or resumes. */
  public void drain(boolean draining) {
    cell.mark(Mark.DRAINING, draining);
  }

  /**
   * Excludes it from new requests by an operator's wish, or admits it again. Independent of {@link
   * #drain}, which belongs to the worker's source.
   */
  public void cordon(boolean cordoned) {
    cell.mark(Mark.CORDONED, cordoned);
  }

  /** Returns true while an operator excludes it from new requests. */
  public boolean cordoned() {
    return cell.shows(Mark.CORDONED);
  }

  /** Records that the engine sleeps or is paused, or that it accepts work again. */
  public void sleep(boolean asleep) {
    cell.mark(Mark.ASLEEP, asleep);
  }

  /** Returns true if the engine sleeps or is paused; it then gets no new requests. */
  public boolean asleep() {
    return cell.shows(Mark.ASLEEP);
  }

  /** Removes it from choice permanently. */
  void leave() {
    cell.leave();
  }

  /**
   * Releases its slot for another worker if it has left and its last lease is settled.
   *
   * @return true if the slot is released
   */
  boolean releaseSlot() {
    return cell.release();
  }

  EngineShutdown shutdown() {
    return shutdown;
  }

  /**
   * Records that its engine shuts down or has ended, although its server may still answer. It gets
   * no new requests until its probes have failed and succeeded again, or a trial request was
   * answered. If the {@link EjectionLimit} does not admit that, it gets new requests all the time.
   */
  public synchronized void shutsDown() {
    boolean first = !shutdown.begun();
    shutdown.begins(ticker.nanos());
    if (!closing()) {
      ejections.exclude(this, first, () -> cell.mark(Mark.CLOSING, true));
    }
  }

  /** Records that a client asks its engine to abort requests. */
  public void abortsOnRequest() {
    shutdown.asked(ticker.nanos());
  }

  /** Returns true if a client wants aborts: it asked for them, or paused the engine. */
  public boolean abortsWanted() {
    return asleep() || shutdown.onRequest(ticker.nanos());
  }

  /**
   * Returns true if its engine shuts down, as its answers show. The worker may serve nevertheless,
   * see {@link #closing}.
   */
  public boolean shuttingDown() {
    return shutdown.begun();
  }

  /**
   * Returns true if its engine shuts down, and its answers have shown that at {@code placedAt} or
   * later: a request that was placed then is lost. Later requests may be served.
   */
  public boolean shuttingDownSince(long placedAt) {
    return shutdown.begun() && !shutdown.before(placedAt);
  }

  /** Returns true if the shutdown of its engine excludes it, except for trials. */
  public boolean closing() {
    return cell.shows(Mark.CLOSING);
  }

  RestState restState() {
    return rest;
  }

  /** Nanoseconds that are left of its rest after it reported that it is busy; 0 or less: none. */
  public long restLeft(long now) {
    return rest.left(now);
  }

  /** The HTTP status with which it reported that it is busy; 0 if unknown. */
  public int restStatus() {
    return rest.status();
  }

  /**
   * Excludes it for {@code nanos} because it reported that it is busy. Does not shorten a longer
   * rest.
   */
  public void rest(long nanos) {
    rest(nanos, 0);
  }

  /**
   * Excludes it for {@code nanos} because it reported that it is busy. Does not shorten a longer
   * rest.
   *
   * @param status the HTTP status of that report; 0 if unknown
   */
  public void rest(long nanos, int status) {
    rest.begin(nanos, status, true);
  }

  /**
   * Excludes it for {@code nanos} because it reported that it is busy, without a time. While all
   * others are excluded too, it still gets requests.
   *
   * @param status the HTTP status of that report; 0 if unknown
   */
  public void restBriefly(long nanos, int status) {
    rest.begin(nanos, status, false);
  }

  /** Ends its rest before its time: it has recovered, or no other worker is left. */
  public void wake() {
    rest.end();
  }

  StallState stallState() {
    return leases.stall();
  }

  /** Number of its stalls. */
  public long stalls() {
    return leases.stall().count();
  }

  /** Number of clients that left before its first byte. */
  public long deserted() {
    return leases.stall().deserted();
  }

  /** Number of clients that caused its present stall by leaving; 0 if silence caused it. */
  public int stalledByDepartures() {
    return leases.stall().byDepartures();
  }

  public boolean stalled() {
    return leases.stall().stalled();
  }

  /** Returns true if it has begun a response at ticker time {@code then} or later. */
  public boolean begunSince(long then) {
    return leases.begunSince(then);
  }

  /** Returns true if it has sent a part of a response at ticker time {@code then} or later. */
  public boolean sentSince(long then) {
    return leases.sentSince(then);
  }

  /** The results of its health probes. */
  public ProbeState probes() {
    return probes;
  }

  /** Returns true if its last probe was refused: nobody listens. */
  public boolean refusing() {
    return probes.refusing();
  }

  /** Records the response to a health probe. Recovery from an outage ends a rest. */
  public void probed(boolean good) {
    probes.probed(good);
  }

  private void breakerChanged() {
    cell.mark(Mark.BREAKER, breaker.state() != CircuitBreaker.State.CLOSED);
  }

  /** Conditions that alone exclude it, and exceptions from them. */
  public Exclusion exclusion() {
    return exclusion;
  }

  /**
   * Returns true if a request may be placed on it at {@code now}. It must be healthy and admitted
   * by its breaker, and neither draining, asleep, resting nor full. A stalled worker, and one with
   * an engine that shuts down, admits only a trial.
   */
  public boolean eligible(long now) {
    return !left() && eligible(cell.value(), now);
  }

  /** Returns true if a request may be placed on it at {@code now}, with {@code value} as cell. */
  boolean eligible(int value, long now) {
    return Eligibility.free(value)
        || Eligibility.despiteMarks(value, Eligibility.limit(this), this, now);
  }

  /** Returns true if none of the marks of {@code value} that depend on time excludes it. */
  boolean admits(int value, long now) {
    return !left()
        && !(LoadBoard.has(value, Mark.RESTING) && !rest.over(now))
        && !(LoadBoard.has(value, Mark.STALLED) && !leases.stall().admits(now))
        && !(LoadBoard.has(value, Mark.CLOSING) && !shutdown.trialDue(now))
        && !(LoadBoard.has(value, Mark.BREAKER) && !breaker.admits(now));
  }

  /** Returns true if only being busy excludes it: it rests or is at its limit. */
  public boolean merelyBusy(long now) {
    return exclusion.merelyBusy(now);
  }

  /**
   * Returns true if only its load can exclude it: it is healthy, awake and not stalled, does not
   * drain, and its breaker is closed.
   */
  public boolean inService() {
    return inServiceWithoutBreaker() && breaker.state() == CircuitBreaker.State.CLOSED;
  }

  /** As {@link #inService}, with the breaker in any state. */
  boolean inServiceWithoutBreaker() {
    return !left() && !LoadBoard.out(cell.value());
  }

  /** The current time by the engine's ticker. */
  public long now() {
    return ticker.nanos();
  }

  /** Takes a lease for a request that is sent at once and has a stream as response. */
  public @Nullable Lease tryLease(
      long now, int promptTokens, int cachedTokens, LeaseListener listener) {
    return tryLease(now, LeaseKind.STREAM, promptTokens, cachedTokens, listener);
  }

  /**
   * Takes a lease for one request.
   *
   * @param kind the progress that is expected
   * @param promptTokens estimated tokens of its prompt
   * @param cachedTokens prompt tokens expected in the worker's cache
   * @return null if the worker is not eligible, or has just become ineligible: full, gone, or its
   *     breaker's probe is taken
   */
  public @Nullable Lease tryLease(
      long now, LeaseKind kind, int promptTokens, int cachedTokens, LeaseListener listener) {
    return leases.take(now, kind, promptTokens, cachedTokens, listener);
  }

  @Override
  public String toString() {
    return spec.id();
  }
}
