package io.pointsman.proxy.exchange;

import io.pointsman.proxy.body.RequestBody;
import io.pointsman.proxy.handler.RequestHandlers;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.loop.ServerContext;
import io.pointsman.proxy.retry.RequestFaults;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.request.Endpoint;

/**
 * The parts of one exchange that all its steps use. Belongs to the client's event loop.
 *
 * @param client the client's connection
 * @param state the state of the event loop
 * @param server the context at the start of the request
 * @param handlers the handlers at the start of the request
 * @param head the head of the request as it came
 * @param endpoint the route of the request
 * @param report the record of its events
 * @param body its body
 * @param faults its failures on workers
 * @param answers the writer of workers' answers
 */
record ExchangeParts(
    ClientConnection client,
    LoopState state,
    ServerContext server,
    RequestHandlers handlers,
    RequestHead head,
    Endpoint endpoint,
    ExchangeReport report,
    RequestBody body,
    RequestFaults faults,
    AnswerWriter answers) {
  /**
   * True if a second execution of the request does no harm after a worker may have started it. For
   * unknown routes the method decides.
   */
  boolean repeatable() {
    return endpoint != Endpoint.TRANSPARENT || head.idempotent();
  }
}
