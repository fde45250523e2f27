package io.pointsman.engine.fleet;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.CircuitBreaker.Admission;
import io.pointsman.engine.fleet.LoadBoard.Mark;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * One routable engine endpoint with its live state: load, health, breaker, rest, stall. Its
 * identity never changes. Leases, probes and the fleet change its state, from any thread.
 *
 * <p>A stale picker, a prober or a late request may still reference a worker that has left. Its
 * slot may then belong to another worker. Two rules protect the other worker's cell. Marks are set
 * under the worker's lock, and never after the slot is released. A lease first increments the count
 * and then checks for departure, while the fleet first records the departure and then reads the
 * count. At least one of them sees the other.
 */
public final class Worker {
  /**
   * Minimum number of silent non-streaming requests that count as a stall. So many rarely take the
   * longest time by chance.
   */
  private static final int PILE = 4;

  /** Minimum difference of two dispatches if the engine must get both in this order: 50 ms. */
  private static final long IN_ORDER_NANOS = 50_000_000L;

  /** Time per token of a prompt until its request is in the engine's queue: 4 us. */
  private static final long QUEUED_NANOS_PER_TOKEN = 4_000L;

  private static final int REFUSED = -1;

  /** Share of a worker at the begin of its slow start. */
  private static final double COLDEST = 0.1;

  private static final long LONGEST_REST = Long.MAX_VALUE / 4;

  private final WorkerSpec spec;
  private final int slot;
  private final LoadBoard board;
  private final int limit;
  private final Ticker ticker;
  private final HealthState health;
  private final CircuitBreaker breaker;
  private final EngineShutdown shutdown = new EngineShutdown();
  private final LongAdder served = new LongAdder();
  private final ServiceTime serviceTime = new ServiceTime();
  private final LongAdder failed = new LongAdder();
  private volatile StallSettings stallSettings;
  private final StallTrials trials = new StallTrials();
  private final Departures departures = new Departures();
  private final FailureRun failureRun = new FailureRun();
  private final ServiceTime firstOutput = new ServiceTime();
  private final LongAdder stalls = new LongAdder();
  private final LongAdder deserted = new LongAdder();
  private final LongAdder lastResorts = new LongAdder();

  private volatile ServedModels models;
  private final long fleetBornAt;
  private volatile double weight;
  private volatile long slowStartNanos;

  /** Time at which it became healthy, while it gets less than its full share. */
  private volatile long warmsSince;

  private volatile boolean warms;
  private volatile ReportedLoad reported = ReportedLoad.NONE;
  private volatile int others;
  private volatile Map<String, String> labels;
  private volatile int kvTokens;
  private volatile long restUntil;
  private volatile int restStatus;

  /** True if the worker named the time of its rest. */
  private volatile boolean restTimed;

  private volatile long lastProgressAt;

  /** Time of the last first part of a response; far in the past before the first. */
  private volatile long beganAt;

  /** Time of the last part of a response; far in the past before the first. */
  private volatile long lastPartAt;

  /** Time of the last output; far in the past before the first. */
  private volatile long lastOutputAt;

  /** Latest dispatch of a request with output; far in the past before the first. */
  private volatile long newestServedAt;

  /** Time at which the last good probe was sent; far in the past before the first. */
  private volatile long goodProbeAt;

  /** Departures of clients that caused the present stall; 0 if silence caused it. */
  private volatile int stalledByDepartures;

  /** True while it gets requests although its probes fail, because no worker answers probes. */
  private volatile boolean ignoresProbes;

  private final AtomicInteger answeredWhole = new AtomicInteger();
  private final AtomicInteger reserved = new AtomicInteger();
  private final AtomicInteger answering = new AtomicInteger();
  private final AtomicInteger suspects = new AtomicInteger();
  private final AtomicLong pendingTokens = new AtomicLong();
  private volatile boolean refusing;

