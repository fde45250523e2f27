package io.pointsman.proxy.handler;

import io.pointsman.engine.fleet.Lease;

/** A request under a {@link RequestHandler}, with the operations that the handler can use. */
public interface ClientExchange {
  /** The request. */
  HandledRequest request();

  /** The receiver of the events of requests that are not attempts. */
  HandlerReport report();

  /**
   * Starts an attempt. Its answer goes to the client.
   *
   * @param lease ownership passes to this method
   */
  void attempt(Lease lease, UpstreamRequest request);

  /**
   * Cancels the current attempt, if any. Its worker sees a closed connection; its lease is settled
   * as ignored.
   *
   * @return false if a part of its answer has reached the client; the attempt then continues
   */
  boolean withdraw();

  /** Ends the request. */
  void end(Ending ending);
}
