package io.pointsman.engine.policy.cost.latency;

import java.util.ArrayDeque;

/**
 * How one worker gets on with the prompts that were placed on it: what it has yet to compute, what
 * it has computed and decodes, and how fast it is. Prompts are taken to be computed in the order of
 * their arrival.
 *
 * <p>A first token tells that its prompt has been computed, and those before it. Of answers in one
 * piece and of those that pass by another way nothing is heard, or late: their prompts are assumed
 * to be computed when it was predicted, unless an answer tells it sooner. Of others only when one
 * that came later has its first token: a worker of which nothing at all is heard may hang.
 *
 * <p>Guarded by its worker's lock.
 */
public final class PrefillTracker {
  /** An answer is early within this part of the time that its first token was expected to take. */
  private static final double EARLY = 0.5;

  /** A first token is missing beyond so many times what it was expected to take. */
  private static final double OVERDUE = 2;

  /** Nothing is assumed: later than any time. */
  private static final long NEVER = Long.MAX_VALUE / 2;

  private final PrefillRate rate = new PrefillRate();

  /** Those in flight that are not computed yet, in order. */
  private final ArrayDeque<InFlight> pending = new ArrayDeque<>();

  /** Those in flight of which nothing may be heard before their end, not computed yet, in order. */
  private final ArrayDeque<InFlight> silent = new ArrayDeque<>();

  /** Those of them that are taken to be computed and are not told to the pace, in order. */
  private final ArrayDeque<InFlight> assumed = new ArrayDeque<>();

  private final StepTracker steps = new StepTracker(pending);
  private PoolModel pool;
  private int notComputed;
  private int computed;
  private long contextTokens;

  /** Since when it has had something to compute, if it has. */
  private long busySince;

  private double speed = 1;
  private boolean learnsSpeed = true;

  /**
   * @param pool what the worker shares with others of its kind; hears of what is to be computed and
   *     of how long it took
   */
  public PrefillTracker(PoolModel pool) {
    this.pool = pool;
  }

  /** The worker goes to another kind, with what it has yet to compute. */
  public void join(PoolModel other) {
    leave();
    pool = other;
    pool.waiting(notComputed, notComputed > 0 ? 1 : 0);
  }

  /** The worker has left its kind; nothing else follows. */
  public void close() {
    leave();
    pending.clear();
    silent.clear();
    assumed.clear();
  }

  private void leave() {
    pool.waiting(-notComputed, notComputed > 0 ? -1 : 0);
  }

  /** The prompts that it has yet to compute. */
  public PrefillState prefill() {
    return steps.state();
  }

  /** Requests whose prompts are computed. */
  public int computed() {
    return computed;
  }

  /** Tokens of their prompts. */
  public long contextTokens() {
    return contextTokens;
  }

  /** Time that the worker takes, in parts of what its kind takes. */
  public double speed() {
    return speed;
  }

  /** Does not learn the speed: first tokens say nothing about this worker. */
  public void assumeUsualSpeed() {
    learnsSpeed = false;
  }

  /** Takes its speed over from one that has learned it. */
  public void speed(double learned) {
    speed = learned;
  }

  /**
   * A request has been placed.
   *
   * @param heard whether its first token will be told
   * @param evicted tokens of its prompt that the worker had until they were evicted
   */
  public void begin(InFlight entry, boolean heard, double evicted) {
    if (!heard) {
      silent.add(entry);
    }
    pending.add(entry);
    boolean idle = notComputed++ == 0;
    double decodeStep = computed > 0 ? pool.delay(WorkerPhase.DECODING) : 0;
    long startsAt = entry.placedAt + (long) (decodeStep * 1e6);
    steps.add(entry, startsAt, stepTokens());
    if (idle) {
      busySince = startsAt;
      rate.begins();
    }
    entry.busySince = busySince;
    pool.placed(entry.uncached(), evicted, idle);
  }

  private double stepTokens() {
    return pool.latency().stepTokens();
  }

  /** Assumes that to be computed of which nothing was heard until it was due. */
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

  /** When {@link #assume} has something to do at the latest. */
  public long assumesAt() {
    InFlight first = silent.peek();
    return first == null ? NEVER : first.dueAt();
  }

  private void assume(InFlight entry, long now) {
    takeOff(entry, true, now);
    decodes(entry);
  }

  /**
   * A request's first token has come.
   *
   * @param at when it came; may have passed
   * @param util share of the KV memory that decoding has read until then
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
    // Prompts are computed in the order of their arrival, be their answers heard of or not.
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

  /** What was to tell its first token long ago, and stands before one that has, tells none. */
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
   * What was assumed to be computed up to {@code last}, and belongs to the same time of work, was
   * computed by its first token; of what was told out of order nobody knows the interval.
   */
  private void countAssumed(InFlight last, boolean inOrder) {
    for (InFlight first = assumed.peek();
        first != null && first.placedAt - last.placedAt <= 0;
        first = assumed.peek()) {
      assumed.remove();
      count(first, last, inOrder);
    }
    // What was overdue is taken for computed after others that came later.
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
   * A request's whole answer has come. If it was long before its first token was expected, this is
   * known to have come no later. Of one that is only somewhat early no time is learned: of those
   * that are late nobody knows by how much, so that all would seem faster than they are.
   *
   * @param util share of the KV memory that decoding has read until then
   */
  public void answeredWhole(InFlight entry, long now, double util) {
    if (entry.answered) {
      return;
    }
    if ((now - entry.placedAt) / 1e6 < EARLY * entry.expected.ttft()) {
      answered(entry, now, util);
      return;
    }
    boolean untold = !entry.computed || assumed.contains(entry);
    if (!entry.computed) {
      silent.remove(entry);
      assume(entry, now);
    }
    if (untold && entry.busySince == busySince) {
      rate.computedUnheard(entry.left());
    }
  }

  /**
   * A request has ended, computed or not.
   *
   * @param left whether its prompt is computed all the same, or will be
   */
  public void end(InFlight entry, long now, boolean left) {
    if (!entry.computed) {
      silent.remove(entry);
      if (!left) {
        bequeath(entry, now);
      }
      takeOff(entry, false, now);
      rate.spoilt();
    } else {
      assumed.remove(entry);
      computed--;
      contextTokens -= entry.tokens;
    }
  }

  /** What others counted on and nobody computes is theirs to compute, the first one's first. */
  private void bequeath(InFlight gone, long now) {
    int from = gone.held;
    for (InFlight heir : pending) {
      int to = Math.min(gone.sharedWith(heir), heir.held);
      // What others have left in the cache, nobody has to compute.
      int missing = to - Math.max(from, heir.certain);
      if (missing > 0) {
        heir.held -= missing;
        steps.grow(heir, missing, now);
      }
      from = Math.max(from, to);
    }
  }

  /** Takes a request off the list of what is to be computed. */
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
