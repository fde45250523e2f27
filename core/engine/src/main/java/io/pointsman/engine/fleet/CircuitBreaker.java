package io.pointsman.engine.fleet;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Predicate;

/**
 * Circuit breaker of one worker: excludes the worker after failures, then probes it with one
 * request at a time. The transitions are:
 *
 * <ul>
 *   <li>CLOSED to OPEN: consecutive failures reach the threshold, and the {@link EjectionLimit}
 *       admits it. Otherwise the count starts again.
 *   <li>OPEN to CLOSED: a failure that opened it is withdrawn, or no other worker is in service.
 *   <li>OPEN to HALF_OPEN: {@code openFor} has passed.
 *   <li>OPEN to HALF_OPEN, early: a health probe succeeds after refused connections, or the worker
 *       recovers from an outage.
 *   <li>OPEN to HALF_OPEN, as a last resort: no other worker is left, and a tenth of {@code
 *       openFor}, at least 5 s, has passed.
 *   <li>HALF_OPEN to OPEN: the probe fails.
 *   <li>HALF_OPEN to CLOSED: {@code successThreshold} consecutive probes succeed.
 * </ul>
 *
 * <p>In HALF_OPEN at most one request at a time is a probe. It succeeds when a good response
 * begins; afterwards it is an ordinary request. Other leases do not change a breaker that is not
 * closed, because most were placed before it opened. Safe for use by several threads. The closed
 * state without failures takes no lock.
 */
public final class CircuitBreaker {
  /** The breaker's state. */
  public enum State {
    CLOSED,
    OPEN,
    HALF_OPEN
  }

  private record Transition(State from, State to) {}

  /** The breaker's answer to a request that is about to be placed. */
  enum TrialTurn {
    /** Not admitted now. */
    REFUSED,
    /** The breaker is closed; the request is an ordinary one. */
    ADMITTED,
    /** The request is the probe. */
    PROBE
  }

  /** Fraction of {@code openFor} after which an early trial is possible: one tenth. */
  private static final int EARLY_SHARE = 10;

  private static final long LEAST_EARLY_NANOS = 5_000_000_000L;

  private volatile BreakerSettings settings;
  private final Predicate<Runnable> ejects;
  private final Runnable onStateChange;

  private volatile State state = State.CLOSED;
  private volatile int points;
  private volatile long openedAt;
  private volatile boolean probing;
  private volatile int run;
  private final LongAdder opened = new LongAdder();

  /** Number of changes of state. Written under the lock. */
  private final Map<Transition, Integer> changes = new ConcurrentHashMap<>();

  private long lastFailureAt;
  private int successes;
  private boolean openedByConnect;

  /**
   * @param ejects runs its argument, which opens this breaker; or returns false. Called under the
   *     breaker's lock
   * @param onStateChange is called under the breaker's lock after each change of state; must not
   *     block
   */
  CircuitBreaker(BreakerSettings settings, Predicate<Runnable> ejects, Runnable onStateChange) {
    this.settings = settings;
    this.ejects = ejects;
    this.onStateChange = onStateChange;
  }

  /** Replaces the settings. The state stays, but a breaker that is switched off closes. */
  synchronized void configure(BreakerSettings next) {
    settings = next;
    if (!next.enabled() && state != State.CLOSED) {
      startRun();
      become(State.CLOSED);
    }
  }

  public State state() {
    return state;
  }

  /** Number of times it has opened. */
  public long opened() {
    return opened.sum();
  }

  /** Number of changes from one state to another. */
  public int transitions(State from, State to) {
    return changes.getOrDefault(new Transition(from, to), 0);
  }

  /** Returns true if a request placed at {@code now} would be admitted. */
  boolean admits(long now) {
    return switch (state) {
      case CLOSED -> true;
      case OPEN -> now - openedAt >= settings.openFor().toNanos();
      // The state again: the probe may have failed after the first read.
      case HALF_OPEN -> !probing && state == State.HALF_OPEN;
    };
  }

