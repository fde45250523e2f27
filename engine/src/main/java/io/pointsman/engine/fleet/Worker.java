package io.pointsman.engine.fleet;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.CircuitBreaker.Admission;
import io.pointsman.engine.fleet.LoadBoard.Mark;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * One routable engine endpoint with its live state: load, health, breaker, rest, stall. Its
 * identity never changes; its state is changed by leases, by probes and by the fleet, from any
 * thread.
 *
 * <p>A worker that has left may still be held by a stale picker, a prober or a late request while
 * its slot belongs to another worker, so two rules keep it off the other's cell. Marks are set
 * under the worker's lock, and not once the slot is released. A lease is counted in first and looks
 * whether the worker has left afterwards, while the fleet first says that it has left and then
 * looks at the count: one of them sees the other.
 */
public final class Worker {
  /** So many requests do not all take the longest time by chance. */
  private static final int PILE = 4;

  private static final int REFUSED = -1;
  private static final long LONGEST_REST = Long.MAX_VALUE / 4;

  private final WorkerSpec spec;
  private final int slot;
  private final LoadBoard board;
  private final Ticker ticker;
  private final HealthState health;
  private final CircuitBreaker breaker;
  private final LongAdder served = new LongAdder();
  private final ServiceTime serviceTime = new ServiceTime();
  private final LongAdder failed = new LongAdder();

  private volatile ServedModels models;
  private volatile int kvTokens;
  private volatile long restUntil;
  private volatile int restStatus;

  private volatile long lastProgressAt;

  /** When the first part of an answer has come last; none yet is long ago. */
  private volatile long beganAt;

  private final AtomicInteger answeredWhole = new AtomicInteger();
  private final AtomicInteger reserved = new AtomicInteger();
  private final AtomicLong pendingTokens = new AtomicLong();
  private volatile boolean left;
  private volatile boolean slotReleased;

  Worker(WorkerSpec spec, int slot, LoadBoard board, FleetSettings settings, Ticker ticker) {
    this.spec = spec;
    this.slot = slot;
    this.board = board;
    this.ticker = ticker;
    models = ServedModels.configured(spec.models());
    lastProgressAt = ticker.nanos();
    beganAt = lastProgressAt - Long.MAX_VALUE / 2;
    health = new HealthState(settings.health(), this::healthChanged);
    breaker = new CircuitBreaker(settings.breaker(), this::breakerChanged);
    board.mark(slot, Mark.UNHEALTHY);
    if (spec.maxInFlight() > 0) {
      board.mark(slot, Mark.LIMITED);
    }
  }

  public WorkerSpec spec() {
    return spec;
  }

  public String id() {
    return spec.id();
  }

  /**
   * The worker's place in dense tables, such as the prefix index; in {@code [0,
   * FleetSettings.maxWorkers)}. Reused after it has left.
   */
  public int slot() {
    return slot;
  }

  /**
   * The models it serves, as configured or learned; empty while not known or not told. As the
   * newest snapshot shows them: whoever decides by another one asks that.
   */
  public Set<String> models() {
    return models.names();
  }

  /**
   * Those of its {@link #models} that are no adapters of others; the same set until they change.
   */
  public Set<String> bases() {
    return models.bases();
  }

  /** Whether it does not tell its models although it is well: it is taken to serve any. */
  public boolean anyModel() {
    return models.any();
  }

  /** A snapshot shows these from now on. */
  void shown(ServedModels served) {
    models = served;
  }

  /** Tokens that its KV memory holds, as it says; 0 if it does not. */
  public int kvTokens() {
    return kvTokens;
  }

  /** Takes note of what it says of its KV memory. */
  public void learnKvTokens(int tokens) {
    kvTokens = tokens;
  }

  /** Requests placed on it and not settled yet. */
  public int inFlight() {
    return slotReleased ? 0 : board.inFlight(slot);
  }

  /** Estimated prompt tokens of the requests in flight that it has not begun to answer. */
  public long pendingTokens() {
    return pendingTokens.get();
  }

  /** Requests that it has served to the end so far. */
  public long served() {
    return served.sum();
  }

  /**
   * Nanoseconds between the ends of two requests at its present number in flight, as it has served
   * requests so far (Little's law); 0 if it has served none.
   */
  public long nanosBetweenEnds() {
    return serviceTime.nanos() / Math.max(1, inFlight());
  }

  /** Requests that failed on it so far. */
  public long failures() {
    return failed.sum();
  }

  public HealthState health() {
    return health;
  }

  public CircuitBreaker breaker() {
    return breaker;
  }

  /** Whether it has left the fleet, for good. */
  public boolean left() {
    return left;
  }

  /** Whether it is to serve no new requests, because it was told so or has left. */
  public boolean draining() {
    return left || LoadBoard.has(board.cell(slot), Mark.DRAINING);
  }

