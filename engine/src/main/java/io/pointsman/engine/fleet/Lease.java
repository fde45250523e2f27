package io.pointsman.engine.fleet;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * The accounting of one request placed on one worker. It is taken when the request is placed and
 * settled exactly once, by one of its endings; in between the worker's count of requests in flight
 * includes it. Counts and breaker samples move only through leases.
 *
 * <p>Any thread may settle it; the first ending counts. A second one changes nothing, answers
 * false, and is an error under {@code -ea}: whoever settles twice has lost track of the request.
 */
public final class Lease {
  private static final VarHandle STATE;
  private static final VarHandle PROBE;
  private static final VarHandle FIRST_TOKEN;

  static {
    try {
      STATE = MethodHandles.lookup().findVarHandle(Lease.class, "state", int.class);
      PROBE = MethodHandles.lookup().findVarHandle(Lease.class, "probe", boolean.class);
      FIRST_TOKEN = MethodHandles.lookup().findVarHandle(Lease.class, "firstToken", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** Counted in for a request that will be sent later. */
  private static final int RESERVED = -1;

  /** Placed, and nothing of an answer seen; as a new lease is without a volatile write. */
  private static final int PLACED = 0;

  private static final int ANSWERED = 1;
  private static final int SETTLED = 2;

  private final Worker worker;
  private final int promptTokens;
  private final int cachedTokens;
  private final long placedAt;
  private final LeaseListener listener;

  /** Written before the lease is handed on. */
  private boolean answeredWhole;

  /**
   * Whether it is the one request that a breaker lets through to see if the worker has recovered,
   * and the breaker has not heard of it yet; taken away through PROBE by whoever tells it.
   */
  private volatile boolean probe;

  /** Whether the first token was told of; written through FIRST_TOKEN. */
  private volatile boolean firstToken;

  /** Written by the thread that tells of it, before it does. */
  private long firstTokenAt;

  /** Null until told. */
  private volatile @Nullable Usage usage;

  /** Only grows once the lease is handed on; written through STATE. */
  private volatile int state;

  Lease(
      Worker worker,
      boolean probe,
      int promptTokens,
      int cachedTokens,
      long placedAt,
      LeaseListener listener) {
    this.worker = worker;
    if (probe) {
      this.probe = true;
    }
    this.promptTokens = promptTokens;
    this.cachedTokens = cachedTokens;
    this.placedAt = placedAt;
    this.listener = listener;
  }

  public Worker worker() {
    return worker;
  }

  /**
   * The answer will come in one piece, so that nothing is heard of it before its end. To be said at
   * most once, right after the lease was taken, by the thread that took it.
   */
  public void answeredWhole() {
    answeredWhole = true;
    worker.answersWhole(1);
  }

  /** Whether the answer is to come in one piece, as far as was said. */
  public boolean whole() {
    return answeredWhole;
  }

  /**
   * The place is kept for a request that is sent only later, when another worker has done its part:
   * until {@link #dispatched} the worker owes it nothing. To be said at most once, right after the
   * lease was taken and {@link #answeredWhole} said, by the thread that took it.
   */
  public void reserve() {
    state = RESERVED;
    worker.reserved(1);
    if (answeredWhole) {
      // Owes nothing for another reason: counted once.
      worker.answersWhole(-1);
    }
  }

  /** The request that the place was reserved for is sent; without effect on any other lease. */
  public void dispatched() {
    if (state == RESERVED && STATE.compareAndSet(this, RESERVED, PLACED)) {
      worker.dispatched();
      if (answeredWhole) {
        worker.answersWhole(1);
      }
    }
  }

  /** Estimated tokens of the prompt that was placed. */
  public int promptTokens() {
    return promptTokens;
  }

  /** How many of them the worker was thought to hold in its cache when the request was placed. */
  public int cachedTokens() {
    return cachedTokens;
  }

  /** When the request was placed, by the engine's ticker. */
  public long placedAt() {
    return placedAt;
  }

  public boolean settled() {
    return state == SETTLED;
  }

  /**
   * The worker sent a part of the answer: it is alive, and after the first part the prompt is no
   * longer pending. What comes after the end counts for nothing.
   */
  public void progressed() {
    dispatched();
    boolean first = state == PLACED && STATE.compareAndSet(this, PLACED, ANSWERED);
    if (first) {
      worker.began(promptTokens);
    } else if (state == ANSWERED) {
      worker.progressed();
    }
  }

  /** The client does not take what has come: the worker is not to count as stalled meanwhile. */
  public void heldUp() {
    if (state == ANSWERED) {
      worker.reprieve();
    }
  }

  /**
   * The first token of a streamed answer has come: the prompt is computed. Can be said again
   * without effect. A head alone does not say so, since engines send it before they compute.
   */
  public void firstToken() {
    if (untold()) {
      firstTokenAt(worker.now());
    }
  }

  /**
   * The same of a token that came so many nanoseconds after the placement, said when that is over:
   * one that lies ahead comes now.
   */
  public void firstTokenAfter(long nanos) {
    if (untold()) {
      firstTokenAt(placedAt + Math.clamp(nanos, 0, Math.max(0, worker.now() - placedAt)));
    }
  }

  private boolean untold() {
    return !firstToken && state < SETTLED && listener.observes();
  }

  private void firstTokenAt(long at) {
    if (FIRST_TOKEN.compareAndSet(this, false, true)) {
      firstTokenAt = at;
      listener.answered(this);
    }
  }

  /**
   * When the first token came, by the engine's ticker; for whoever is told that it has, on the
   * thread that tells.
   */
  public long firstTokenAt() {
    return firstTokenAt;
  }

  /**
   * Whether anybody wants to know of the first token and of what the worker says of tokens; if not,
   * whoever relays the answer need not look for them.
   */
  public boolean observed() {
    return listener.observes();
  }

  /**
   * Takes note of what the worker says of the request's tokens; to be said before it is settled.
   */
  public void reported(Usage usage) {
    this.usage = usage;
  }

  /** What the worker has said of the request's tokens so far. */
  public Usage usage() {
    Usage told = usage;
    return told == null ? Usage.UNKNOWN : told;
  }

  /**
   * The head of a good answer has come. A breaker's probe has succeeded with that, however long the
   * rest takes; a failure later on counts as any other request's. Can be said again without effect.
   */
  public void answersWell() {
    if (takeProbe()) {
      worker.probeAnswered();
    }
  }

  /** Whether the breaker is yet to hear of this probe; true once at most. */
  private boolean takeProbe() {
    return probe && (boolean) PROBE.getAndSet(this, false);
  }

  /** The worker answered, with success. */
  public boolean succeeded() {
    return settle(Outcome.SUCCEEDED);
  }

  /** The worker answered with an error of the client's: it is well, and has computed nothing. */
  public boolean refused() {
    return settle(Outcome.REFUSED);
  }

  /** The worker is to blame for the failure. */
  public boolean failed(Failure failure) {
    return settle(new Outcome.Failed(failure));
  }

  /** Nothing can be said of the worker: the client left, or the worker was busy. */
  public boolean ignored() {
    return settle(Outcome.IGNORED);
  }

  /** Settles with {@code outcome}; false if it was settled before. */
  public boolean settle(Outcome outcome) {
    int before = (int) STATE.getAndSet(this, SETTLED);
    if (before == SETTLED) {
      assert false : "lease on " + worker + " settled twice, now as " + outcome;
      return false;
    }
    if (before < ANSWERED) {
      worker.abandon(promptTokens);
    }
    if (before == RESERVED) {
      worker.reserved(-1);
    } else if (answeredWhole) {
      worker.answersWhole(-1);
    }
    worker.settled(takeProbe(), outcome, placedAt, before < ANSWERED);
    listener.settled(this, outcome);
    return true;
  }

  /** Spread enough for tables of leases, and without the identity hash, which costs a call. */
  @Override
  public int hashCode() {
    return Long.hashCode(placedAt);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return this == other;
  }
}
