package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.body.EditedBody;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.body.RequestBody;
import io.pointsman.proxy.handler.HandledRequest;
import io.pointsman.proxy.handler.UpstreamRequest;
import io.pointsman.proxy.reply.RequestIds;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.proxy.telemetry.TraceContext;
import io.pointsman.proxy.upstream.UpstreamConnection;
import io.pointsman.proxy.wire.HeadChanges;
import io.pointsman.proxy.wire.Header;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.proxy.wire.RequestHeadWriter;
import io.pointsman.request.handover.HandoverFields;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Writer of requests to workers: the client's request, or one in its place. Belongs to the client's
 * event loop.
 */
final class RequestSender {
  private final ExchangeParts parts;
  private final HandledRequest request;
  private final Upload upload;

  /** True if the answer must not be encoded, because the router reads it. */
  private final boolean plain;

  /** The request id if the client sent none. */
  private final String id;

  /** The request id in place of the client's; null to forward the client's. */
  private final @Nullable Header replacedId;

  /** True if the listener has the prompt. */
  private boolean promptReported;

  /**
   * @param upload gets the rest of a body that was not received completely
   * @param plain true to prevent an encoded answer, because the router reads it
   */
  RequestSender(ExchangeParts parts, HandledRequest request, Upload upload, boolean plain) {
    this.plain = plain;
    this.parts = parts;
    this.request = request;
    this.upload = upload;
    boolean drops = !parts.server().live().headers().handovers();
    boolean addresses = drops && HandoverFields.addresses(request.id());
    String own =
        addresses ? parts.server().live().requestIds().make(request.head().uri()) : request.id();
    id = RequestIds.forEngine(own);
    int given = request.head().requestIds();
    if (given > 1 || (given == 1 && drops && addresses(request.head()))) {
      replacedId = new Header(Header.REQUEST_ID, own);
    } else {
      replacedId = given == 1 && !usable(request.head()) ? new Header(Header.REQUEST_ID, id) : null;
    }
  }

  /** False if the log and the client have another id than the one that the client sent. */
  private static boolean usable(RequestHead head) {
    String given = head.first(Header.REQUEST_ID);
    return given != null && RequestIds.usable(given);
  }

  private static boolean addresses(RequestHead head) {
    String given = head.first(Header.REQUEST_ID);
    return given != null && HandoverFields.addresses(given);
  }

  /**
   * Writes the received part of the request.
   *
   * @return true if that is the complete request
   */
  boolean send(RequestHeadWriter heads, UpstreamConnection to, UpstreamRequest upstream) {
    UpstreamRequest.Message message = upstream.message();
    EditedBody changed = message.body();
    HeadChanges changes = plain ? message.head().inPlain() : message.head();
    if (replacedId != null) {
      changes = changes.or(replacedId);
    }
    TraceContext trace = parts.report().traceContext();
    ByteBufAllocator allocator = parts.state().allocator();
    RequestHead head = parts.head();
    if (changed != null) {
      ByteBuf out = allocator.buffer(head.length() + 512);
      heads.write(out, request.head(), id, changed.length(), trace, changes);
      to.write(out);
      List<ByteBuf> slices = changed.slices(allocator);
      for (ByteBuf slice : slices.subList(0, slices.size() - 1)) {
        to.write(slice);
      }
      to.write(slices.getLast(), () -> upstream.reached(UpstreamRequest.Step.WRITTEN));
      return true;
    }
    RequestBody body = parts.body();
    int room = head.length() + 512 + body.buffered();
    ByteBuf out = allocator.buffer(Math.min(room, RequestBody.MOST_IN_ONE_BUFFER));
    RequestHead sent = body.sentDecoded() ? request.head() : head.to(request.head().uri());
    heads.write(out, sent, id, body.announced(), trace, changes);
    body.send(to, out);
    if (!body.complete()) {
      upload.begin(to);
    }
    return body.complete();
  }

  /**
   * Records that the request was sent completely. The first time, it passes the prompt to the
   * listener.
   */
  void sentWhole(Worker to) {
    PromptListener prompts = parts.server().prompts();
    if (!promptReported && parts.body().replayable() && prompts.wants(request.facts())) {
      promptReported = true;
      KeptBody body = request.body();
      if (body != null) {
        prompts.sent(request.facts(), to, request.head().first("authorization"), body.copy());
      }
    }
  }
}
