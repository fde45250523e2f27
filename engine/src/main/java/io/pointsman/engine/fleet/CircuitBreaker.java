package io.pointsman.engine.fleet;

import java.util.concurrent.atomic.LongAdder;

/**
 * Leaves a failing worker alone, then tries it with one request at a time.
 *
 * <pre>
 * CLOSED     failures in a row reach the threshold        -> OPEN
 * OPEN       openFor has passed, or a health probe is good
 *            after refused connections, or a tenth of
 *            openFor and 5 s at least have passed and
 *            nobody else is left                          -> HALF_OPEN
 * HALF_OPEN  the probe fails                              -> OPEN
 *            successThreshold probes succeed in a row     -> CLOSED
 * </pre>
 *
 * <p>In HALF_OPEN at most one request is under way as a probe; it has succeeded as soon as a good
 * answer begins, and is a request like others from then on. A settled lease that held no probe does
 * not move a breaker that is not closed: most such requests were placed before the breaker opened.
 * Safe for use by several threads; the closed state without failures takes no lock.
 */
public final class CircuitBreaker {
  /** What the breaker lets through. */
  public enum State {
    CLOSED,
    OPEN,
    HALF_OPEN
  }

  /** The breaker's answer to a request that is about to be placed. */
  enum Admission {
    /** Not now. */
    REFUSED,
    /** The breaker is closed; the request is one among others. */
    ADMITTED,
    /** The request is the one probe. */
    PROBE
  }

  /** An open breaker may be tried before its time after this share of it. */
  private static final int EARLY_SHARE = 10;

  private static final long LEAST_EARLY_NANOS = 5_000_000_000L;

  private final BreakerSettings settings;
  private final Runnable onStateChange;

  private volatile State state = State.CLOSED;
  private volatile int points;
  private volatile long openedAt;
  private volatile boolean probing;
  private final LongAdder opened = new LongAdder();
  private long lastFailureAt;
  private int successes;
  private boolean openedByConnect;

  /**
   * @param onStateChange called under the breaker's lock after each change of state; must not block
   */
  CircuitBreaker(BreakerSettings settings, Runnable onStateChange) {
    this.settings = settings;
    this.onStateChange = onStateChange;
  }

  public State state() {
    return state;
  }

  /** How often it has opened so far. */
  public long opened() {
    return opened.sum();
  }

  /** Whether a request placed at {@code now} would be let through. */
  boolean admits(long now) {
    return switch (state) {
      case CLOSED -> true;
      case OPEN -> now - openedAt >= settings.openFor().toNanos();
      case HALF_OPEN -> !probing;
    };
  }

  /** Whether it has been open for long enough to be tried if no other worker is left. */
  boolean admitsEarly(long now) {
    long wait = Math.max(LEAST_EARLY_NANOS, settings.openFor().toNanos() / EARLY_SHARE);
    return state == State.OPEN && now - openedAt >= wait;
  }

  /** When it opened last, by the ticker; of no meaning before. */
  long openedAt() {
    return openedAt;
  }

  /** No other worker is left: the next request is let through as a probe. */
  synchronized void tryEarly(long now) {
    if (admitsEarly(now)) {
      become(State.HALF_OPEN);
    }
  }

  /** Lets a request through, as the one probe if the breaker is not closed. */
  synchronized Admission admit(long now) {
    if (!admits(now)) {
      return Admission.REFUSED;
    }
    if (state == State.CLOSED) {
      return Admission.ADMITTED;
    }
    if (state == State.OPEN) {
      become(State.HALF_OPEN);
    }
    probing = true;
    return Admission.PROBE;
  }

  void succeeded(boolean probe) {
    if (state == State.CLOSED && points == 0) {
      return;
    }
    settleSuccess(probe);
  }

  private synchronized void settleSuccess(boolean probe) {
    if (state == State.CLOSED) {
      points = 0;
    } else if (probe && state == State.HALF_OPEN) {
      probing = false;
      successes++;
      if (successes >= settings.successThreshold()) {
        points = 0;
        become(State.CLOSED);
      }
    }
  }

  synchronized void failed(boolean probe, Failure failure, long now) {
    if (!settings.enabled()) {
      return;
    }
    if (probe && state == State.HALF_OPEN) {
      open(failure, now);
    } else if (state == State.CLOSED) {
      points = now - lastFailureAt > settings.window().toNanos() ? 0 : points;
      lastFailureAt = now;
      points += failure == Failure.CONNECT ? (settings.failureThreshold() + 1) / 2 : 1;
      if (points >= settings.failureThreshold()) {
        open(failure, now);
      }
    }
  }

  /**
   * The probe ended without a verdict (the client left, the engine was busy): another one may go.
   */
  synchronized void ignored(boolean probe) {
    if (probe) {
      probing = false;
    }
  }

  /**
   * A health probe was good: what was opened by refused connections need not wait for its time to
   * pass.
   */
  synchronized void reachable() {
    if (state == State.OPEN && openedByConnect) {
      become(State.HALF_OPEN);
    }
  }

  /** The worker was away and is back: whatever opened the breaker belongs to before. */
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
    probing = false;
    successes = 0;
    state = next;
    onStateChange.run();
  }
}
