package io.pointsman.engine.choice;

/**
 * The result of an operation on a lease.
 *
 * @param expiresInNanos nanoseconds until the lease expires; 0 unless it remains active
 */
public record HoldAnswer(Kind kind, long expiresInNanos) {
  /** The kind of result. */
  public enum Kind {
    /** The operation was carried out. */
    DONE,
    /** The lease was already settled or confirmed. */
    REPEATED,
    /** The lease never existed, has expired, or was settled long ago. */
    UNKNOWN,
    /** The worker has left. The lease has ended, and the proxy must choose again. */
    WORKER_LEFT,
    /** There is no prefill to end, because one worker serves the whole request. */
    NOT_SPLIT
  }

  static final HoldAnswer SETTLED = new HoldAnswer(Kind.DONE, 0);
  static final HoldAnswer REPEATED = new HoldAnswer(Kind.REPEATED, 0);
  static final HoldAnswer UNKNOWN = new HoldAnswer(Kind.UNKNOWN, 0);
  static final HoldAnswer WORKER_LEFT = new HoldAnswer(Kind.WORKER_LEFT, 0);

  static final HoldAnswer NOT_SPLIT = new HoldAnswer(Kind.NOT_SPLIT, 0);

  static HoldAnswer goesOn(long expiresInNanos) {
    return new HoldAnswer(Kind.DONE, expiresInNanos);
  }
}
