package io.pointsman.proxy.relay;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.wire.BodyFraming.Kind;
import io.pointsman.proxy.wire.ChunkFraming;
import io.pointsman.proxy.wire.EventTail;
import io.pointsman.proxy.wire.Latin1;
import io.pointsman.proxy.wire.RequestHead;
import io.pointsman.proxy.wire.ResponseHead;
import org.jspecify.annotations.Nullable;

/**
 * Relay that forwards the bytes of the answer: the head with this hop's header lines replaced, and
 * the body unchanged. It follows the framing to find the end and the borders between events. The
 * framing changes in two cases. A body that ends with its connection becomes chunked if the client
 * supports chunks. Chunks are removed if the client does not. Belongs to the event loop.
 */
public final class ResponseRelay extends FramedRelay {
  /** Maximum size in bytes of a body that is copied after its head and sent in one buffer. */
  private static final int SENT_WITH_HEAD = 4096;

  private final EventTail tail = new EventTail();
  private boolean malformed;
  private boolean cleanCut;
  private @Nullable ByteBuf unsentHead;

  /**
   * Starts the answer.
   *
   * @param head the worker's head, valid during this call
   * @param lines header lines to add, each with its line break
   * @param keep true to keep the client's connection after the answer, if the framing allows it
   */
  public ResponseRelay(
      Channel client, RequestHead request, ResponseHead head, String lines, boolean keep) {
    super(client, request, head, head.eventStream() && !head.encoded(), keep);
    if (request.http10() && delimitedByClose()) {
      closeAfter();
    }
    unsentHead = writeHead(head, lines);
  }

  /** True if an HTTP/1.0 client can learn the end only from a closed connection. */
  private boolean delimitedByClose() {
    return framing.kind() == Kind.CHUNKED || framing.kind() == Kind.UNTIL_CLOSE;
  }

  private ByteBuf writeHead(ResponseHead head, String lines) {
    ByteBuf out = client.alloc().buffer(head.length() + lines.length() + 96 + SENT_WITH_HEAD);
    head.writeTo(out);
    Latin1.write(out, lines);
    if (delimitedByClose() && !request.http10()) {
      out.writeBytes(CHUNKED);
    }
    Latin1.write(out, request.connectionLine(!closesAfter()));
    out.writeShort(CRLF);
    return out;
  }

  @Override
  public Progress relay(ByteBuf in) {
    int from = in.readerIndex();
    int to = in.writerIndex();
    if (framing.kind() == Kind.CHUNKED && request.http10()) {
      return undoChunks(in, from, to);
    }
    int end = framing.scan(in, from, to);
    if (end == ChunkFraming.MALFORMED) {
      return cutBeforeFault(in);
    }
    if (end >= 0 && end < to) {
      surplus(true);
      in.writerIndex(end);
    }
    if (framing.kind() == Kind.UNTIL_CLOSE) {
      tail.append(in, from, to - from);
      sendPart(in);
    } else {
      send(in);
    }
    return end >= 0 ? Progress.DONE : Progress.MORE;
  }

  private Progress undoChunks(ByteBuf in, int from, int to) {
    ByteBuf data = client.alloc().buffer(to - from);
    int end = framing.chunks().scan(in, from, to, data);
    surplus(end >= 0 && end < to);
    in.release();
    tail.append(data, data.readerIndex(), data.readableBytes());
    send(data);
    malformed = end == ChunkFraming.MALFORMED;
    return malformed ? Progress.MALFORMED : end >= 0 ? Progress.DONE : Progress.MORE;
  }

  /** Relays the complete chunks before a malformed one. */
  private Progress cutBeforeFault(ByteBuf in) {
    malformed = true;
    int border = framing.chunks().border();
    cleanCut = border >= 0;
    if (border > in.readerIndex()) {
      send(in.writerIndex(border));
    } else {
      in.release();
    }
    return Progress.MALFORMED;
  }

  @Override
  void send(ByteBuf bytes) {
    ByteBuf head = unsentHead;
    if (head != null && bytes.readableBytes() <= SENT_WITH_HEAD) {
      unsentHead = null;
      head.writeBytes(bytes);
      bytes.release();
      write(head);
      return;
    }
    sendHead();
    write(bytes);
  }

  @Override
  public void sendHead() {
    ByteBuf head = unsentHead;
    if (head != null) {
      unsentHead = null;
      write(head);
    }
  }

  @Override
  public boolean endOfConnection() {
    if (framing.kind() != Kind.UNTIL_CLOSE) {
      return false;
    }
    sendHead();
    endParts();
    return true;
  }

  /** True at the border of two events and two chunks, where the router may add its own. */
  private boolean betweenEvents() {
    if (!events()) {
      return false;
    }
    return switch (framing.kind()) {
      case NONE, LENGTH -> false;
      case UNTIL_CLOSE -> tail.betweenEvents();
      case CHUNKED -> {
        if (request.http10()) {
          yield tail.betweenEvents();
        }
        // The tail of a malformed body has read more than was relayed.
        yield !malformed && framing.chunks().atBorder() && framing.chunks().tail().betweenEvents();
      }
    };
  }

  @Override
  public void keepAlive() {
    if (betweenEvents()) {
      sendKeepAlive();
    }
  }

  @Override
  public boolean endWithError(ProxyError error) {
    boolean whole = betweenEvents();
    ByteBuf rest = client.alloc().buffer();
    if (!events() || !completeChunk(rest)) {
      rest.release();
      return false;
    }
    sendHead();
    send(rest);
    sendErrorEvent(error, whole);
    return true;
  }

  @Override
  public EventTail tail() {
    boolean chunks = framing.kind() == Kind.CHUNKED && !request.http10();
    return chunks ? framing.chunks().tail() : tail;
  }

  @Override
  public boolean endAfterEvent() {
    if (!betweenEvents()) {
      return false;
    }
    sendHead();
    endParts();
    return true;
  }

  /** Completes the framing up to a place for another chunk. Returns false if there is none. */
  private boolean completeChunk(ByteBuf out) {
    return switch (framing.kind()) {
      case NONE, LENGTH -> false;
      case UNTIL_CLOSE -> true;
      case CHUNKED -> request.http10() || (malformed ? cleanCut : framing.chunks().complete(out));
    };
  }

  @Override
  public boolean breakNeedsReset() {
    return request.http10() && delimitedByClose();
  }

  @Override
  public void release() {
    if (unsentHead != null) {
      unsentHead.release();
      unsentHead = null;
    }
  }
}
