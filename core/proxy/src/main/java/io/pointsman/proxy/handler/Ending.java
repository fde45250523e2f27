package io.pointsman.proxy.handler;

import io.pointsman.engine.Decision;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.retry.BufferedResponse;

/** The end of a request that its handler ends itself, in place of an attempt. */
public sealed interface Ending {
  /**
   * The engine chose no worker. The client gets the best error of the attempts, else the reason of
   * a rejection.
   *
   * @param rejected the last rejection
   * @param shown the rejection for the client
   */
  record NoWorker(Decision.Rejected rejected, Decision.Rejected shown) implements Ending {
    public NoWorker(Decision.Rejected rejected) {
      this(rejected, rejected);
    }
  }

  /** An error of the router. */
  record RouterError(ProxyError error, Reply reply) implements Ending {}

  /** A successful answer of the router. */
  record RouterAnswer(Reply reply) implements Ending {}

  /**
   * A worker's error, unchanged.
   *
   * @param error ownership passes to the exchange
   * @param restSeconds value of {@code Retry-After} in seconds; 0 for the worker's own
   */
  record WorkerError(BufferedResponse error, long restSeconds) implements Ending {}

  /** The best error of all attempts. */
  record BestError() implements Ending {}

  /** An unexpected exception. */
  record Defect(Throwable defect) implements Ending {}
}
