package io.pointsman.engine.fleet;

/**
 * Failures of a worker since it last served a request. A request that is placed during a run fails
 * because of the worker, so the failure is no evidence against the request. Refused connections do
 * not count: afterwards the engine may be a new process. Thread-safe.
 */
final class FailureRun {
  /** Maximum nanoseconds between two failures of a run: 5 s. */
  static final long MOST_APART_NANOS = 5_000_000_000L;

  private volatile boolean failing;
  private long since;
  private long last;
  private volatile int length;

  /** Latest placement of a request of the run. */
  private long newest;

  /** Records a failure at {@code now} of a request that was placed at {@code placedAt}. */
  @SuppressWarnings("NonAtomicVolatileUpdate") // written under the lock
  synchronized void failed(long placedAt, long now) {
    if (!failing || now - last > MOST_APART_NANOS) {
      since = now;
      length = 0;
      newest = placedAt;
    }
    length++;
    newest = placedAt - newest > 0 ? placedAt : newest;
    last = now;
    failing = true;
  }

  /** Records output, or the recovery from an outage. */
  void served() {
    if (failing) {
      failing = false;
    }
  }

  /** Number of failures in the present run, or in the last one. */
  int length() {
    return length;
  }

  /** Returns true if the run had begun at {@code placedAt} and goes on at {@code now}. */
  synchronized boolean covers(long placedAt, long now) {
    return failing && since - placedAt < 0 && now - last <= MOST_APART_NANOS;
  }

  /** Returns true if the run goes on, and a request that was placed after {@code then} is in it. */
  synchronized boolean continuedAfter(long then) {
    return failing && newest - then > 0;
  }

  /** Returns true if the run goes on. */
  boolean failing() {
    return failing;
  }
}
