package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.retry.HeldAnswer;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.proxy.wire.ResponseHead;

/** Begins a worker's answer to one request: its head, with the router's own lines. */
final class AnswerWriter {
  private final ClientConnection client;
  private final Plane plane;
  private final RequestHead head;
  private final String requestId;
  private final ExchangeReport report;

  AnswerWriter(ClientConnection client, RequestHead head, String requestId, ExchangeReport report) {
    this.client = client;
    this.head = head;
    this.requestId = requestId;
    this.report = report;
    plane = client.state().plane();
  }

  /**
   * Begins to pass an answer on.
   *
   * @param received whether the request was received completely, so that another may follow
   * @param more further header lines, each with its line break
   */
  ResponseRelay open(Worker worker, ResponseHead answer, boolean received, String more) {
    report.answers(answer.status(), worker, answer.eventStream());
    String lines = more + plane.cors().lines(head) + "x-request-id: " + requestId + "\r\n";
    if (plane.headers().workerHeader()) {
      lines += "x-pointsman-worker: " + worker.id() + "\r\n";
    }
    if (plane.cors().enabled()) {
      answer.leaveOut("access-control-");
    }
    return new ResponseRelay(client, head, answer, lines, client.mayKeep(head, received));
  }

  /**
   * Passes on an error that was kept, as it came.
   *
   * @param restSeconds told as {@code Retry-After} in place of the worker's own; 0 for the latter
   */
  ResponseRelay pass(HeldAnswer held, boolean received, long restSeconds) {
    ResponseHead answer = client.state().head();
    answer.parse(held.head(), held.head().length);
    String retryAfter = "";
    if (restSeconds > 0) {
      answer.leaveOut("retry-after:");
      retryAfter = "retry-after: " + restSeconds + "\r\n";
    }
    ResponseRelay relay = open(held.worker(), answer, received, retryAfter);
    ByteBuf bytes = held.takeBody();
    if (relay.empty() || !bytes.isReadable()) {
      bytes.release();
      relay.sendHead();
    } else {
      relay.relay(bytes);
    }
    relay.endOfConnection();
    return relay;
  }
}