  private volatile boolean left;
  private volatile boolean slotReleased;

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
    this.slot = slot;
    this.board = board;
    limit = Eligibility.limit(spec);
    this.fleetBornAt = fleetBornAt;
    slowStartNanos = settings.slowStart().toNanos();
    weight = spec.weight();
    labels = spec.labels();
    this.ticker = ticker;
    models = ServedModels.configured(spec.models());
    lastProgressAt = ticker.nanos();
    beganAt = lastProgressAt - Long.MAX_VALUE / 2;
    lastPartAt = beganAt;
    lastOutputAt = beganAt;
    goodProbeAt = beganAt;
    newestServedAt = beganAt;
    stallSettings = settings.stall();
    health = new HealthState(settings.health(), this::healthChanged);
    breaker =
        new CircuitBreaker(
            settings.breaker(), open -> ejections.eject(this, open), this::breakerChanged);
    board.mark(slot, Mark.UNHEALTHY);
    if (spec.maxInFlight() > 0) {
      board.mark(slot, Mark.LIMITED);
    }
    if (weight != 1) {
      board.mark(slot, Mark.ADJUSTED);
    }
  }

  /** Replaces the settings of health, breaker and stall. */
  void configure(FleetSettings next) {
    health.configure(next.health());
    breaker.configure(next.breaker());
    stallSettings = next.stall();
    slowStartNanos = next.slowStart().toNanos();
    if (!next.stall().enabled()) {
      endStall();
    }
  }

  public WorkerSpec spec() {
    return spec;
  }

  public String id() {
    return spec.id();
  }

  /**
   * The worker's index in dense tables, for example the prefix index; in {@code [0,
   * FleetSettings.maxWorkers)}. Reused after the worker has left.
   */
  public int slot() {
    return slot;
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

  /** Requests placed on it and not settled yet. */
  public int inFlight() {
    return slotReleased ? 0 : board.inFlight(slot);
  }

  /** Requests in flight after their first output. */
  public int answering() {
    return answering.get();
  }

  /** Estimated prompt tokens of its requests in flight without a response yet. */
  public long pendingTokens() {
    return pendingTokens.get();
  }

  /** Requests that it has served to the end. */
  public long served() {
    return served.sum();
  }

  /**
   * Expected nanoseconds between two completions at its present load, from its mean service time
   * (Little's law); 0 before the first.
   */
  public long nanosBetweenEnds() {
    return serviceTime.nanos() / Math.max(1, inFlight());
  }

  /** Requests that failed on it. */
  public long failures() {
    return failed.sum();
  }

  /**
   * Returns true if other requests had failed on it before {@code placedAt}, by the ticker, and it
   * has served none since. Failures older than 5 s do not count.
   */
  public boolean failingSince(long placedAt) {
    return failureRun.covers(placedAt, ticker.nanos());
  }

  /** Returns true if its last failure was the first one since it served a request. */
  public boolean startedFailing() {
    return failureRun.length() == 1;
  }

  /** Records that it answered a probe well that was sent at {@code at}, by the ticker. */
  public void answeredProbeOf(long at) {
    goodProbeAt = at;
  }

  /**
   * Returns true if it fails by itself since {@code then}, by the ticker: it failed a request that
   * was placed later, has served none since, and answers probes well.
   */
  public boolean failsByItself(long then) {
    return health.healthy() && goodProbeAt - then > 0 && failureRun.continuedAfter(then);
  }

  /**
   * Returns true if it may turn out to fail by itself: it has served no request since it failed.
   */
  public boolean mayFailByItself() {
    return health.healthy() && failureRun.failing();
  }

  public HealthState health() {
    return health;
  }

  public CircuitBreaker breaker() {
    return breaker;
  }

  /** Returns true if it has left the fleet; it never returns. */
  public boolean left() {
    return left;
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
    return left || LoadBoard.has(board.cell(slot), Mark.DRAINING);
  }

  /**
   * Excludes it from new requests by an operator's wish, or admits it again. Independent of {@link
   * #drain}, which belongs to the worker's source.
   */
  public void cordon(boolean cordoned) {
    mark(Mark.CORDONED, cordoned);
  }

  /** Returns true while an operator excludes it from new requests. */
  public boolean cordoned() {
    return !left && LoadBoard.has(board.cell(slot), Mark.CORDONED);
  }

  /** Its capacity in relation to other workers; 1 is usual. */
  public double weight() {
    return weight;
  }

  /**
   * Sets its capacity in relation to other workers. Policies that compare loads or costs divide by
   * it.
   *
   * @param weight in {@code [WorkerSpec.LEAST_WEIGHT, WorkerSpec.MOST_WEIGHT]}
   */
  public void weight(double weight) {
    if (!WorkerSpec.isWeight(weight)) {
      throw new IllegalArgumentException(WorkerSpec.problemOfWeight(weight));
    }
    this.weight = weight;
    adjusted();
  }

  private synchronized void adjusted() {
    boolean reports = others > 0 || reported.share() < 1;
    mark(Mark.ADJUSTED, weight != 1 || warms || reports);
  }

  /**
   * Records the load that its engine reports. Requests beyond those of this router count as load in
   * comparisons, and full KV memory as less capacity.
   */
  public void reports(ReportedLoad load) {
    reported = load;
    others = load.others(inFlight());
    adjusted();
  }

  /** The load that its engine has reported last; {@link ReportedLoad#NONE} without a report. */
  public ReportedLoad reported() {
    return reported;
  }

  /** Requests of other clients and routers on its engine, as of its last report. */
  public int others() {
    return others;
  }

  /**
   * Begins a slow start, because it has become healthy. Not in the first time of its fleet, when
   * all workers are new.
   */
  private synchronized void warm() {
    long now = ticker.nanos();
    if (slowStartNanos > 0 && now - fleetBornAt > slowStartNanos) {
      warmsSince = now;
      warms = true;
      adjusted();
    }
  }

  /** Its capacity in relation to others now: the weight, less during a slow start. */
  public double share(long now) {
    double own = weight * reported.share();
    if (!warms) {
      return own;
    }
    double warmth = (double) (now - warmsSince) / Math.max(1, slowStartNanos);
    if (warmth >= 1) {
      endWarmth(now);
      return own;
    }
    return own * Math.max(COLDEST, warmth);
  }

  /** Ends the slow start, unless another one has begun. */
  private synchronized void endWarmth(long now) {
    if (warms && now - warmsSince >= slowStartNanos) {
      warms = false;
      adjusted();
    }
  }

  /**
   * Its load in comparisons with other workers: requests in flight and those of others that its
   * engine reports, divided by its weight.
   */
  public int load() {
    int inFlight = inFlight();
    return LoadBoard.has(board.cell(slot), Mark.ADJUSTED)
        ? compared(inFlight, ticker.nanos())
        : inFlight;
  }

  /** The load in comparisons for a number of requests in flight. */
  int compared(int inFlight, long now) {
    return (int) Math.min(LoadBoard.MAX_IN_FLIGHT, (inFlight + others) / share(now));
  }

  /** Its labels, with changes by operators. */
  public Map<String, String> labels() {
    return labels;
  }

  /** Replaces the labels that {@link #labels} shows. Those of the spec still decide. */
  public void labels(Map<String, String> next) {
    labels = Map.copyOf(next);
  }

  /**
   * Records that its engine shuts down or has ended, although its server may still answer. It gets
   * no new requests until its probes have failed and succeeded again, or a trial request was
   * answered.
   */
  public synchronized void shutsDown() {
    shutdown.begins(ticker.nanos());
    mark(Mark.CLOSING, true);
  }

  /** Records that a client asks its engine to abort requests. */
  public void abortsOnRequest() {
    shutdown.asked(ticker.nanos());
  }

  /** Returns true if a client wants aborts: it asked for them, or paused the engine. */
  public boolean abortsWanted() {
    return asleep() || shutdown.onRequest(ticker.nanos());
  }

  /** Returns true if its engine shuts down, as its answers show. */
  public boolean shuttingDown() {
    return !left && LoadBoard.has(board.cell(slot), Mark.CLOSING);
  }

  /** Returns true if its last probe was refused: nobody listens. */
  public boolean refusing() {
    return refusing;
  }

  /** Records that a probe found nobody listening; {@link #probed} follows. */
  public void refusesProbes() {
    refusing = true;
  }

  /** Returns true if only its shutdown excludes it and an early trial is due. */
  public boolean triableWhileClosing(long now) {
    return shuttingDown()
        && shutdown.trialDueEarly(now)
        && eligible(LoadBoard.without(board.cell(slot), Mark.CLOSING), now);
  }

  /** Admits one trial request although its engine shuts down, because no other worker is left. */
  public void tryWhileClosing(long now) {
    shutdown.tryEarly(now);
  }

  public boolean stalled() {
    return !left && LoadBoard.has(board.cell(slot), Mark.STALLED);
  }

  /**
   * Returns true if a request may be placed on it at {@code now}. It must be healthy and admitted
   * by its breaker, and neither draining, asleep, resting nor full. A stalled worker, and one with
   * an engine that shuts down, admits only a trial.
   */
  public boolean eligible(long now) {
    return !left && eligible(board.cell(slot), now);
  }

  private boolean eligible(int cell, long now) {
    return Eligibility.free(cell) || Eligibility.despiteMarks(cell, limit, this, now);
  }

  /** Returns true if none of the marks of {@code cell} that depend on time excludes it. */
  boolean admits(int cell, long now) {
    return !left
        && !(LoadBoard.has(cell, Mark.RESTING) && now - restUntil < 0)
        && !(LoadBoard.has(cell, Mark.STALLED) && !trials.admits(now))
        && !(LoadBoard.has(cell, Mark.CLOSING) && !shutdown.trialDue(now))
        && !(LoadBoard.has(cell, Mark.BREAKER) && !breaker.admits(now));
  }

  /** Returns true if only being busy excludes it: it rests or is at its limit. */
  public boolean merelyBusy(long now) {
    int cell = board.cell(slot);
    int idle = LoadBoard.without(cell, Mark.RESTING) & ~LoadBoard.MAX_IN_FLIGHT;
    return !left && !eligible(cell, now) && eligible(idle, now);
  }

  /** Nanoseconds until its rest is over; 0 or less if it does not rest. */
  public long restLeft(long now) {
    return !left && LoadBoard.has(board.cell(slot), Mark.RESTING) ? restUntil - now : 0;
  }

  /** The HTTP status with which it last reported that it is busy; 0 if unknown. */
  public int restStatus() {
    return restStatus;
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
    rest(nanos, status, true);
  }

  /**
   * Excludes it for {@code nanos} because it reported that it is busy, without a time. While all
   * others are excluded too, it still gets requests.
   *
   * @param status the HTTP status of that report; 0 if unknown
   */
  public void restBriefly(long nanos, int status) {
    rest(nanos, status, false);
  }

  private synchronized void rest(long nanos, int status, boolean timed) {
    long until = ticker.nanos() + Math.min(nanos, LONGEST_REST);
    if (!LoadBoard.has(board.cell(slot), Mark.RESTING) || until - restUntil > 0) {
      restStatus = status;
      restUntil = until;
      restTimed = timed;
    }
    mark(Mark.RESTING, true);
  }

  /** Returns true if only its rest excludes it, and it named no time for that. */
  public boolean restsBriefly(long now) {
    int cell = board.cell(slot);
    return !left
        && LoadBoard.has(cell, Mark.RESTING)
        && !restTimed
        && eligible(LoadBoard.without(cell, Mark.RESTING), now);
  }

  private synchronized void endRest(long now) {
    if (now - restUntil >= 0) {
      mark(Mark.RESTING, false);
    }
  }

  /** Ends its rest before its time: it has recovered, or no other worker is left. */
  public synchronized void wake() {
    mark(Mark.RESTING, false);
  }

  /** Records the response to a health probe. Recovery from an outage ends a rest. */
  public void probed(boolean good) {
    HealthState.Status before = health.status();
    boolean wasOut = before == HealthState.Status.UNHEALTHY;
    health.probed(good);
    if (good) {
      refusing = false;
    }
    if (before != HealthState.Status.HEALTHY && health.healthy() && shuttingDown()) {
      mark(Mark.CLOSING, false);
    }
    if (!recovered(wasOut) && good) {
      breaker.reachable();
    }
  }

  private boolean recovered(boolean wasOut) {
    if (!wasOut || !health.healthy()) {
      return false;
    }
    breaker.recovered();
    failureRun.served();
    wake();
    return true;
  }

  /**
   * Records why a health probe fails, for people. Call it before the result of the probe.
   *
   * @param reason one short line without control characters
   */
  public void failing(String reason) {
    health.failing(reason);
  }

  /**
   * Records a health probe that got a connection, but no response in time. It counts as failed, but
   * not as evidence of a restart.
   */
  public void silent() {
    health.silent();
  }

  /**
   * Records a health probe without a connection.
   *
   * @param timedOut true if the connection was not accepted in time
   */
  public void unreached(boolean timedOut) {
    health.unreached(timedOut);
  }

  /**
   * Records that it sent parts of responses although it did not answer a health probe. This counts
   * as a good probe.
   */
  public void alive() {
    boolean wasOut = health.status() == HealthState.Status.UNHEALTHY;
    health.alive();
    recovered(wasOut);
  }

  /**
   * Gives it requests although its probes fail, because no worker of a pool answers probes. Ends
   * when it recovers, when a connection to it fails, or with {@link #heedProbes}.
   *
   * @return false if it is draining, or fails for another reason than unanswered probes
   */
  synchronized boolean ignoreProbes() {
    if (draining() || !health.merelySilent()) {
      return false;
    }
    if (!ignoresProbes) {
      ignoresProbes = true;
      mark(Mark.UNHEALTHY, false);
    }
    return true;
  }

  /** Ends {@link #ignoreProbes}. */
  synchronized void heedProbes() {
    ignoresProbes = false;
    mark(Mark.UNHEALTHY, !health.healthy());
  }

  /** Returns true while it gets requests although its probes fail. */
  public boolean ignoresProbes() {
    return ignoresProbes;
  }

  /** Requests placed on it while its probes failed. */
  public long lastResorts() {
    return lastResorts.sum();
  }

  /** Stops placing new requests on it, or resumes. */
  public void drain(boolean draining) {
    mark(Mark.DRAINING, draining);
  }

  /** Records that the engine sleeps or is paused, or that it accepts work again. */
  public void sleep(boolean asleep) {
    mark(Mark.ASLEEP, asleep);
  }

  /** Returns true if the engine sleeps or is paused; it then gets no new requests. */
  public boolean asleep() {
    return !left && LoadBoard.has(board.cell(slot), Mark.ASLEEP);
  }

  /** Removes it from choice permanently. */
  synchronized void leave() {
    mark(Mark.DRAINING, true);
    left = true;
  }

  /**
   * Releases its slot for another worker if it has left and its last lease is settled.
   *
   * @return true if the slot is released
   */
  synchronized boolean releaseSlot() {
    if (!left || board.inFlight(slot) > 0) {
      return false;
    }
    slotReleased = true;
    board.unmarkAll(slot);
    return true;
  }

  private synchronized void mark(Mark mark, boolean on) {
    if (slotReleased || (left && mark == Mark.DRAINING)) {
      return;
    }
    if (on) {
      board.mark(slot, mark);
    } else {
      board.unmark(slot, mark);
    }
  }

  /**
   * Detects stalls. The worker is excluded if it has requests in flight and shows no progress for
   * longer than {@code patience} allows. It returns with its next output, for which it gets one
   * trial request at a time.
   *
   * <p>Non-streaming requests show no progress. If all are such, only {@link #PILE} or more that
   * stay silent for the longest time count. Reserved requests do not count.
   */
  void checkStall(StallSettings patience, long now) {
    if (stalled()) {
      return;
    }
    int inFlight = inFlight() - reserved.get();
    int quiet = answeredWhole.get();
    long allowed =
        inFlight > quiet
            ? patience.allowedNanos(pendingTokens.get())
            : inFlight >= PILE ? patience.most().toNanos() : Long.MAX_VALUE;
    long last = lastProgressAt;
    if (now - last > allowed && inFlight > 0) {
      stall(now, 0);
      if (lastProgressAt != last) {
        // Progress came between the check and the mark. Later progress removes the mark itself.
        mark(Mark.STALLED, false);
      }
    }
  }

  private synchronized void stall(long now, int departed) {
    if (!stalled()) {
      stalls.increment();
      stalledByDepartures = departed;
      trials.begin(now, stallSettings);
      mark(Mark.STALLED, true);
    }
  }

  /**
   * Records that a client left before any output of its request. This is evidence of a stall if no
   * other request had output since then.
   *
   * @param sentAt time at which the request was sent
   * @param whole true if the response is non-streaming, so its first output is its end
   * @param tokens prompt tokens that the worker has to compute
   */
  void deserted(long sentAt, boolean whole, int tokens) {
    deserted.increment();
    if (!stallSettings.enabled() || lastOutputAt - sentAt > 0) {
      return;
    }
    long now = ticker.nanos();
    boolean clear = now - sentAt >= usualNanos(whole, tokens);
    if (departures.add(now, clear, stallSettings)) {
      stall(now, departures.count());
    }
  }

  /** Time within which a request has output, unless the worker has stalled. */
  private long usualNanos(boolean whole, int tokens) {
    long mean = whole ? serviceTime.nanos() : firstOutput.nanos();
    if (whole) {
      return mean == 0 ? Long.MAX_VALUE : 2 * mean;
    }
    return Math.max(2 * mean, stallSettings.explainedNanos(tokens));
  }

  /** Departures of clients that caused the present stall; 0 if silence caused it. */
  public int stalledByDepartures() {
    return stalledByDepartures;
  }

  /** Number of times it has stalled. */
  public long stalls() {
    return stalls.sum();
  }

  /** Clients that left before any output of their requests. */
  public long deserted() {
    return deserted.sum();
  }

  /** Records the end of a trial request without output. */
  void trialFailed() {
    trials.failed(ticker.nanos());
  }

  /**
   * Returns true if it has begun a response at ticker time {@code then} or later. Later parts of a
   * response do not prove that it still accepts requests.
   */
  public boolean begunSince(long then) {
    return beganAt - then >= 0;
  }

  /** Returns true if it has sent a part of a response at ticker time {@code then} or later. */
  public boolean sentSince(long then) {
    return lastPartAt - then >= 0;
  }

  /** Returns true if only its stall excludes it. */
  public boolean merelyStalled(long now) {
    return stalled() && eligible(LoadBoard.without(board.cell(slot), Mark.STALLED), now);
  }

  /** Permits one request although it has stalled, because no better worker is left. */
  public void permitStalled() {
    trials.permit();
  }

  /** Restarts its stall timer, because a client delays reading the response. */
  public void reprieve() {
    lastProgressAt = ticker.nanos();
    endStall();
  }

  private void endStall() {
    departures.clear();
    if (stalled()) {
      mark(Mark.STALLED, false);
    }
  }

  /** Returns true if only its open breaker excludes it and an early trial is due. */
  public boolean triableEarly(long now) {
    return !left
        && breaker.admitsEarly(now)
        && eligible(LoadBoard.without(board.cell(slot), Mark.BREAKER), now);
  }

  /**
   * Returns true if only its load can exclude it: it is healthy, awake and not stalled, does not
   * drain, and its breaker is closed.
   */
  public boolean inService() {
    return inServiceWithoutBreaker() && breaker.state() == CircuitBreaker.State.CLOSED;
  }

  private boolean inServiceWithoutBreaker() {
    return !left && !LoadBoard.out(board.cell(slot));
  }

  /** Returns true if it could serve, but its breaker is open. */
  public boolean merelyOpen() {
    return inServiceWithoutBreaker() && breaker.state() == CircuitBreaker.State.OPEN;
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

  /** Returns true if its breaker opened longer ago than that of {@code other}. */
  public boolean openedBefore(Worker other) {
    return breaker.openedAt() - other.breaker.openedAt() < 0;
  }

  /** Admits one request through its open breaker early, because no other worker is left. */
  public void tryEarly(long now) {
    breaker.tryEarly(now);
  }

  /** Counts a placed request among those that need not show progress. */
  private void placed(LeaseKind kind) {
    if (kind.later()) {
      reserved.incrementAndGet();
    } else if (kind.whole()) {
      answeredWhole.incrementAndGet();
    }
  }

  /**
   * Ends the count of a request among those that need not show progress.
   *
   * @param unsent true if it was to be sent later and was not sent
   * @param whole true if its response shows no progress before its end
   */
  void unplaced(boolean unsent, boolean whole) {
    if (unsent) {
      reserved.decrementAndGet();
    } else if (whole) {
      answeredWhole.decrementAndGet();
    }
  }

  /**
   * Records the output of a good response.
   *
   * @param sentAt dispatch of its request
   */
  void serves(long sentAt) {
    failureRun.served();
    if (sentAt - newestServedAt > 0) {
      newestServedAt = sentAt; // A lost update of another thread only hides a proof.
    }
  }

  /**
   * Returns true if a request has output that reached the engine's queue after one with {@code
   * promptTokens} that was sent at {@code sentAt}. Engines split a prompt into tokens before its
   * request is in their queue, so later requests can pass a long prompt.
   */
  boolean hasOutlived(long sentAt, int promptTokens) {
    return newestServedAt - sentAt > IN_ORDER_NANOS + promptTokens * QUEUED_NANOS_PER_TOKEN;
  }

  /** Changes the number of suspect requests in flight by {@code change}, which is 1 or -1. */
  void suspects(int change) {
    suspects.addAndGet(change);
  }

  /** Requests in flight after which another worker failed, without output yet. */
  public int suspects() {
    return suspects.get();
  }

  /**
   * Records that a reserved request is sent. The first request sent starts the stall timer.
   *
   * @param whole true if its response shows no progress before its end
   */
  void dispatched(boolean whole) {
    if (inFlight() == reserved.getAndDecrement()) {
      lastProgressAt = ticker.nanos();
    }
    if (whole) {
      answeredWhole.incrementAndGet();
    }
  }

  /** Requests in flight that were sent and whose response shows no progress before its end. */
  int answeredWhole() {
    return answeredWhole.get();
  }

  /** Requests in flight that have not been sent yet. */
  public int reserved() {
    return reserved.get();
  }

  /** Takes a lease for a request that is sent at once and whose response is a stream. */
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
    if (inFlight() <= reserved.get()) {
      lastProgressAt = now; // before the request counts: a check may run in between
    }
    int before = enter(now);
    if (before == REFUSED) {
      return null;
    }
    Admission admission =
        LoadBoard.has(before, Mark.BREAKER) ? breaker.admit(now) : Admission.ADMITTED;
    boolean taken = LoadBoard.has(before, Mark.CLOSING) && !shutdown.tryOnce(now);
    if (left || taken || admission == Admission.REFUSED) {
      if (admission == Admission.PROBE) {
        breaker.ignored(true);
      }
      board.leave(slot);
      return null;
    }
    StallTrials.Admission trial =
        LoadBoard.has(before, Mark.STALLED) ? trials.admit(now) : StallTrials.Admission.PERMITTED;
    if (trial == StallTrials.Admission.REFUSED) {
      breaker.ignored(admission == Admission.PROBE);
      board.leave(slot);
      return null;
    }
    if (ignoresProbes) {
      lastResorts.increment();
    }
    if (LoadBoard.has(before, Mark.RESTING)) {
      endRest(now);
    }
    if ((before & LoadBoard.MAX_IN_FLIGHT) <= reserved.get()) {
      lastProgressAt = now;
    }
    pendingTokens.addAndGet(promptTokens);
    placed(kind);
    boolean probe = admission == Admission.PROBE;
    boolean trialOfStall = trial == StallTrials.Admission.TRIAL;
    return new Lease(this, kind, probe, trialOfStall, promptTokens, cachedTokens, now, listener);
  }

  /**
   * Increments the count while the cell is eligible.
   *
   * @return the cell before the increment, or {@link #REFUSED}
   */
  private int enter(long now) {
    int cell = board.cell(slot);
    while (!left && eligible(cell, now)) {
      int found = board.enterIf(slot, cell);
      if (found == cell) {
        return cell;
      }
      cell = found;
    }
    return REFUSED;
  }

  /** Records the head of a response before its output. It is no progress. */
  void accepted() {
    long now = ticker.nanos();
    beganAt = now;
    lastPartAt = now;
  }

  /**
   * Records the first output of a response to a prompt of {@code promptTokens} tokens.
   *
   * @param sentAt time at which the request was sent
   * @param whole true if the response is non-streaming
   */
  void began(int promptTokens, long sentAt, boolean whole) {
    pendingTokens.addAndGet(-promptTokens);
    answering.incrementAndGet();
    long now = ticker.nanos();
    beganAt = now;
    if (!whole) {
      firstOutput.took(now - sentAt);
    }
    progressed(now);
  }

  /** Records further output of a response. */
  void progressed() {
    progressed(ticker.nanos());
  }

  /** Records output that another proxy reported. Its time is not that of progress. */
  void reportedOutput() {
    long now = ticker.nanos();
    lastPartAt = now;
    lastOutputAt = now;
    endStall();
  }

  /** The current time by the engine's ticker. */
  public long now() {
    return ticker.nanos();
  }

  private void progressed(long now) {
    lastProgressAt = now;
    lastPartAt = now;
    lastOutputAt = now;
    endStall();
  }

  /** Removes the pending prompt tokens of a request that ended without a response. */
  void abandon(int promptTokens) {
    pendingTokens.addAndGet(-promptTokens);
  }

  /** Records the beginning of a good response to the breaker's probe. */
  void probeAnswered() {
    breaker.succeeded(true);
  }

  /**
   * Ends the accounting of one request.
   *
   * @param probe true if it is a breaker's probe without a result so far
   * @param placedAt ticker time of the placement
   * @param unanswered true if no part of a response was reported
   */
  void settled(boolean probe, Outcome outcome, long placedAt, boolean unanswered, boolean session) {
    board.leave(slot);
    if (!unanswered) {
      answering.decrementAndGet();
    }
    switch (outcome) {
      case Outcome.Succeeded(boolean answered) -> {
        served.increment();
        long now = ticker.nanos();
        if (!session) {
          serviceTime.took(now - placedAt);
        }
        if (unanswered) {
          beganAt = now;
        }
        failureRun.served();
        progressed(now);
        if (answered && shuttingDown() && shutdown.before(placedAt)) {
          mark(Mark.CLOSING, false);
        }
        breaker.succeeded(probe);
      }
      case Outcome.Failed(Failure failure, boolean charged) -> {
        failed.increment();
        if (failure != Failure.CONNECT) {
          failureRun.failed(placedAt, ticker.nanos());
        }
        // A worker that began other responses since the placement is alive, only too busy to
        // accept.
        if (failure == Failure.CONNECT && !begunSince(placedAt)) {
          health.refused();
        }
        if (charged) {
          breaker.failed(probe, failure, ticker.nanos());
        } else {
          breaker.ignored(probe);
        }
      }
      case Outcome.Ignored _ -> breaker.ignored(probe);
    }
  }

  private synchronized void healthChanged() {
    ignoresProbes = ignoresProbes && health.merelySilent();
    boolean wasOut = LoadBoard.has(board.cell(slot), Mark.UNHEALTHY);
    if (wasOut && health.healthy()) {
      warm();
    }
    mark(Mark.UNHEALTHY, !health.healthy() && !ignoresProbes);
  }

  private void breakerChanged() {
    mark(Mark.BREAKER, breaker.state() != CircuitBreaker.State.CLOSED);
  }

  @Override
  public String toString() {
    return spec.id();
  }
}
