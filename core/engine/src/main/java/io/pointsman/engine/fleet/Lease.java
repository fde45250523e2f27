package io.pointsman.engine.fleet;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * The accounting of one request on one worker. The engine takes a lease when it places the request.
 * The holder settles it exactly once. Between both, the request counts in the worker's number of
 * requests in flight. Counts and breaker samples change only through leases.
 *
 * <p>The properties of the request are arguments of {@link Worker#tryLease}. Between the placement
 * and the settlement the holder reports events. Each may be reported in any order and repeatedly;
 * after the settlement a report has no effect.
 *
 * <p>Any thread may settle it, and the first settlement counts. A second one changes nothing and
 * returns false. With {@code -ea} it is an assertion error, because two parties then handle one
 * request.
 */
public final class Lease implements LeaseView {
  private static final VarHandle STATE;
  private static final VarHandle PROBE;
  private static final VarHandle FIRST_TOKEN;
  private static final VarHandle SUSPECT;

  static {
    try {
      STATE = MethodHandles.lookup().findVarHandle(Lease.class, "state", int.class);
      PROBE = MethodHandles.lookup().findVarHandle(Lease.class, "probe", boolean.class);
      SUSPECT = MethodHandles.lookup().findVarHandle(Lease.class, "suspect", boolean.class);
      FIRST_TOKEN = MethodHandles.lookup().findVarHandle(Lease.class, "firstToken", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** Counted for a request that is sent later. */
  private static final int RESERVED = -1;

  /** Placed, without a response yet. The zero value saves a volatile write for new leases. */
  private static final int PLACED = 0;

  private static final int ANSWERED = 1;
  private static final int SETTLED = 2;

  private final Worker worker;
  private final int promptTokens;
  private final int cachedTokens;
  private final long placedAt;
  private final LeaseListener listener;

  /** True if the response shows no progress before its end. */
  private final boolean whole;

  /** True if it is the trial of a stalled worker. */
  private final boolean trial;

  /** Time of dispatch. Written before the change of the state that publishes it. */
  private long sentAt;

  /**
   * True if it is the breaker's probe and the breaker has no result yet. Cleared atomically through
   * PROBE by the thread that reports the result.
   */
  private volatile boolean probe;

  /** True while the request is suspect; changed atomically through SUSPECT. */
  private volatile boolean suspect;

  /** True if the first token was reported; written through FIRST_TOKEN. */
  private volatile boolean firstToken;

  /** Null until reported. */
  private volatile @Nullable Usage usage;

  /** Only increases after publication; written through STATE. */
  private volatile int state;

  Lease(
      Worker worker,
      LeaseKind kind,
      boolean probe,
      boolean trial,
      int promptTokens,
      int cachedTokens,
      long placedAt,
      LeaseListener listener) {
    this.worker = worker;
    this.trial = trial;
    whole = kind.whole();
    sentAt = placedAt;
    if (probe) {
      this.probe = true;
    }
    if (kind.later()) {
      state = RESERVED;
    }
    this.promptTokens = promptTokens;
    this.cachedTokens = cachedTokens;
    this.placedAt = placedAt;
    this.listener = listener;
  }

  @Override
  public Worker worker() {
    return worker;
  }

  @Override
  public boolean whole() {
    return whole;
  }

  /** Reports that a request is sent that was placed to be sent later. No effect on others. */
  public void dispatched() {
    if (state != RESERVED) {
      return;
    }
    sentAt = worker.now();
    if (STATE.compareAndSet(this, RESERVED, PLACED)) {
      worker.leases().dispatched(whole);
    }
  }

  /**
   * Marks the request as suspect, because another worker failed after it. Ends with {@link
   * #cleared}, at the latest with the lease. For the thread that settles the lease.
   */
  public void suspect() {
    if (state != SETTLED && SUSPECT.compareAndSet(this, false, true)) {
      worker.leases().counts().suspects(1);
    }
  }

  /** Reports the output of a good response: the worker has survived the request so far. */
  public void cleared() {
    worker.failureSigns().served(sentAt);
    endSuspicion();
  }

  private void endSuspicion() {
    if (suspect && (boolean) SUSPECT.getAndSet(this, false)) {
      worker.leases().counts().suspects(-1);
    }
  }

  @Override
  public int promptTokens() {
    return promptTokens;
  }

  @Override
  public int cachedTokens() {
    return cachedTokens;
  }

  /** Time of the dispatch by the engine's ticker. For the thread that reports the dispatch. */
  long sentAt() {
    return sentAt;
  }

  @Override
  public long placedAt() {
    return placedAt;
  }

  @Override
  public boolean settled() {
    return state == SETTLED;
  }

  /**
   * Reports the head of a response before its output. The worker accepts requests, but engines send
   * this head before they compute.
   */
  public void accepted() {
    dispatched();
    if (state < SETTLED) {
      worker.leases().accepted();
    }
  }

  /**
   * Reports that output has arrived. The worker is alive, and after the first output its prompt is
   * no longer pending. Calls after the end have no effect.
   */
  public void progressed() {
    dispatched();
    boolean first = state == PLACED && STATE.compareAndSet(this, PLACED, ANSWERED);
    if (first) {
      worker.leases().began(promptTokens, sentAt, whole);
    } else if (state == ANSWERED) {
      worker.leases().progressed();
    }
  }

  /**
   * Reports that the client left. Without output before it, that is evidence of a stall. If another
   * proxy carries the request, the time of its dispatch is that of the placement.
   */
  public void clientLeft() {
    switch (state) {
      case RESERVED -> worker.stallState().deserted(placedAt, true, 0);
      case PLACED ->
          worker.stallState().deserted(sentAt, whole, Math.max(0, promptTokens - cachedTokens));
      default -> {}
    }
  }

  /** Reports output that another proxy has received. */
  public void reportedOutput() {
    if (state < SETTLED) {
      worker.leases().reportedOutput();
    }
  }

  /**
   * Reports that the client does not read the data that has arrived. The worker does not count as
   * stalled meanwhile.
   */
  public void clientPaused() {
    if (state == ANSWERED) {
      worker.stallState().reprieve();
    }
  }

  /**
   * Reports the first token of a streamed response, which means that the prompt is computed.
   * Repeated calls have no effect. A response head is no evidence, because engines send it before
   * they compute.
   */
  public void firstToken() {
    if (awaitsFirstToken()) {
      firstTokenAt(worker.now());
    }
  }

  /**
   * Reports afterwards a first token that came {@code nanos} after the placement. A time in the
   * future counts as now.
   */
  public void firstTokenAfter(long nanos) {
    if (awaitsFirstToken()) {
      firstTokenAt(placedAt + Math.clamp(nanos, 0, Math.max(0, worker.now() - placedAt)));
    }
  }

  private boolean awaitsFirstToken() {
    return !firstToken && state < SETTLED && listener.observes();
  }

  private void firstTokenAt(long at) {
    if (FIRST_TOKEN.compareAndSet(this, false, true)) {
      listener.answered(this, at);
    }
  }

  /**
   * Returns true if a learner uses the first token and the token counts. Otherwise the relay does
   * not search for the first token. It may still read the counts, for metrics or limits.
   */
  public boolean observed() {
    return listener.observes();
  }

  /** Records the token counts that the worker reported. */
  public void reported(Usage usage) {
    if (state != SETTLED) {
      this.usage = usage;
    }
  }

  @Override
  public Usage usage() {
    Usage known = usage;
    return known == null ? Usage.UNKNOWN : known;
  }

  /**
   * Reports the head of a good response. A breaker's probe succeeds at that point, independent of
   * the remaining duration. A later failure counts as one of an ordinary request. Repeated calls
   * have no effect.
   */
  public void answersWell() {
    if (takeProbe()) {
      worker.leases().probeAnswered();
    }
  }

  /** Returns true at most once: if the breaker has no result of this probe yet. */
  private boolean takeProbe() {
    return probe && (boolean) PROBE.getAndSet(this, false);
  }

  /** Settles as success: the worker answered. */
  public boolean succeeded() {
    return settle(Outcome.SUCCEEDED);
  }

  /**
   * Settles as success of a response that lasted as long as its client wanted, for example a
   * WebSocket. Its duration is no service time.
   */
  public boolean sessionEnded() {
    return settle(Outcome.SUCCEEDED, true);
  }

  /** Settles as a client error: the worker is well and has computed nothing. */
  public boolean refused() {
    return settle(Outcome.REFUSED);
  }

  /** Settles as a failure that the worker caused. */
  public boolean failed(Failure failure) {
    return settle(new Outcome.Failed(failure));
  }

  /** Settles without a verdict on the worker: the client left, or the worker was busy. */
  public boolean ignored() {
    return settle(Outcome.IGNORED);
  }

  /**
   * Settles with {@code outcome}.
   *
   * @return false if the lease was settled before
   */
  public boolean settle(Outcome outcome) {
    return settle(outcome, false);
  }

  /**
   * Settles.
   *
   * @param session true if the client determined the duration
   */
  private boolean settle(Outcome outcome, boolean session) {
    int before = (int) STATE.getAndSet(this, SETTLED);
    if (before == SETTLED) {
      assert false : "lease on " + worker + " settled twice, now as " + outcome;
      return false;
    }
    endSuspicion();
    boolean unanswered = before < ANSWERED;
    worker.leases().exit(before == RESERVED, whole, !unanswered, promptTokens);
    worker.leases().settled(takeProbe(), outcome, placedAt, unanswered, session);
    if (trial && unanswered && !(outcome instanceof Outcome.Succeeded)) {
      worker.stallState().trialFailed();
    }
    listener.settled(this, outcome);
    return true;
  }

  /** Distributes well enough for tables of leases and avoids the slower identity hash. */
  @Override
  public int hashCode() {
    return Long.hashCode(placedAt);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return this == other;
  }
}
