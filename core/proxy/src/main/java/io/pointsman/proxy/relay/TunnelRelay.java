package io.pointsman.proxy.relay;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.wire.EventTail;
import io.pointsman.proxy.wire.Latin1;
import io.pointsman.proxy.wire.ResponseHead;
import org.jspecify.annotations.Nullable;

/**
 * Relay of the bytes that a worker sends after it has switched to the WebSocket protocol. It
 * forwards them unchanged up to the end of the connection. Belongs to the event loop.
 */
public final class TunnelRelay implements Relay {
  private static final String SWITCH = "connection: Upgrade\r\nupgrade: websocket\r\n\r\n";

  private final Channel client;
  private long bytesOut;
  private @Nullable ByteBuf unsentHead;

  /**
   * Starts the answer.
   *
   * @param head the worker's head, valid during this call
   * @param lines header lines to add, each with its line break
   */
  public TunnelRelay(Channel client, ResponseHead head, String lines) {
    this.client = client;
    head.leaveOut("content-length:");
    ByteBuf out = client.alloc().buffer(head.length() + lines.length() + SWITCH.length());
    head.writeTo(out);
    Latin1.write(out, lines);
    Latin1.write(out, SWITCH);
    unsentHead = out;
  }

  @Override
  public boolean closesAfter() {
    return true;
  }

  @Override
  public boolean surplus() {
    return false;
  }

  @Override
  public boolean events() {
    return false;
  }

  @Override
  public long bytesOut() {
    return bytesOut;
  }

  @Override
  public boolean empty() {
    return false;
  }

  @Override
  public Progress relay(ByteBuf in) {
    sendHead();
    write(in);
    return Progress.MORE;
  }

  @SuppressWarnings(
      "FutureReturnValueIgnored") // a failed write closes the connection, which is handled
  private void write(ByteBuf bytes) {
    bytesOut += bytes.readableBytes();
    client.write(bytes, client.voidPromise());
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
    sendHead();
    return true;
  }

  @Override
  public void keepAlive() {}

  /** Frames are not read, so the router cannot add one. */
  @Override
  public boolean endWithError(ProxyError error) {
    return false;
  }

  @Override
  public EventTail tail() {
    return new EventTail();
  }

  @Override
  public boolean endAfterEvent() {
    return false;
  }

  @Override
  public boolean breakNeedsReset() {
    return false;
  }

  @Override
  public void release() {
    if (unsentHead != null) {
      unsentHead.release();
      unsentHead = null;
    }
  }
}
