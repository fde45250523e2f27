package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.pointsman.proxy.body.EditedBody;
import io.pointsman.proxy.body.RequestBody;
import io.pointsman.proxy.handler.UpstreamRequest;
import io.pointsman.proxy.reply.RequestIds;
import io.pointsman.proxy.telemetry.TraceContext;
import io.pointsman.proxy.upstream.UpstreamConnection;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.proxy.wire.RequestHeadWriter;
import java.util.List;

/** Writer of requests to workers: the client's request, or one in its place. */
final class RequestSender {
  private final ByteBufAllocator allocator;
  private final RequestHead head;
  private final RequestBody body;
  private final ExchangeReport report;

  RequestSender(
      ByteBufAllocator allocator, RequestHead head, RequestBody body, ExchangeReport report) {
    this.allocator = allocator;
    this.head = head;
    this.body = body;
    this.report = report;
  }

  private String idForEngine() {
    return RequestIds.forEngine(report.requestId());
  }

  /**
   * Writes the received part of the request.
   *
   * @param plain head for the decoded body; the client's head for a body without a coding
   * @return true if that is the complete request
   */
  boolean send(
      RequestHeadWriter heads, UpstreamConnection to, UpstreamRequest request, RequestHead plain) {
    UpstreamRequest.Message message = request.message();
    EditedBody changed = message.body();
    TraceContext trace = report.traceContext();
    if (changed != null) {
      ByteBuf out = allocator.buffer(head.length() + 512);
      heads.write(out, plain, idForEngine(), changed.length(), trace, message.head());
      to.write(out);
      List<ByteBuf> slices = changed.slices(allocator);
      for (ByteBuf slice : slices.subList(0, slices.size() - 1)) {
        to.write(slice);
      }
      to.write(slices.getLast(), () -> request.reached(UpstreamRequest.Step.WRITTEN));
      return true;
    }
    int room = head.length() + 512 + body.buffered();
    ByteBuf out = allocator.buffer(Math.min(room, RequestBody.MOST_IN_ONE_BUFFER));
    RequestHead sent = body.sentDecoded() ? plain : head;
    heads.write(out, sent, idForEngine(), body.announced(), trace, message.head());
    body.send(to, out);
    return body.complete();
  }
}
