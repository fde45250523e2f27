package io.pointsman.proxy.handler;

/** The wait of a request without an attempt, and its requests that are not attempts. */
public interface Waits {
  /** No wait that the exchange needs to know of. */
  Waits NONE = () -> Cause.NONE;

  /** Cause of a wait, by which a total timeout names its culprit. */
  enum Cause {
    NONE,
    /** All workers are full. */
    SLOT,
    /** No worker is available. */
    WORKER
  }

  Cause cause();

  /**
   * Reports that the client left. {@link RequestHandler#over} follows.
   *
   * @return true if the client waited for a request that is not an attempt
   */
  default boolean clientLeft() {
    return false;
  }

  /** Ends requests that are not attempts and wait for lost workers. Called periodically. */
  default void checkWorkers() {}
}
