package io.pointsman.engine.fleet;

import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.CircuitBreaker.TrialTurn;
import io.pointsman.engine.fleet.LoadBoard.Mark;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * The leases on one worker: their admission, and the changes of the worker's states by their
 * events. A lease counts from the atomic increment of the cell on, which happens only while the
 * cell admits it. Breaker, shutdown and stall may still refuse it; the count is then taken back.
 * Any thread.
 */
final class WorkerLeases {
  private static final int REFUSED = -1;

  private final Worker worker;
  private final WorkerCell cell;
  private final Ticker ticker;
  private final RequestCounts counts = new RequestCounts();
  private final ServiceTime serviceTime = new ServiceTime();
  private final LongAdder served = new LongAdder();
  private final LongAdder failed = new LongAdder();
  private final LongAdder lastResorts = new LongAdder();
  private final CircuitBreaker breaker;
  private final EngineShutdown shutdown;
  private final RestState rest;
  private final ProbeState probes;
  private final StallState stall;

  /** Time of the last first part of a response; far in the past before the first. */
  private volatile long beganAt;

  /** Time of the last part of a response; far in the past before the first. */
  private volatile long lastPartAt;

  WorkerLeases(
      Worker worker,
      WorkerCell cell,
      CircuitBreaker breaker,
      EngineShutdown shutdown,
      RestState rest,
      ProbeState probes,
      StallLimits stalls,
      Ticker ticker) {
    this.worker = worker;
    this.cell = cell;
    this.breaker = breaker;
    this.shutdown = shutdown;
    this.rest = rest;
    this.probes = probes;
    this.ticker = ticker;
    stall = new StallState(cell, counts, serviceTime, stalls, ticker);
    beganAt = ticker.nanos() - Long.MAX_VALUE / 2;
    lastPartAt = beganAt;
  }

  RequestCounts counts() {
    return counts;
  }

  StallState stall() {
    return stall;
  }

  /** Mean time of requests. */
  ServiceTime serviceTime() {
    return serviceTime;
  }

  long served() {
    return served.sum();
  }

  long failures() {
    return failed.sum();
  }

  /** Requests placed while the probes failed. */
  long lastResorts() {
    return lastResorts.sum();
  }

  /**
   * Returns true if the worker has begun a response at ticker time {@code then} or later. Later
   * parts of a response do not prove that it still accepts requests.
   */
  boolean begunSince(long then) {
    return beganAt - then >= 0;
  }

  /**
   * Returns true if the worker has sent a part of a response at ticker time {@code then} or later.
   */
  boolean sentSince(long then) {
    return lastPartAt - then >= 0;
  }

  /**
   * Takes a lease, as {@link Worker#tryLease(long, LeaseKind, int, int, LeaseListener)} describes.
   */
  @Nullable Lease take(
      long now, LeaseKind kind, int promptTokens, int cachedTokens, LeaseListener listener) {
    if (cell.inFlight() <= counts.unsent()) {
      stall.restart(now); // before the request counts: a check may run in between
    }
    int before = enter(now);
    if (before == REFUSED) {
      return null;
    }
    TrialTurn admission =
        LoadBoard.has(before, Mark.BREAKER) ? breaker.admit(now) : TrialTurn.ADMITTED;
    boolean taken = LoadBoard.has(before, Mark.CLOSING) && !shutdown.tryOnce(now);
    if (cell.left() || taken || admission == TrialTurn.REFUSED) {
      if (admission == TrialTurn.PROBE) {
        breaker.ignored(true);
      }
      cell.exit();
      return null;
    }
    StallTrials.StallTurn trial =
        LoadBoard.has(before, Mark.STALLED) ? stall.admit(now) : StallTrials.StallTurn.PERMITTED;
    if (trial == StallTrials.StallTurn.REFUSED) {
      breaker.ignored(admission == TrialTurn.PROBE);
      cell.exit();
      return null;
    }
    if (probes.ignored()) {
      lastResorts.increment();
    }
    if (LoadBoard.has(before, Mark.RESTING)) {
      rest.endIfOver(now);
    }
    if ((before & LoadBoard.MAX_IN_FLIGHT) <= counts.unsent()) {
      stall.restart(now);
    }
    counts.placed(kind, promptTokens);
    boolean probe = admission == TrialTurn.PROBE;
    boolean trialOfStall = trial == StallTrials.StallTurn.TRIAL;
    return new Lease(worker, kind, probe, trialOfStall, promptTokens, cachedTokens, now, listener);
  }

  /**
   * Increments the count while the cell is eligible.
   *
   * @return the cell before the increment, or {@link #REFUSED}
   */
  private int enter(long now) {
    int value = cell.value();
    while (!cell.left() && worker.eligible(value, now)) {
      int found = cell.enterIf(value);
      if (found == value) {
        return value;
      }
      value = found;
    }
    return REFUSED;
  }

  /**
   * Records that a request is sent that was placed to be sent later. The first request sent starts
   * the stall timer.
   *
   * @param whole true if its response shows no progress before its end
   */
  void dispatched(boolean whole) {
    if (cell.inFlight() == counts.sent(whole)) {
      stall.restart(ticker.nanos());
    }
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
    counts.began(promptTokens);
    long now = ticker.nanos();
    beganAt = now;
    if (!whole) {
      stall.began(now, sentAt);
    }
    progressed(now);
  }

  /** Records further output of a response. */
  void progressed() {
    progressed(ticker.nanos());
  }

  private void progressed(long now) {
    lastPartAt = now;
    stall.progressed(now);
  }

  /** Records output that another proxy reported. Its time is not that of progress. */
  void reportedOutput() {
    long now = ticker.nanos();
    lastPartAt = now;
    stall.reportedOutput(now);
  }

  /** Records the beginning of a good response to the breaker's probe. */
  void probeAnswered() {
    breaker.succeeded(true);
  }

  /**
   * Ends the counts of one request. The request leaves the number in flight first: a check for
   * stalls in between must not take it for one that is silent.
   *
   * @param unsent true if it was to be sent later and was not sent
   * @param whole true if its response shows no progress before its end
   * @param answered true if it had output
   */
  void exit(boolean unsent, boolean whole, boolean answered, int promptTokens) {
    cell.exit();
    counts.ended(unsent, whole, answered, promptTokens);
  }

  /**
   * Records the outcome of one request.
   *
   * @param probe true if it is a breaker's probe without a result so far
   * @param placedAt ticker time of the placement
   * @param unanswered true if no part of a response was reported
   */
  void settled(boolean probe, Outcome outcome, long placedAt, boolean unanswered, boolean session) {
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
        probes.failureSigns().served();
        progressed(now);
        if (answered && shutdown.begun() && shutdown.before(placedAt)) {
          shutdown.ends();
          cell.mark(Mark.CLOSING, false);
        }
        breaker.succeeded(probe);
      }
      case Outcome.Failed(Failure failure, boolean charged) -> {
        failed.increment();
        if (failure != Failure.CONNECT) {
          probes.failureSigns().failed(placedAt);
        }
        // A worker that began other responses since the placement is alive, only too busy to
        // accept.
        if (failure == Failure.CONNECT && !begunSince(placedAt)) {
          probes.health().refused();
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
}
