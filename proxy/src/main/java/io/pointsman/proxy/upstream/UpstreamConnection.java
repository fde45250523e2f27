package io.pointsman.proxy.upstream;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownReadComplete;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.util.ReferenceCountUtil;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.flush.Flushes;
import java.io.IOException;
import java.nio.channels.NotYetConnectedException;
import org.jspecify.annotations.Nullable;

/**
 * A connection to a worker. It works for one user at a time and lies in its pool in between. Where
 * nothing can be written any more it is read to its end: a worker may have answered before it broke
 * the connection. All fields belong to the connection's event loop.
 */
@SuppressWarnings({
  "FutureReturnValueIgnored", // a failed write breaks the connection, which is seen
  "ReferenceEquality" // whether it still works for the same user
})
public final class UpstreamConnection extends ChannelInboundHandlerAdapter {
  private final UpstreamPool pool;
  private final Channel channel;
  private final Flushes.Flush flush;
  private @Nullable UpstreamUser user;
  private boolean used;
  private boolean broken;
  private long idleSince;

  UpstreamConnection(UpstreamPool pool, Channel channel, UpstreamUser user) {
    this.pool = pool;
    this.channel = channel;
    flush = pool.flushes().of(channel);
    this.user = user;
  }

  /** Whether it has served a request before: the worker may have closed it meanwhile. */
  public boolean reused() {
    return used;
  }

  /** The worker at its other end. */
  public Worker worker() {
    return pool.worker();
  }

  boolean open() {
    return channel.isActive() && !broken;
  }

  long idleSince() {
    return idleSince;
  }

  /** Queues bytes; takes over their ownership. */
  public void write(ByteBuf bytes) {
    channel.write(bytes, channel.voidPromise());
  }

  /**
   * Queues bytes; takes over their ownership.
   *
   * @param onWritten called once they and all before them are with the system; not if they never
   *     are
   */
  public void write(ByteBuf bytes, Runnable onWritten) {
    channel
        .write(bytes)
        .addListener(
            done -> {
              if (done.isSuccess()) {
                onWritten.run();
              }
            });
  }

  /**
   * Queues bytes; takes over their ownership.
   *
   * @param onGone called once they and all before them are with the system, or never will be
   */
  public void writeLast(ByteBuf bytes, Runnable onGone) {
    channel.write(bytes).addListener(_ -> onGone.run());
  }

  /** Sends what was queued, at the end of the event loop's round. */
  public void flush() {
    flush.soon();
  }

  public boolean writable() {
    return channel.isWritable();
  }

  /** Reads on, or leaves further bytes to the system's buffers so that the worker has to wait. */
  public void setReading(boolean reading) {
    if (channel.config().isAutoRead() != reading) {
      channel.config().setAutoRead(reading);
    }
  }

  /** Gives it back after a complete answer, for the next request. */
  public void release(long now) {
    setReading(true);
    user = null;
    used = true;
    idleSince = now;
    pool.keep(this);
  }

  /** Closes it at once: the worker sees that nobody waits for the answer any more. */
  public void abort() {
    user = null;
    channel.close();
  }

  /** Puts it to work again. */
  void workFor(UpstreamUser next) {
    user = next;
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    if (user != null && msg instanceof ByteBuf bytes) {
      received(user, bytes);
      return;
    }
    ReferenceCountUtil.release(msg);
    abort();
  }

  private void received(UpstreamUser by, ByteBuf bytes) {
    try {
      by.received(bytes);
    } catch (RuntimeException | Error e) {
      threw(by, e);
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    if (user != null) {
      receivedAll(user);
    }
    pool.flushes().readEnds();
  }

  private void receivedAll(UpstreamUser by) {
    try {
      by.receivedAll();
    } catch (RuntimeException | Error e) {
      threw(by, e);
    }
  }

  /** A defect of the router's own: not to be taken for the worker's. */
  private void threw(UpstreamUser by, Throwable defect) {
    by.defective(defect);
    if (user == by) {
      abort();
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    gone(!broken);
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    broken = true;
    if (channel.isActive() && !channel.config().isAutoClose() && ofSocket(cause)) {
      // After a failed read the transport closes it; after a failed write that read ends it soon.
      return;
    }
    gone(false);
    channel.close();
  }

  /** Whether it is the socket that failed; the second is what shutting down a broken one gives. */
  private static boolean ofSocket(Throwable cause) {
    return cause instanceof IOException || cause instanceof NotYetConnectedException;
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event instanceof ChannelInputShutdownReadComplete) {
      channel.close();
    } else if (event instanceof SslCloseCompletionEvent end && !end.isSuccess()) {
      // Where TLS has not said so, anybody on the way may have ended it (RFC 9112, 9.8).
      broken = true;
    }
  }

  private void gone(boolean orderly) {
    UpstreamUser last = user;
    user = null;
    if (last == null) {
      pool.forget(this);
      return;
    }
    try {
      last.disconnected(orderly);
    } catch (RuntimeException | Error e) {
      last.defective(e);
    }
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    if (user != null) {
      writable(user);
    }
  }

  private void writable(UpstreamUser by) {
    try {
      by.writable(channel.isWritable());
    } catch (RuntimeException | Error e) {
      threw(by, e);
    }
  }
}
