package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.handler.BodyRewrite;
import io.pointsman.proxy.handler.BufferedRewrite;
import io.pointsman.proxy.handler.UpstreamRequest.AnswerChanges;
import io.pointsman.proxy.loop.ServerContext;
import io.pointsman.proxy.relay.Relay;
import io.pointsman.proxy.relay.ResponseRelay;
import io.pointsman.proxy.relay.RewrittenRelay;
import io.pointsman.proxy.relay.TunnelRelay;
import io.pointsman.proxy.retry.BufferedResponse;
import io.pointsman.proxy.stored.ResponseIdSniffer;
import io.pointsman.proxy.wire.BodyFraming;
import io.pointsman.proxy.wire.Locations;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.proxy.wire.ResponseHead;
import io.pointsman.request.Endpoint;
import io.pointsman.request.strict.RerankForm;
import java.time.InstantSource;
import org.jspecify.annotations.Nullable;

/**
 * Writer of the head of a worker's answer, with the router's own header lines. It also learns the
 * response id from the body. Belongs to the client's event loop.
 */
final class AnswerWriter {
  /** Maximum size in bytes of a rerank answer that is changed. */
  private static final int MOST_RERANK_BYTES = 16 << 20;

  private final ClientConnection client;
  private final ServerContext server;
  private final RequestHead head;
  private final Endpoint endpoint;
  private final String requestId;
  private final ExchangeReport report;

  /** Reader of the response id in the current answer; null if there is none to learn. */
  private @Nullable ResponseIdSniffer ids;

  /** Form of the answer; null for the worker's. */
  private @Nullable RerankForm rerank;

  /** True if the worker computes the response after its answer. */
  private boolean background;

  /** Id of the response that was recorded as work in the background; null if there is none. */
  private @Nullable String begun;

  /** Header lines about the limits of the client, in place of the worker's; empty for none. */
  private String limits = "";

  /** Relay of the current answer; null before the first. */
  private @Nullable Relay last;

  AnswerWriter(
      ClientConnection client,
      RequestHead head,
      Endpoint endpoint,
      String requestId,
      ExchangeReport report) {
    this.client = client;
    this.head = head;
    this.requestId = requestId;
    this.report = report;
    this.endpoint = endpoint;
    server = client.state().server();
  }

  /**
   * Starts to relay an answer.
   *
   * @param received true if the request was received completely, so another can follow
   * @param changes changes to the worker's answer
   */
  Relay open(Worker worker, ResponseHead answer, boolean received, AnswerChanges changes) {
    report.answers(answer.status(), worker, answer.eventStream());
    ids =
        endpoint == Endpoint.RESPONSES && !answer.encoded()
            ? new ResponseIdSniffer(new BodyFraming(answer, head.method()))
            : null;
    String lines =
        changes.lines() + server.live().cors().lines(head) + "x-request-id: " + requestId + "\r\n";
    if (server.live().headers().workerHeader()) {
      lines += "x-pointsman-worker: " + shownId(worker) + "\r\n";
    }
    if (!limits.isEmpty()) {
      lines += limits;
      answer.leaveOut("x-ratelimit-");
    }
    lines += answer.relocate(() -> new Locations(worker.spec().url()));
    // The router decides on pages of other origins. Many engines permit all of them.
    answer.leaveOut("access-control-");
    boolean keep = client.replies().mayKeep(head, received);
    BodyRewrite stageError =
        server.live().headers().stageErrors() ? StageErrorBody.of(worker, head, answer) : null;
    if (stageError != null) {
      answer.leaveOut("content-type:");
      lines += "content-type: application/json\r\n";
    }
    BodyRewrite changed = stageError == null ? changes.rewrite() : stageError;
    RerankForm form = rerank;
    if (changed == null && form != null && rewritable(answer)) {
      InstantSource clock = InstantSource.system();
      changed =
          new BufferedRewrite(
              whole -> form.answer(whole, clock.instant().getEpochSecond()),
              MOST_RERANK_BYTES,
              () -> {});
    }
    Relay begun = relay(answer, lines, keep, changed);
    last = begun;
    return begun;
  }