  public boolean stalled() {
    return !left && LoadBoard.has(board.cell(slot), Mark.STALLED);
  }

  /**
   * Whether a request may be placed on it at {@code now}: healthy, breaker admits, not draining,
   * resting, stalled or full.
   */
  public boolean eligible(long now) {
    return !left && eligible(board.cell(slot), now);
  }

  private boolean eligible(int cell, long now) {
    if (cell < LoadBoard.MAX_IN_FLIGHT) {
      return true;
    }
    int most = spec.maxInFlight() > 0 ? spec.maxInFlight() : LoadBoard.MAX_IN_FLIGHT;
    return !out(cell, now)
        && !(LoadBoard.has(cell, Mark.RESTING) && now - restUntil < 0)
        && (cell & LoadBoard.MAX_IN_FLIGHT) < most;
  }

  private boolean out(int cell, long now) {
    return LoadBoard.has(cell, Mark.UNHEALTHY)
        || LoadBoard.has(cell, Mark.DRAINING)
        || LoadBoard.has(cell, Mark.STALLED)
        || (LoadBoard.has(cell, Mark.BREAKER) && !breaker.admits(now));
  }

  /** Whether it would be eligible but for being busy: resting after it said so, or at its limit. */
  public boolean merelyBusy(long now) {
    int cell = board.cell(slot);
    return !left && !out(cell, now) && !eligible(cell, now);
  }

  /** Nanoseconds until its rest is over; 0 or less when it does not rest. */
  public long restLeft(long now) {
    return !left && LoadBoard.has(board.cell(slot), Mark.RESTING) ? restUntil - now : 0;
  }

  /** The status by which it last said that it is busy; 0 if not known. */
  public int restStatus() {
    return restStatus;
  }

  /**
   * Leaves it alone for {@code nanos} because it said that it is busy. A rest that would last
   * longer is not cut short.
   */
  public void rest(long nanos) {
    rest(nanos, 0);
  }

  /**
   * The same.
   *
   * @param status by which it said so; 0 if that is not known
   */
  public synchronized void rest(long nanos, int status) {
    long until = ticker.nanos() + Math.min(nanos, LONGEST_REST);
    if (!LoadBoard.has(board.cell(slot), Mark.RESTING) || until - restUntil > 0) {
      restStatus = status;
      restUntil = until;
    }
    mark(Mark.RESTING, true);
  }

  private synchronized void endRest(long now) {
    if (now - restUntil >= 0) {
      mark(Mark.RESTING, false);
    }
  }

  private synchronized void wake() {
    mark(Mark.RESTING, false);
  }

  /** Takes the result of a health probe. Who is back from an outage is not busy any more. */
  public void probed(boolean good) {
    boolean wasOut = health.status() == HealthState.Status.UNHEALTHY;
    health.probed(good);
    if (wasOut && health.healthy()) {
      breaker.recovered();
      wake();
    } else if (good) {
      breaker.reachable();
    }
  }

  /** A health probe got no answer in time: it has failed, but says nothing of what is held. */
  public void silent() {
    health.silent();
  }

  /** It takes requests in, though it had no time to answer a health probe. */
  public void alive() {
    health.alive();
  }

  /** Places no new requests on it, or places them again. */
  public void drain(boolean draining) {
    mark(Mark.DRAINING, draining);
  }

  /** Places nothing on it any more, for good. */
  synchronized void leave() {
    mark(Mark.DRAINING, true);
    left = true;
  }

  /**
   * Gives its slot up for another worker to use, if it has left and its last lease is settled.
   *
   * @return whether it has
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
   * Takes it out of choice when it has requests in flight and has shown no progress for longer than
   * {@code patience} explains. It returns with its next progress, or when it has nothing left in
   * flight that could make any. Requests that are answered in one piece show no progress on the
   * way: with nothing else in flight, only a pile of them that all stay silent for the longest time
   * counts. Reserved places owe none at all.
   */
  void checkStall(StallSettings patience, long now) {
    int inFlight = inFlight() - reserved.get();
    int quiet = answeredWhole.get();
    long allowed =
        inFlight > quiet
            ? patience.allowedNanos(pendingTokens.get())
            : inFlight >= PILE ? patience.most().toNanos() : Long.MAX_VALUE;
    boolean stalled = now - lastProgressAt > allowed && inFlight > 0;
    if (stalled != stalled()) {
      mark(Mark.STALLED, stalled);
    }
  }

  /**
   * Whether it has begun to answer any request at {@code then}, by the ticker, or later. Further
   * parts of answers do not tell whether it still takes requests in.
   */
  public boolean begunSince(long then) {
    return beganAt - then >= 0;
  }

  /** Whether nothing but its stall keeps requests away. */
  public boolean merelyStalled(long now) {
    return stalled() && eligible(LoadBoard.without(board.cell(slot), Mark.STALLED), now);
  }

