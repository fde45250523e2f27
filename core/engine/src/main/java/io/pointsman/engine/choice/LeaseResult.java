package io.pointsman.engine.choice;

/**
 * The result of an operation on a lease.
 *
 * @param expiresInNanos nanoseconds until the lease expires; 0 unless it remains active
 */
public record LeaseResult(Kind kind, long expiresInNanos) {
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

  static final LeaseResult SETTLED = new LeaseResult(Kind.DONE, 0);
  static final LeaseResult REPEATED = new LeaseResult(Kind.REPEATED, 0);
  static final LeaseResult UNKNOWN = new LeaseResult(Kind.UNKNOWN, 0);
  static final LeaseResult WORKER_LEFT = new LeaseResult(Kind.WORKER_LEFT, 0);

  static final LeaseResult NOT_SPLIT = new LeaseResult(Kind.NOT_SPLIT, 0);

  static LeaseResult goesOn(long expiresInNanos) {
    return new LeaseResult(Kind.DONE, expiresInNanos);
  }
}