  private boolean rewritable(ResponseHead answer) {
    return answer.status() == 200
        && answer.json()
        && !answer.encoded()
        && answer.contentLength() != 0
        && !answer.bodiless(head.method());
  }

  /** Adds header lines about the limits of the client to the answer. */
  void limits(String lines) {
    limits = lines;
  }

  /** Records new responses as work in the background of their workers. */
  void background() {
    background = true;
  }

  /** Reports that the client has the complete answer. A stream ends with its response. */
  void complete() {
    Worker by = report.worker();
    if (begun != null && by != null && report.streamed()) {
      by.background().ended(begun);
    }
  }

  /** Gives the request's answer the form of vllm-router's rerank answers. */
  void rerank(RerankForm form) {
    rerank = form;
  }

  /** The worker's id; without its rank on {@code /v1/responses}, where engines choose the rank. */
  private String shownId(Worker worker) {
    String id = worker.id();
    String rank = "@" + worker.spec().rank();
    return endpoint == Endpoint.RESPONSES && id.endsWith(rank)
        ? id.substring(0, id.length() - rank.length())
        : id;
  }

  private Relay relay(
      ResponseHead answer, String lines, boolean keep, @Nullable BodyRewrite rewrite) {
    Channel to = client.channel();
    if (answer.switchesToWebSocket()) {
      return new TunnelRelay(to, answer, lines);
    }
    return rewrite == null
        ? new ResponseRelay(to, head, answer, lines, keep)
        : new RewrittenRelay(to, head, answer, rewrite, lines, keep);
  }

  /** True if a part of a worker's answer has gone to the client. */
  boolean reached() {
    return last != null && last.bytesOut() > 0;
  }

  /**
   * Reports a part of the answer's body before it is relayed.
   *
   * @param computed true if the received events show that the prompt is computed
   */
  void bodyArrived(ByteBuf bytes, long now, boolean computed) {
    report.bodyArrived(now, computed);
    Worker by = report.worker();
    ResponseIdSniffer learning = ids;
    if (learning != null && by != null && report.status() < 300) {
      boolean done = learning.learn(bytes, by, server.owners(), () -> server.owner(head));
      String created = learning.id();
      report.creates(created);
      if (background && created != null) {
        by.background().began(created);
        begun = created;
      }
      ids = done ? null : learning;
    }
  }

  /**
   * Relays a buffered error, unchanged.
   *
   * @param restSeconds value of {@code Retry-After} in seconds; 0 for the worker's own
   */
  Relay pass(BufferedResponse buffered, boolean received, long restSeconds) {
    ResponseHead answer = client.state().head();
    answer.parse(buffered.head(), buffered.head().length);
    String retryAfter = "";
    if (restSeconds > 0) {
      answer.leaveOut("retry-after:");
      retryAfter = "retry-after: " + restSeconds + "\r\n";
    }
    Relay relay = open(buffered.worker(), answer, received, new AnswerChanges(retryAfter, null));
    ByteBuf bytes = buffered.takeBody();
    if (relay.empty() || !bytes.isReadable()) {
      bytes.release();
      relay.sendHead();
    } else {
      relay.relay(bytes);
    }
    relay.endOfConnection();
    return relay;
  }

  /** Relays an interim answer, such as 103, if the client's protocol supports it. */
  void interim(ResponseHead answer) {
    if (!head.http10()) {
      ByteBuf bytes = client.channel().alloc().buffer(answer.length() + 16);
      answer.writeTo(bytes);
      bytes.writeShort('\r' << 8 | '\n');
      report.sent(bytes.readableBytes());
      client.write(bytes);
      client.flush();
    }
  }
}