  /**
   * Does not count its silence so far: nothing better is left than this stalled worker, or it is a
   * client that holds its answer up.
   */
  public void reprieve() {
    lastProgressAt = ticker.nanos();
    mark(Mark.STALLED, false);
  }

  /**
   * Whether nothing but its open breaker keeps requests away, for long enough that it may be tried
   * before its time.
   */
  public boolean triableEarly(long now) {
    return !left
        && breaker.admitsEarly(now)
        && eligible(LoadBoard.without(board.cell(slot), Mark.BREAKER), now);
  }

  /** Whether its breaker opened longer ago than that of {@code other}. */
  public boolean openedBefore(Worker other) {
    return breaker.openedAt() - other.breaker.openedAt() < 0;
  }

  /** Lets one request through its open breaker before its time, because nobody else is left. */
  public void tryEarly(long now) {
    breaker.tryEarly(now);
  }

  /** One more, or with -1 one fewer, of the requests in flight is answered in one piece. */
  void answersWhole(int change) {
    answeredWhole.addAndGet(change);
  }

  /** One more, or with -1 one fewer, of the requests in flight has not been sent yet. */
  void reserved(int change) {
    reserved.addAndGet(change);
  }

  /** A request that had its place reserved is sent: the first one that is starts the clock. */
  void dispatched() {
    if (inFlight() == reserved.getAndDecrement()) {
      lastProgressAt = ticker.nanos();
    }
  }

  /** Requests in flight that have not been sent yet. */
  public int reserved() {
    return reserved.get();
  }

  /**
   * Counts one request in.
   *
   * @param promptTokens estimated tokens of its prompt
   * @param cachedTokens how many of them the worker is thought to hold in its cache
   * @return the lease, or null if the worker is not eligible, or no longer: full, gone, its
   *     breaker's one probe taken
   */
  public @Nullable Lease tryLease(
      long now, int promptTokens, int cachedTokens, LeaseListener listener) {
    int before = enter(now);
    if (before == REFUSED) {
      return null;
    }
    Admission admission =
        LoadBoard.has(before, Mark.BREAKER) ? breaker.admit(now) : Admission.ADMITTED;
    if (left || admission == Admission.REFUSED) {
      board.leave(slot);
      return null;
    }
    if (LoadBoard.has(before, Mark.RESTING)) {
      endRest(now);
    }
    if ((before & LoadBoard.MAX_IN_FLIGHT) <= reserved.get()) {
      lastProgressAt = now;
    }
    pendingTokens.addAndGet(promptTokens);
    boolean probe = admission == Admission.PROBE;
    return new Lease(this, probe, promptTokens, cachedTokens, now, listener);
  }

  /** Counts one in while the cell says that it is eligible; answers the cell before. */
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

  /** The first part of an answer has come to a prompt of so many tokens. */
  void began(int promptTokens) {
    pendingTokens.addAndGet(-promptTokens);
    long now = ticker.nanos();
    beganAt = now;
    progressed(now);
  }

  /** Another part has come. */
  void progressed() {
    progressed(ticker.nanos());
  }

  /** The time by the engine's ticker. */
  long now() {
    return ticker.nanos();
  }

  private void progressed(long now) {
    lastProgressAt = now;
    if (stalled()) {
      mark(Mark.STALLED, false);
    }
  }

  /** Forgets a prompt that ended without any answer. */
  void abandon(int promptTokens) {
    pendingTokens.addAndGet(-promptTokens);
  }

  /** The breaker's probe has got the beginning of a good answer. */
  void probeAnswered() {
    breaker.succeeded(true);
  }

  /**
   * Counts one request out.
   *
   * @param probe whether it is a breaker's probe without a verdict so far
   * @param placedAt when it was placed
   * @param unanswered whether no part of an answer was told of before
   */
  void settled(boolean probe, Outcome outcome, long placedAt, boolean unanswered) {
    board.leave(slot);
    switch (outcome) {
      case Outcome.Succeeded _ -> {
        served.increment();
        long now = ticker.nanos();
        serviceTime.took(now - placedAt);
        if (unanswered) {
          beganAt = now;
        }
        progressed(now);
        breaker.succeeded(probe);
      }
      case Outcome.Failed(Failure failure) -> {
        failed.increment();
        // One that takes other requests in meanwhile is there, and has no time to accept.
        if (failure == Failure.CONNECT && !begunSince(placedAt)) {
          health.refused();
        }
        breaker.failed(probe, failure, ticker.nanos());
      }
      case Outcome.Ignored _ -> breaker.ignored(probe);
    }
  }

  private void healthChanged() {
    mark(Mark.UNHEALTHY, !health.healthy());
  }

  private void breakerChanged() {
    mark(Mark.BREAKER, breaker.state() != CircuitBreaker.State.CLOSED);
  }

  @Override
  public String toString() {
    return spec.id();
  }
}
