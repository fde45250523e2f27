package io.pointsman.engine.policy.cost.latency;

import java.util.ArrayDeque;

/**
 * The progress of one worker with its prompts: prompts not computed yet, requests that decode, and
 * the speed. Engines are assumed to compute prompts in the order of arrival.
 *
 * <p>A first token shows that its prompt and all earlier ones are computed. Some requests report no
 * first token, or a late one: answers in one piece, and answers that do not pass through the
 * router. Their prompts count as computed at the predicted time, or at the end of an earlier
 * answer. For other requests without a first token, the first token of a later request is
 * necessary, because a silent worker may hang.
 *
 * <p>Guarded by its worker's lock.
 */
public final class PrefillTracker {
  /** An answer is early before this fraction of the expected time to its first token. */
  private static final double EARLY = 0.5;

  /** A first token is overdue after this multiple of its expected time. */
  private static final double OVERDUE = 2;

  /** Later than any time: nothing is to be assumed. */
  private static final long NEVER = Long.MAX_VALUE / 2;

  private final PrefillRate rate = new PrefillRate();

  /** Requests without a computed prompt, in order of placement. */
  private final ArrayDeque<InFlight> pending = new ArrayDeque<>();

  /** The requests of {@link #pending} that may report no first token, in order. */
  private final ArrayDeque<InFlight> silent = new ArrayDeque<>();

  /** Requests that are assumed to be computed and not yet counted by the rate, in order. */
  private final ArrayDeque<InFlight> assumed = new ArrayDeque<>();

  private final StepTracker steps = new StepTracker(pending);
  private PoolModel pool;
  private int notComputed;
  private int computed;
  private long contextTokens;

  /** Start of the current busy period, if the worker is busy. */
  private long busySince;

  private double speed = 1;
  private boolean learnsSpeed = true;

  /**
   * @param pool the model of the worker's kind; receives work and times
   */
  public PrefillTracker(PoolModel pool) {
    this.pool = pool;
  }

  /** Moves the worker, with its work, to another kind. */
  public void join(PoolModel other) {
    leave();
    pool = other;
    pool.waiting(notComputed, notComputed > 0 ? 1 : 0);
  }

  /** Ends the tracking, because the worker has left. */
  public void close() {
    leave();
    pending.clear();
    silent.clear();
    assumed.clear();
  }

  private void leave() {
    pool.waiting(-notComputed, notComputed > 0 ? -1 : 0);
  }

  /** Returns the prompts that are not computed yet. */
  public PrefillState prefill() {
    return steps.state();
  }

  /** Returns the number of requests with a computed prompt. */
  public int computed() {
    return computed;
  }

  /** Returns the prompt tokens of these requests. */
  public long contextTokens() {
    return contextTokens;
  }

  /** Returns the worker's step time as a multiple of the usual one of its kind. */
  public double speed() {
    return speed;
  }

  /** Stops learning of the speed, because first tokens come from other workers. */
  public void assumeUsualSpeed() {
    learnsSpeed = false;
  }

  /** Sets the speed to a learned one. */
  public void speed(double learned) {
    speed = learned;
  }

  /**
   * Records a placed request.
   *
   * @param reported true if its first token will be reported
   */
  public void begin(InFlight entry, boolean reported) {
    if (!reported) {
      silent.add(entry);
    }
    pending.add(entry);
    boolean idle = notComputed++ == 0;
    double decodeStep = computed > 0 ? pool.delay(WorkerPhase.DECODING) : 0;
    long startsAt = entry.placedAt + (long) (decodeStep * 1e6);
    steps.add(entry, startsAt, stepTokens());
    if (idle) {
      // Without the delay: it is learned from the errors of the model that learns from this time.
      // Together they would move time from prompts to the delay without end.
      busySince = entry.placedAt;
      rate.begins();
    }
    entry.busySince = busySince;
    pool.waiting(1, idle ? 1 : 0);
  }

  private double stepTokens() {
    return pool.latency().stepTokens();
  }

  /** Assumes that overdue silent prompts are computed. */
  public void assume(long now) {
    for (InFlight first = silent.peek();
        first != null && (first.computed || now - first.dueAt() >= 0);
        first = silent.peek()) {
      silent.remove();
      if (!first.computed) {
        assume(first, first.dueAt());
        assumed.add(first);
      }
    }
  }

  /** Returns when {@link #assume} has something to do at the latest. */
  public long assumesAt() {
    InFlight first = silent.peek();
    return first == null ? NEVER : first.dueAt();
  }

  private void assume(InFlight entry, long now) {
    takeOff(entry, true, now);
    decodes(entry);
  }

