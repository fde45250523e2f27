package io.pointsman.proxy.handler;

import io.pointsman.engine.fleet.Worker;

/**
 * Handler of one request, which can use one worker or several. Belongs to the client's event loop.
 */
public interface RequestHandler {
  /**
   * Chooses workers for the request: at the start, and after each failed attempt with a retry. Ends
   * with a call of {@link ClientExchange}, during this call or later.
   */
  void place();

  /**
   * Reports that the attempt on {@code failed} failed before the client received any bytes. A retry
   * follows.
   */
  void failed(Worker failed);

  /**
   * Reports that the client left. {@link #over} follows.
   *
   * @return true if the client waited for a request that is not an attempt
   */
  default boolean clientLeft() {
    return false;
  }

  /** Ends requests that are not attempts and wait for lost workers. Called periodically. */
  default void checkWorkers() {}

  /**
   * Reports the end of the request. The handler must not use {@link ClientExchange} afterwards.
   *
   * @param answered true if the client received a complete answer without an error
   */
  void over(boolean answered);
}
