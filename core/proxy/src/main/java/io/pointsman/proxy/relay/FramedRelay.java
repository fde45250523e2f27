package io.pointsman.proxy.relay;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.pointsman.proxy.reply.ErrorEvents;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.wire.BodyFraming;
import io.pointsman.proxy.wire.Decimals;
import io.pointsman.proxy.wire.Latin1;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.proxy.wire.ResponseHead;
import io.pointsman.request.Endpoint;
import java.nio.charset.StandardCharsets;

/**
 * Common part of all relays: the framing of the answer, counters, and chunks. Belongs to the event
 * loop.
 */
abstract sealed class FramedRelay implements Relay permits ResponseRelay, RewrittenRelay {
  static final int CRLF = '\r' << 8 | '\n';
  static final byte[] CHUNKED = ascii("transfer-encoding: chunked\r\n");
  private static final byte[] LAST_CHUNK = ascii("0\r\n\r\n");
  private static final byte[] KEEPALIVE = ascii(": keep-alive\n\n");

  final Channel client;
  final RequestHead request;
  final BodyFraming framing;
  private final boolean events;
  private boolean closesAfter;
  private boolean surplus;
  private long bytesOut;

  /**
   * @param client connection to the client
   * @param answer the worker's head, valid during this call
   * @param events true if the answer is an event stream with readable events
   * @param keep true to keep the client's connection after the answer
   */
  FramedRelay(
      Channel client, RequestHead request, ResponseHead answer, boolean events, boolean keep) {
    this.client = client;
    this.request = request;
    this.events = events;
    framing = new BodyFraming(answer, request.method());
    closesAfter = !keep;
  }

  private static byte[] ascii(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  /** Marks the client's connection to be closed after the answer. */
  final void closeAfter() {
    closesAfter = true;
  }

  /** Records that the worker sent more than its answer, if {@code more}. */
  final void surplus(boolean more) {
    surplus |= more;
  }

  @Override
  public final boolean closesAfter() {
    return closesAfter;
  }

  @Override
  public final boolean surplus() {
    return surplus;
  }

  @Override
  public final boolean events() {
    return events;
  }

  @Override
  public final long bytesOut() {
    return bytesOut;
  }

  @Override
  public final boolean empty() {
    return framing.empty();
  }

  /** Sends bytes of the body. Sends the head first if that has not happened. */
  abstract void send(ByteBuf bytes);

  /** Writes bytes to the client. */
  @SuppressWarnings(
      "FutureReturnValueIgnored") // a failed write closes the connection, which is handled
  final void write(ByteBuf bytes) {
    bytesOut += bytes.readableBytes();
    client.write(bytes, client.voidPromise());
  }

  /** Sends a part of a body without length, as a chunk if the client supports chunks. */
  final void sendPart(ByteBuf part) {
    if (!part.isReadable()) {
      part.release();
      return;
    }
    if (request.http10()) {
      send(part);
      return;
    }
    ByteBuf size = client.alloc().buffer(10);
    Decimals.writeChunkSize(size, part.readableBytes());
    send(size);
    send(part);
    send(client.alloc().buffer(2).writeShort(CRLF));
  }

  /** Ends a body that was sent in parts. */
  final void endParts() {
    if (!request.http10()) {
      send(copied(LAST_CHUNK));
    }
  }

  final void sendKeepAlive() {
    sendPart(copied(KEEPALIVE));
  }

  /**
   * Sends an error as the last event, and the end of the body.
   *
   * @param whole true if the event before it is complete
   */
  final void sendErrorEvent(ProxyError error, boolean whole) {
    Endpoint endpoint = Endpoint.of(request.method(), request.uri());
    String event = (whole ? "" : "\n\n") + ErrorEvents.of(error, endpoint);
    ByteBuf bytes = client.alloc().buffer(event.length());
    Latin1.write(bytes, event);
    sendPart(bytes);
    endParts();
  }

  private ByteBuf copied(byte[] bytes) {
    return client.alloc().buffer(bytes.length).writeBytes(bytes);
  }
}
