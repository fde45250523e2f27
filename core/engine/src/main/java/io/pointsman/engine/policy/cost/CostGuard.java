package io.pointsman.engine.policy.cost;

import io.pointsman.engine.policy.Insight;
import java.time.Duration;

/**
 * Watches whether {@code cost} gives first tokens later than plain policies are predicted to, and
 * has requests placed by least load while it does. It needs no model of its own: it compares means
 * over windows of measured first tokens with predictions for the plain choice of the same requests.
 *
 * <ul>
 *   <li>Watching: two windows in a row that are too slow begin a fallback.
 *   <li>Fallen back: for a minute, first tokens are measured. If they are not faster than before,
 *       the predictions were wrong, not the choices: the guard rests. Else it watches again, and
 *       the next fallback in a row lasts twice as long.
 *   <li>Resting: for an hour, and twice as long each time in a row, nothing is compared.
 * </ul>
 *
 * <p>Any thread may call. {@link #fallenBack} takes a lock only while fallen back.
 */
final class CostGuard {
  /** First tokens of one window, at least. */
  static final int WINDOW = 256;

  /** First tokens that a fallback is judged by, at least. */
  static final int JUDGED_BY = WINDOW / 2;

  /** First tokens of the plain choice that correct what is predicted for it, at least. */
  static final int CORRECTED_BY = 16;

  static final Duration SHORTEST_WINDOW = Duration.ofSeconds(10);
  static final Duration FIRST_FALLBACK = Duration.ofMinutes(1);
  static final Duration LONGEST_FALLBACK = Duration.ofMinutes(16);
  static final Duration FIRST_REST = Duration.ofHours(1);
  static final Duration LONGEST_REST = Duration.ofHours(16);

  /** Windows in a row that are too slow before requests are placed by least load. */
  private static final int SLOW_WINDOWS = 2;

  /** A window is too slow above this multiple of the plain choice's time to first token. */
  private static final double EXCESS_RATIO = 1.5;

  /** The same in milliseconds, in addition: short times vary by as much. */
  private static final double EXCESS_MILLIS = 20;

  /** A fallback helps if its mean is at most this share of the mean before it. */
  private static final double BETTER = 0.9;

  private enum State {
    WATCHING,
    FALLEN_BACK,
    RESTING
  }

  /** Whether {@link State#FALLEN_BACK}, for picks. Written under the lock. */
  private volatile boolean fallen;

  // The rest is guarded by this.

  private State state = State.WATCHING;

  /** When the present state began; only requests placed since are counted. */
  private long since;

  /** When the present state ends, unless watching. */
  private long until;

  private Duration nextFallback = FIRST_FALLBACK;
  private Duration nextRest = FIRST_REST;
  private final Window window = new Window();
  private int slowWindows;

  /** Sums of the means of the slow windows in a row. */
  private double slowMeasured;

  private double slowPlain;
  private Insight.Fallback last = Insight.Fallback.NONE;

  /** Sums over first tokens. */
  private static final class Window {
    private long startedAt;
    private int count;
    private double measured;
    private double plain;

    /** The same of requests that went to the plain choice. */
    private int agreed;

    private double agreedMeasured;
    private double agreedPlain;

    void add(double measuredMillis, double plainMillis, boolean agrees, long now) {
      startedAt = count == 0 ? now : startedAt;
      count++;
      measured += measuredMillis;
      plain += plainMillis;
      if (agrees) {
        agreed++;
        agreedMeasured += measuredMillis;
        agreedPlain += plainMillis;
      }
    }

    boolean full(long now) {
      return count >= WINDOW && now - startedAt >= SHORTEST_WINDOW.toNanos();
    }

    double meanMeasured() {
      return measured / count;
    }

    /**
     * As predicted, and as much later as the plain choice turned out where it was taken: overload
     * makes every choice later than predicted.
     */
    double meanPlain() {
      double late = agreed < CORRECTED_BY ? 1 : agreedMeasured / agreedPlain;
      return plain / count * Math.max(1, late);
    }

    boolean slow() {
      return meanMeasured() > EXCESS_RATIO * meanPlain() + EXCESS_MILLIS;
    }

    void clear() {
      count = 0;
      measured = 0;
      plain = 0;
      agreed = 0;
      agreedMeasured = 0;
      agreedPlain = 0;
    }
  }

  CostGuard(long now) {
    since = now;
  }

  /** Whether requests are to be placed by least load. */
  boolean fallenBack(long now) {
    return fallen && stillFallenBack(now);
  }

  private synchronized boolean stillFallenBack(long now) {
    endIfOver(now);
    return fallen;
  }

  /**
   * A first token has come.
   *
   * @param placedAt when its request was placed
   * @param measuredMillis from then on
   * @param plainMillis as predicted then for the plain choice
   * @param agrees whether the request went to a worker with that prediction
   */
  synchronized void answered(
      long placedAt, double measuredMillis, double plainMillis, boolean agrees, long now) {
    endIfOver(now);
    if (state == State.RESTING || placedAt - since < 0) {
      return;
    }
    window.add(measuredMillis, plainMillis, agrees, now);
    if (state == State.WATCHING && window.full(now)) {
      compare(now);
    }
  }

  /** The present state, for those who ask from outside. */
  synchronized Insight.Fallback view(long now) {
    endIfOver(now);
    return last;
  }

  private void compare(long now) {
    if (!window.slow()) {
      slowWindows = 0;
      slowMeasured = 0;
      slowPlain = 0;
      nextFallback = FIRST_FALLBACK;
      nextRest = FIRST_REST;
    } else {
      slowWindows++;
      slowMeasured += window.meanMeasured();
      slowPlain += window.meanPlain();
    }
    window.clear();
    if (slowWindows == SLOW_WINDOWS) {
      last =
          new Insight.Fallback(
              true,
              last.activations() + 1,
              slowMeasured / SLOW_WINDOWS,
              slowPlain / SLOW_WINDOWS,
              Double.NaN);
      enter(State.FALLEN_BACK, now, nextFallback);
    }
  }

  private void endIfOver(long now) {
    if (state == State.WATCHING || now - until < 0) {
      return;
    }
    if (state == State.RESTING) {
      watch(now);
      return;
    }
    boolean judged = window.count >= JUDGED_BY;
    double mean = judged ? window.meanMeasured() : Double.NaN;
    last = last.ended(mean);
    if (judged && mean <= BETTER * last.costMillis()) {
      nextFallback = doubled(nextFallback, LONGEST_FALLBACK);
      nextRest = FIRST_REST;
      watch(now);
    } else {
      nextFallback = FIRST_FALLBACK;
      enter(State.RESTING, now, nextRest);
      nextRest = doubled(nextRest, LONGEST_REST);
    }
  }

  private void watch(long now) {
    enter(State.WATCHING, now, Duration.ZERO);
  }

  private void enter(State next, long now, Duration length) {
    state = next;
    since = now;
    until = now + length.toNanos();
    window.clear();
    slowWindows = 0;
    slowMeasured = 0;
    slowPlain = 0;
    fallen = next == State.FALLEN_BACK;
  }

  private static Duration doubled(Duration length, Duration longest) {
    Duration twice = length.multipliedBy(2);
    return twice.compareTo(longest) < 0 ? twice : longest;
  }
}
