package io.pointsman.engine.policy.cost;

import io.pointsman.engine.policy.Insight;
import java.time.Duration;

/**
 * Checks that {@code cost} is not slower than a plain policy, and activates a fallback to least
 * load if it is. It compares means over windows: the times from the arrival of requests to their
 * first tokens, and predictions for the plain choice of the same requests. Thus the time for which
 * a request was deferred counts.
 *
 * <p>The predictions come from the model that also makes the choice, so they can be wrong with it.
 * The guard therefore judges a fallback by measured times only.
 *
 * <ul>
 *   <li>Watching: two consecutive windows that are too slow start a fallback.
 *   <li>Fallen back: first tokens are measured for a minute. If they are not faster than before,
 *       the predictions were wrong, and the guard rests. Otherwise it watches again, and the next
 *       consecutive fallback lasts twice as long.
 *   <li>Resting: nothing is compared for an hour, and twice as long at each consecutive rest.
 * </ul>
 *
 * <p>Any thread. {@link #fallenBack} takes a lock only during a fallback.
 */
final class CostGuard {
  /** Minimum number of first tokens in one window. */
  static final int WINDOW = 256;

  /** Minimum number of first tokens to judge a fallback. */
  static final int JUDGED_BY = WINDOW / 2;

  /** Minimum number of first tokens on the plain choice to correct its predictions. */
  static final int CORRECTED_BY = 16;

  static final Duration SHORTEST_WINDOW = Duration.ofSeconds(10);
  static final Duration FIRST_FALLBACK = Duration.ofMinutes(1);
  static final Duration LONGEST_FALLBACK = Duration.ofMinutes(16);
  static final Duration FIRST_REST = Duration.ofHours(1);
  static final Duration LONGEST_REST = Duration.ofHours(16);

  /** Number of consecutive slow windows that start a fallback. */
  private static final int SLOW_WINDOWS = 2;

  /** A window is too slow above this multiple of the plain choice's time to first token. */
  private static final double EXCESS_RATIO = 1.5;

  /** Added to that limit, because short times vary by as much. */
  private static final double EXCESS_MILLIS = 20;

  /** A fallback helps if its mean is at most this fraction of the mean before it. */
  private static final double BETTER = 0.9;

  private enum State {
    WATCHING,
    FALLEN_BACK,
    RESTING
  }

  /** True if the state is {@link State#FALLEN_BACK}, for picks. Written under the lock. */
  private volatile boolean fallen;

  // The following fields are guarded by this.

  private State state = State.WATCHING;

  /** Start of the current state; only requests that arrived since then count. */
  private long since;

  /** End of the current state, unless it is watching. */
  private long until;

  private Duration nextFallback = FIRST_FALLBACK;
  private Duration nextRest = FIRST_REST;
  private final Window window = new Window();
  private int slowWindows;

  /** Sums of the means of the consecutive slow windows. */
  private double slowMeasured;

  private double slowPlain;
  private Insight.Fallback last = Insight.Fallback.NONE;

  /** Sums over first tokens. */
  private static final class Window {
    private long startedAt;
    private int count;
    private double measured;
    private double plain;

    /** The same sums for requests that went to the plain choice, from their placement on. */
    private int agreed;

    private double agreedMeasured;
    private double agreedPlain;

    void add(double measuredMillis, double plainMillis, long now) {
      startedAt = count == 0 ? now : startedAt;
      count++;
      measured += measuredMillis;
      plain += plainMillis;
    }

    void addAgreed(double measuredMillis, double plainMillis) {
      agreed++;
      agreedMeasured += measuredMillis;
      agreedPlain += plainMillis;
    }

    boolean full(long now) {
      return count >= WINDOW && now - startedAt >= SHORTEST_WINDOW.toNanos();
    }

    double meanMeasured() {
      return measured / count;
    }

    /**
     * Returns the mean of the predictions. If the plain choice was later than predicted where it
     * was taken, the mean is increased by that ratio: overload makes every choice later.
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

  /** Returns true if requests are placed by least load. */
  boolean fallenBack(long now) {
    return fallen && stillFallenBack(now);
  }

  private synchronized boolean stillFallenBack(long now) {
    endIfOver(now);
    return fallen;
  }

  /**
   * Records the first token of a request that was placed on the plain choice. The mean of these
   * corrects the predictions. The time before the placement does not count, because it does not
   * show that predictions are wrong.
   *
   * @param measuredMillis time from the placement to the first token
   * @param plainMillis prediction for it, made at the placement
   */
  synchronized void answeredPlain(
      long placedAt, double measuredMillis, double plainMillis, long now) {
    if (compares(placedAt, now)) {
      window.addAgreed(measuredMillis, plainMillis);
    }
  }

  /**
   * Records a first token.
   *
   * @param arrivedAt when the request was deferred or placed
   * @param measuredMillis time from then to the first token
   * @param plainMillis prediction for the plain choice, made at {@code arrivedAt}
   */
  synchronized void answered(long arrivedAt, double measuredMillis, double plainMillis, long now) {
    if (!compares(arrivedAt, now)) {
      return;
    }
    window.add(measuredMillis, plainMillis, now);
    if (state == State.WATCHING && window.full(now)) {
      compare(now);
    }
  }

  private boolean compares(long startedAt, long now) {
    endIfOver(now);
    return state != State.RESTING && startedAt - since >= 0;
  }

  /** Returns the current state for reports. */
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