  /**
   * Records a request's first token.
   *
   * @param at its time; may be in the past
   * @param util fraction of the KV memory that decoding has read until then
   */
  public void answered(InFlight entry, long at, double util) {
    entry.answered = true;
    Expectation expected = entry.expected;
    double took = (at - entry.placedAt) / 1e6;
    if (!expected.waitsForRoom()) {
      pool.delayed(expected.phase(), took - (expected.ttft() - expected.delay()));
    }
    long sameStep = pool.sameStepNanos();
    boolean inOrder = rate.firstToken(at, entry.busySince, util, sameStep, pool.latency());
    long partial = inOrder && !entry.computed ? steps.end(at, sameStep) : -1;
    rate.computed((int) Math.max(0, partial));
    if (learnsSpeed && pool.latency().learns()) {
      speed = rate.speed();
    }
    countAssumed(entry, inOrder);
    // Prompts are computed in the order of arrival, with or without a reported first token.
    for (InFlight first = silent.peek();
        first != null && first.placedAt - entry.placedAt <= 0;
        first = silent.peek()) {
      silent.remove();
      if (!first.computed) {
        compute(first, at);
      }
    }
    if (!entry.computed) {
      compute(entry, at);
    }
    if (partial >= 0) {
      steps.start(at, stepTokens());
    }
    assumeOverdue(entry, at);
  }

  /**
   * Assumes that overdue prompts placed before {@code last} are computed: they report no first
   * token.
   */
  private void assumeOverdue(InFlight last, long now) {
    for (InFlight first = pending.peek();
        first != null && first.placedAt - last.placedAt <= 0 && overdue(first, now);
        first = pending.peek()) {
      assume(first, now);
      assumed.add(first);
    }
  }

  private static boolean overdue(InFlight entry, long now) {
    return (now - entry.placedAt) / 1e6 > OVERDUE * entry.expected.ttft();
  }

  /**
   * Counts the prompts assumed to be computed up to {@code last} in the same busy period. Their
   * work belongs to the interval that ends now. Without the order of first tokens the interval is
   * unknown.
   */
  private void countAssumed(InFlight last, boolean inOrder) {
    for (InFlight first = assumed.peek();
        first != null && first.placedAt - last.placedAt <= 0;
        first = assumed.peek()) {
      assumed.remove();
      count(first, last, inOrder);
    }
    // An overdue prompt may be assumed to be computed after later ones.
    if (last.computed && assumed.remove(last)) {
      count(last, last, inOrder);
    }
  }

  private void count(InFlight entry, InFlight last, boolean inOrder) {
    if (inOrder && entry.busySince == last.busySince) {
      rate.computed(entry.left());
    }
  }

  private void compute(InFlight entry, long now) {
    rate.computed(entry.left());
    takeOff(entry, true, now);
    decodes(entry);
  }

  /**
   * Records a whole answer without a first token. If it ends long before the expected first token,
   * its end counts as the first token. If it is only a little early, no time is learned. The delay
   * of the late answers is unknown, so all would seem faster than they are.
   *
   * @param util fraction of the KV memory that decoding has read until then
   */
  public void answeredWhole(InFlight entry, long now, double util) {
    if (entry.answered) {
      return;
    }
    if ((now - entry.placedAt) / 1e6 < EARLY * entry.expected.ttft()) {
      answered(entry, now, util);
      return;
    }
    boolean notObserved = !entry.computed || assumed.contains(entry);
    if (!entry.computed) {
      silent.remove(entry);
      assume(entry, now);
    }
    if (notObserved && entry.busySince == busySince) {
      rate.computedUnreported(entry.left());
    }
  }

  /**
   * Records the end of a request, computed or not.
   *
   * @param left true if its prompt is computed anyway, or will be
   */
  public void end(InFlight entry, long now, boolean left) {
    if (!entry.computed) {
      silent.remove(entry);
      if (!left) {
        passOn(entry, now);
      }
      takeOff(entry, false, now);
      rate.unusable();
    } else {
      assumed.remove(entry);
      computed--;
      contextTokens -= entry.tokens;
    }
  }

  /**
   * Passes the work that the ended request shared with others on to them. The first one gets it
   * first.
   */
  private void passOn(InFlight gone, long now) {
    int from = gone.reused;
    for (InFlight next : pending) {
      int to = Math.min(gone.sharedWith(next), next.reused);
      // Tokens that ended requests left in the cache need no computation.
      int missing = to - Math.max(from, next.certain);
      if (missing > 0) {
        next.reused -= missing;
        steps.grow(next, missing, now);
      }
      from = Math.max(from, to);
    }
  }

  /** Removes a request from the prompts that are not computed yet. */
  private void takeOff(InFlight entry, boolean computed, long now) {
    pending.remove(entry);
    steps.remove(entry, computed, now, stepTokens());
    pool.waiting(-1, --notComputed == 0 ? -1 : 0);
  }

  private void decodes(InFlight entry) {
    entry.computed = true;
    computed++;
    contextTokens += entry.tokens;
  }
}
