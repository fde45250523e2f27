package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.pointsman.proxy.course.BodyRewrite;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.wire.BodyFraming;
import io.pointsman.proxy.wire.BodyFraming.Kind;
import io.pointsman.proxy.wire.ChunkFraming;
import io.pointsman.proxy.wire.Decimals;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.proxy.wire.ResponseHead;
import java.nio.charset.StandardCharsets;

/**
 * Passes an answer on whose body changes on its way: the worker's framing is taken off, the body
 * rewritten, and framed anew. A body that is rewritten as a whole gets its length, one that streams
 * gets chunks, or its end with the connection for a client that knows none. Belongs to the event
 * loop.
 */
final class RewrittenRelay implements Relay {
  private static final int CRLF = '\r' << 8 | '\n';
  private static final byte[] LAST_CHUNK = ascii("0\r\n\r\n");
  private static final String KEEPALIVE = ": keep-alive\n\n";
  private static final String CHUNKED = "transfer-encoding: chunked\r\n";

  private final ClientConnection client;
  private final RequestHead request;
  private final BodyFraming framing;
  private final BodyRewrite rewrite;
  private final boolean events;

  /** The head without framing, without its last line; released once it is sent. */
  private final ByteBuf head;

  private boolean headSent;
  private boolean closesAfter;
  private boolean surplus;
  private long bytesOut;

  /**
   * Begins the answer.
   *
   * @param answer the worker's, valid during this call; with a body
   * @param lines header lines to add, each with its line break
   * @param keep whether the client's connection is to be kept afterwards, if its framing allows
   */
  RewrittenRelay(
      ClientConnection client,
      RequestHead request,
      ResponseHead answer,
      BodyRewrite rewrite,
      String lines,
      boolean keep) {
    this.client = client;
    this.request = request;
    this.rewrite = rewrite;
    framing = new BodyFraming(answer, request.method());
    events = answer.eventStream();
    closesAfter = !keep;
    answer.leaveOut("content-length:");
    head = client.channel().alloc().buffer(answer.length() + lines.length() + 128);
    answer.writeTo(head);
    ByteBufUtil.writeAscii(head, lines);
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  @Override
  public boolean closesAfter() {
    return closesAfter;
  }

  @Override
  public boolean surplus() {
    return surplus;
  }

  @Override
  public boolean events() {
    return events;
  }

  @Override
  public long bytesOut() {
    return bytesOut;
  }

  @Override
  public boolean empty() {
    return framing.empty();
  }

  @Override
  public Progress relay(ByteBuf in) {
    int from = in.readerIndex();
    int to = in.writerIndex();
    ByteBuf data = in;
    int end;
    if (framing.kind() == Kind.CHUNKED) {
      data = client.channel().alloc().buffer(to - from);
      end = framing.chunks().scan(in, from, to, data);
      in.release();
    } else {
      end = framing.scan(in, from, to);
      if (end >= 0) {
        in.writerIndex(end);
      }
    }
    surplus |= end >= 0 && end < to;
    ByteBuf out = rewrite.take(data);
    if (end >= 0) {
      finish(out);
      return Progress.DONE;
    }
    sendPart(out);
    return end == ChunkFraming.MALFORMED ? Progress.MALFORMED : Progress.MORE;
  }

  private void sendPart(ByteBuf part) {
    if (part.isReadable()) {
      begin();
      frame(part);
    } else {
      part.release();
    }
  }

  /** The body is complete. */
  private void finish(ByteBuf part) {
    ByteBuf rest = rewrite.end();
    if (headSent) {
      sendPart(part);
      sendPart(rest);
      if (!request.http10()) {
        send(Unpooled.wrappedBuffer(LAST_CHUNK));
      }
      return;
    }
    ByteBufUtil.writeAscii(head, "content-length: ");
    Decimals.write(head, part.readableBytes() + rest.readableBytes());
    head.writeShort(CRLF);
    open();
    send(part);
    send(rest);
  }

  /** Sends the head of a body whose length is not known. */
  private void begin() {
    if (headSent) {
      return;
    }
    if (request.http10()) {
      closesAfter = true;
    } else {
      ByteBufUtil.writeAscii(head, CHUNKED);
    }
    open();
  }

  private void open() {
    headSent = true;
    ByteBufUtil.writeAscii(head, ClientConnection.connectionLine(request, !closesAfter));
    head.writeShort(CRLF);
    send(head);
  }

  private void frame(ByteBuf data) {
    if (request.http10()) {
      send(data);
      return;
    }
    ByteBuf size = client.channel().alloc().buffer(10);
    Decimals.writeChunkSize(size, data.readableBytes());
    send(size);
    send(data);
    send(client.channel().alloc().buffer(2).writeShort(CRLF));
  }

  private void send(ByteBuf bytes) {
    bytesOut += bytes.readableBytes();
    client.write(bytes);
  }

  /** A body that is rewritten as a whole has no head before its end. */
  @Override
  public void sendHead() {
    if (rewrite.streams()) {
      begin();
    }
  }

  @Override
  public boolean endOfConnection() {
    if (framing.kind() != Kind.UNTIL_CLOSE) {
      return false;
    }
    finish(Unpooled.EMPTY_BUFFER);
    return true;
  }

  @Override
  public void keepAlive() {
    if (events && rewrite.streams() && rewrite.betweenEvents()) {
      begin();
      frame(Unpooled.wrappedBuffer(ascii(KEEPALIVE)));
    }
  }

  @Override
  public boolean endWithError(ProxyError error) {
    if (!events) {
      return false;
    }
    begin();
    String event =
        (rewrite.betweenEvents() ? "" : "\n\n") + "data: " + error.json(error.message()) + "\n\n";
    frame(Unpooled.wrappedBuffer(ascii(event)));
    if (!request.http10()) {
      send(Unpooled.wrappedBuffer(LAST_CHUNK));
    }
    return true;
  }

  @Override
  public boolean breakNeedsReset() {
    return request.http10();
  }

  @Override
  public void release() {
    rewrite.release();
    if (!headSent) {
      headSent = true;
      head.release();
    }
  }
}
