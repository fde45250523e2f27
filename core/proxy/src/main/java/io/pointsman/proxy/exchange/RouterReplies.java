package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.proxy.loop.ServerContext;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.telemetry.Blame;
import io.pointsman.proxy.telemetry.RequestEvent.RouterAnswered;
import io.pointsman.proxy.telemetry.RequestReport;
import io.pointsman.proxy.telemetry.RequestReport.ReportedResult;
import io.pointsman.proxy.telemetry.RequestReport.ReportedTimes;
import io.pointsman.proxy.telemetry.RequestReport.ReportedTraffic;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.request.Endpoint;
import org.jspecify.annotations.Nullable;

/**
 * The router's own answers to the requests of one connection: their bytes, and the report about
 * them. Belongs to the connection's event loop.
 */
final class RouterReplies {
  private final ClientConnection client;
  private final boolean admin;

  /**
   * @param admin true if the admin listener accepted the connection
   */
  RouterReplies(ClientConnection client, boolean admin) {
    this.client = client;
    this.admin = admin;
  }

  /** The answer to a body above the limit. */
  Reply tooLarge() {
    return Reply.of(
        ProxyError.BODY_TOO_LARGE,
        "request body: too large (expected: at most "
            + server().live().limits().maxBodyBytes()
            + " bytes)");
  }

  /**
   * Sends an answer of the router and ends the request.
   *
   * @param complete true if the request was received completely, so another can follow
   * @param error reason of a refusal; null if there is none
   * @param nanos time since the head was read
   */
  void reply(
      RequestHead head,
      String requestId,
      Reply reply,
      boolean complete,
      @Nullable ProxyError error,
      long nanos) {
    boolean keep = mayKeep(head, complete);
    ByteBuf bytes = render(head, requestId, reply, keep);
    int length = bytes.readableBytes();
    client.write(bytes);
    client.finished(keep);
    report(head, requestId, reply.status(), error, nanos, length);
  }

  /** Reports an answer of the router that was sent, or a part of it. */
  void report(
      RequestHead head,
      String requestId,
      int status,
      @Nullable ProxyError error,
      long nanos,
      long length) {
    if (server().listener().receivesOwnAnswers()) {
      String reason = error == null ? null : error.code();
      Blame blame = status < 400 ? Blame.NONE : status < 500 ? Blame.CLIENT : Blame.ROUTER;
      RequestReport report =
          new RequestReport(
              ExchangeReport.request(head, Endpoint.TRANSPARENT, requestId, admin),
              null,
              null,
              0,
              new ReportedResult(status, blame, reason, false, false),
              new ReportedTimes(RequestReport.NEVER, RequestReport.NEVER, nanos),
              new ReportedTraffic(Math.max(0, head.contentLength()), length, 0, Usage.UNKNOWN));
      server().listener().on(new RouterAnswered(report));
    }
  }

  /** True if another request may follow on this connection. */
  boolean mayKeep(RequestHead head, boolean complete) {
    // Bytes after a refused upgrade may be of the other protocol.
    return complete && head.keepAlive() && !head.webSocket() && !client.ends();
  }

  /** The bytes of an answer of the router. */
  ByteBuf render(RequestHead head, String requestId, Reply reply, boolean keep) {
    String origins = admin ? "" : server().live().cors().lines(head);
    String more = origins + head.connectionLine(keep);
    Reply formed = reply.inFormOf(head.path(), requestId);
    return formed.render(channel().alloc(), requestId, more, !head.method().equals("HEAD"));
  }

  /** The head of an answer of the router. The body follows in pieces. */
  ByteBuf renderHead(RequestHead head, String requestId, Reply reply, boolean keep, long length) {
    String more = server().live().cors().lines(head) + head.connectionLine(keep);
    return reply.head(channel().alloc(), requestId, more, length);
  }

  private Channel channel() {
    return client.channel();
  }

  /** The present context; it changes when the settings change. */
  private ServerContext server() {
    return client.state().server();
  }
}
