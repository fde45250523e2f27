package io.pointsman.proxy.relay;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.pointsman.proxy.handler.BodyRewrite;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.wire.BodyFraming.Kind;
import io.pointsman.proxy.wire.ChunkFraming;
import io.pointsman.proxy.wire.Decimals;
import io.pointsman.proxy.wire.EventTail;
import io.pointsman.proxy.wire.Latin1;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.proxy.wire.ResponseHead;

/**
 * Relay of an answer with a changed body. It removes the worker's framing, changes the body, and
 * frames it again. A body that changes as a whole gets a length. A streamed body gets chunks, or
 * ends with its connection for a client without chunks. Belongs to the event loop.
 */
public final class RewrittenRelay extends FramedRelay {
  private final BodyRewrite rewrite;

  /** The head without framing and without its last line; released when it is sent. */
  private final ByteBuf head;

  private boolean headSent;

  /**
   * Starts the answer, which has a body.
   *
   * @param answer the worker's head, valid during this call
   * @param lines header lines to add, each with its line break
   * @param keep true to keep the client's connection after the answer, if the framing allows it
   */
  public RewrittenRelay(
      Channel client,
      RequestHead request,
      ResponseHead answer,
      BodyRewrite rewrite,
      String lines,
      boolean keep) {
    super(client, request, answer, answer.eventStream(), keep);
    this.rewrite = rewrite;
    answer.leaveOut("content-length:");
    head = client.alloc().buffer(answer.length() + lines.length() + 128);
    answer.writeTo(head);
    Latin1.write(head, lines);
  }

  @Override
  public Progress relay(ByteBuf in) {
    int from = in.readerIndex();
    int to = in.writerIndex();
    ByteBuf data = in;
    int end;
    if (framing.kind() == Kind.CHUNKED) {
      data = client.alloc().buffer(to - from);
      end = framing.chunks().scan(in, from, to, data);
      in.release();
    } else {
      end = framing.scan(in, from, to);
      if (end >= 0) {
        in.writerIndex(end);
      }
    }
    surplus(end >= 0 && end < to);
    ByteBuf out = rewrite.take(data);
    if (end >= 0) {
      finish(out);
      return Progress.DONE;
    }
    pass(out);
    return end == ChunkFraming.MALFORMED ? Progress.MALFORMED : Progress.MORE;
  }

  private void pass(ByteBuf part) {
    if (part.isReadable()) {
      begin();
    }
    sendPart(part);
  }

  /** Ends a complete body. */
  private void finish(ByteBuf part) {
    ByteBuf rest = rewrite.end();
    if (headSent) {
      sendPart(part);
      sendPart(rest);
      endParts();
      return;
    }
    Latin1.write(head, "content-length: ");
    Decimals.write(head, part.readableBytes() + rest.readableBytes());
    head.writeShort(CRLF);
    open();
    send(part);
    send(rest);
  }

  /** Sends the head of a body of unknown length. */
  private void begin() {
    if (headSent) {
      return;
    }
    if (request.http10()) {
      closeAfter();
    } else {
      head.writeBytes(CHUNKED);
    }
    open();
  }

  private void open() {
    headSent = true;
    Latin1.write(head, request.connectionLine(!closesAfter()));
    head.writeShort(CRLF);
    send(head);
  }

  @Override
  void send(ByteBuf bytes) {
    write(bytes);
  }

  /** A body that changes as a whole sends its head at its end. */
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
    if (events() && rewrite.streams() && rewrite.betweenEvents()) {
      begin();
      sendKeepAlive();
    }
  }

  @Override
  public boolean endWithError(ProxyError error) {
    if (!events()) {
      return false;
    }
    begin();
    sendErrorEvent(error, rewrite.betweenEvents());
    return true;
  }

  @Override
  public EventTail tail() {
    return framing.kind() == Kind.CHUNKED ? framing.chunks().tail() : new EventTail();
  }

  @Override
  public boolean endAfterEvent() {
    boolean chunks = events() && framing.kind() == Kind.CHUNKED;
    if (!chunks || !headSent || !rewrite.betweenEvents()) {
      return false;
    }
    finish(Unpooled.EMPTY_BUFFER);
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
