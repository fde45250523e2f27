package io.pointsman.proxy.handler;

import io.pointsman.engine.Decision;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.retry.BufferedResponse;
import io.pointsman.proxy.retry.RequestFaults;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.telemetry.SideTrace;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.request.RequestFacts;
import org.jspecify.annotations.Nullable;

/** A request under a {@link RequestHandler}, with the operations that the handler can use. */
public interface ClientExchange {
  RequestHead head();

  RequestFacts facts();

  /** Id of the request, which the client's answer carries. */
  String requestId();

  /** The body; null if it is not complete. A caller that keeps it longer must retain it. */
  @Nullable KeptBody body();

  /** Trace of a request to a worker that is not an attempt; null if there is no trace. */
  @Nullable SideTrace sideTrace(Worker worker, SideTrace.Purpose purpose);

  /** Reports a prefill that took {@code nanos}, before the request goes to a decode worker. */
  void prefilled(long nanos);

  /**
   * Starts an attempt. Its answer goes to the client.
   *
   * @param lease ownership passes to this method
   */
  void attempt(Lease lease, UpstreamRequest request);

  /** The failures of this request on workers. */
  RequestFaults faults();

  /**
   * Cancels the current attempt, if any. Its worker sees a closed connection; its lease is settled
   * as ignored.
   *
   * @return false if a part of its answer has reached the client; the attempt then continues
   */
  boolean withdraw();

  /** Records that a request to a worker that is not an attempt failed and is retried. */
  void retried(RetryReason reason);

  /** Ends the request because the engine chose no worker. */
  void refuse(Decision.Rejected rejected);

  /** Ends the request with an error of the router. */
  void reply(ProxyError error, Reply reply);

  /** Ends the request with a successful answer of the router. */
  void answer(Reply reply);

  /**
   * Ends the request with a worker's error, unchanged.
   *
   * @param restSeconds value of {@code Retry-After} in seconds; 0 for the worker's own
   */
  void pass(BufferedResponse held, long restSeconds);

  /** Ends the request with the best error of all attempts. */
  void giveUp();

  /** Ends the request after an unexpected exception. */
  void defect(Throwable defect);
}
