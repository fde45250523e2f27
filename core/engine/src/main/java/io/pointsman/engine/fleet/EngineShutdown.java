package io.pointsman.engine.fleet;

/**
 * The shutdown of a worker's engine, as its answers show it: it aborted requests, or reported that
 * it has ended. Its server may answer probes as healthy for some time. It ends with a restart, or
 * with a later request that is answered. Safe for use by several threads.
 */
final class EngineShutdown {
  /** Time between two trial requests. */
  private static final long TRIAL_NANOS = 10_000_000_000L;

  /** The same, if no other worker is left. */
  private static final long EARLY_NANOS = 1_000_000_000L;

  /** Time for which aborts are expected after a client asked for them. */
  private static final long ON_REQUEST_NANOS = 60_000_000_000L;

  private volatile boolean begun;
  private volatile boolean everAsked;
  private volatile long askedAt;
  private volatile long begunAt;
  private volatile long triedAt;

  /** Records a sign of the shutdown. */
  synchronized void begins(long now) {
    begunAt = now;
    triedAt = now;
    begun = true;
  }

  /** Records that the engine serves again. */
  void ends() {
    begun = false;
  }

  /** Returns true from a sign of the shutdown to its end. */
  boolean begun() {
    return begun;
  }

  /** Records that a client asks the engine to abort requests. */
  void asked(long now) {
    askedAt = now;
    everAsked = true;
  }

  /** Returns true if a client has asked for aborts lately. */
  boolean onRequest(long now) {
    return everAsked && now - askedAt < ON_REQUEST_NANOS;
  }

  /** Returns true if a trial request is due. */
  boolean trialDue(long now) {
    return now - triedAt >= TRIAL_NANOS;
  }

  /** Returns true if a trial request is due, because no other worker is left. */
  boolean trialDueEarly(long now) {
    return now - triedAt >= EARLY_NANOS;
  }

  /** Takes the trial that is due. Returns false if another request has it. */
  synchronized boolean tryOnce(long now) {
    boolean due = trialDue(now);
    triedAt = due ? now : triedAt;
    return due;
  }

  /** Makes a trial due. */
  synchronized void tryEarly(long now) {
    triedAt = now - TRIAL_NANOS;
  }

  /** Returns true if a request that was placed at {@code then} is a trial. */
  boolean before(long then) {
    return then - begunAt > 0;
  }
}
