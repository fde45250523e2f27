package io.pointsman.proxy.handler;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.telemetry.RetryReason;

/**
 * Strategy of one request: it chooses the worker of each attempt, and sends further requests if it
 * needs them. Belongs to the client's event loop.
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
  void failed(Worker failed, RetryReason reason);

  /** The workers that may still get the request. The same object at each call. */
  Candidates candidates();

  /** The wait of the request. The same object at each call. */
  Waits waits();

  /**
   * Reports the end of the request. The handler must not use {@link ClientExchange} afterwards.
   *
   * @param answer the complete answer of a worker, if the client got one
   */
  void over(ServedAnswer answer);
}