  /** Returns true if it has been open long enough for a trial when no other worker is left. */
  boolean admitsEarly(long now) {
    long wait = Math.max(LEAST_EARLY_NANOS, settings.openFor().toNanos() / EARLY_SHARE);
    return state == State.OPEN && now - openedAt >= wait;
  }

  /** Time of the last opening, by the ticker; undefined before the first. */
  long openedAt() {
    return openedAt;
  }

  /** Changes to HALF_OPEN early because no other worker is left. */
  synchronized void tryEarly(long now) {
    if (admitsEarly(now)) {
      become(State.HALF_OPEN);
    }
  }

  /** Admits a request, as the probe if the breaker is not closed. */
  synchronized TrialTurn admit(long now) {
    if (!admits(now)) {
      return TrialTurn.REFUSED;
    }
    if (state == State.CLOSED) {
      return TrialTurn.ADMITTED;
    }
    if (state == State.OPEN) {
      become(State.HALF_OPEN);
    }
    probing = true;
    return TrialTurn.PROBE;
  }

  void succeeded(boolean probe) {
    if (state == State.CLOSED && points == 0) {
      return;
    }
    settleSuccess(probe);
  }

  private synchronized void settleSuccess(boolean probe) {
    if (state == State.CLOSED) {
      startRun();
    } else if (probe && state == State.HALF_OPEN) {
      probing = false;
      successes++;
      if (successes >= settings.successThreshold()) {
        startRun();
        become(State.CLOSED);
      }
    }
  }

  @SuppressWarnings("NonAtomicVolatileUpdate") // written under the lock
  private void startRun() {
    points = 0;
    run++;
  }

  /** Number of the current run of consecutive failures; a success starts the next run. */
  public int run() {
    return run;
  }

  /** Returns true if failures were charged since the last success. */
  public boolean charged() {
    return points > 0;
  }

  /**
   * Withdraws one failure that was charged in run {@code of}. If it opened the breaker, the breaker
   * closes.
   */
  @SuppressWarnings("NonAtomicVolatileUpdate") // written under the lock
  synchronized void forgive(int of) {
    if (of != run || points == 0) {
      return;
    }
    points--;
    if (state == State.OPEN && points < settings.failureThreshold()) {
      become(State.CLOSED);
    }
  }

  /** Closes an open breaker, because no other worker is in service. */
  synchronized boolean readmit() {
    boolean open = state == State.OPEN;
    if (open) {
      startRun();
      become(State.CLOSED);
    }
    return open;
  }

  synchronized void failed(boolean probe, Failure failure, long now) {
    if (!settings.enabled()) {
      ignored(probe);
      return;
    }
    if (probe && state == State.HALF_OPEN) {
      startRun();
      open(failure, now);
    } else if (state == State.CLOSED) {
      if (now - lastFailureAt > settings.window().toNanos()) {
        startRun();
      }
      lastFailureAt = now;
      points += failure == Failure.CONNECT ? (settings.failureThreshold() + 1) / 2 : 1;
      if (points >= settings.failureThreshold() && !ejects.test(() -> open(failure, now))) {
        startRun();
      }
    }
  }

  /**
   * Ends a probe without a verdict (the client left, or the engine was busy) and permits another.
   */
  synchronized void ignored(boolean probe) {
    if (probe) {
      probing = false;
    }
  }

  /**
   * Records a successful health probe. If refused connections opened the breaker, a trial is
   * possible at once.
   */
  synchronized void reachable() {
    if (state == State.OPEN && openedByConnect) {
      become(State.HALF_OPEN);
    }
  }

  /** Records the end of an outage. The failures that opened the breaker happened before it. */
  synchronized void recovered() {
    if (state == State.OPEN) {
      become(State.HALF_OPEN);
    }
  }

  private void open(Failure failure, long now) {
    openedAt = now;
    openedByConnect = failure == Failure.CONNECT;
    opened.increment();
    become(State.OPEN);
  }

  private void become(State next) {
    changes.merge(new Transition(state, next), 1, Integer::sum);
    // Before the probe's end: a reader that misses the probe must see the new state.
    state = next;
    probing = false;
    successes = 0;
    onStateChange.run();
  }
}
