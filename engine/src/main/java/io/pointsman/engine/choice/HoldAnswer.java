package io.pointsman.engine.choice;

/**
 * The answer to what a plane says of a lease.
 *
 * @param expiresInNanos how long the lease is held from now on; 0 unless it goes on
 */
public record HoldAnswer(Kind kind, long expiresInNanos) {
  /** What came of it. */
  public enum Kind {
    /** Done as told. */
    DONE,
    /** It was said before: the lease is settled, or confirmed, already. */
    REPEATED,
    /** There is no such lease, or it has expired, or it was settled long ago. */
    UNKNOWN,
    /** The worker has left since: the lease is given back, and the plane must choose anew. */
    WORKER_LEFT,
    /** There is no prefill to end: one worker serves the whole request. */
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
