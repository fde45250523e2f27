package io.pointsman.proxy.upstream;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.socket.ChannelInputShutdownReadComplete;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.flush.Flushes;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.channels.NotYetConnectedException;
import org.jspecify.annotations.Nullable;

/**
 * A connection to a worker. It has one user at a time; between users it is idle in its pool. If
 * writing fails, it is still read to its end, because the worker may have answered before. All
 * fields belong to the connection's event loop.
 */
@SuppressWarnings({
  "FutureReturnValueIgnored", // a failed write breaks the connection, which is handled
  "ReferenceEquality" // tests for the same user
})
public final class UpstreamConnection extends ChannelInboundHandlerAdapter {
  private final UpstreamPool pool;
  private final Channel channel;
  private final InetAddress address;
  private final Flushes.Flush flush;

  /** Records that the first bytes of a request are with the operating system. */
  private final ChannelFutureListener onFirst = done -> written(done.isSuccess());

  private @Nullable UpstreamUser user;

  /** True while no byte of the present user's request is with the operating system. */
  private boolean unwritten;

  /** True if the first write of the present user is queued. */
  private boolean queued;

  /** True if the present user's first flush was permitted. */
  private boolean checked;

  private boolean used;
  private boolean broken;
  private long idleSince;

  UpstreamConnection(UpstreamPool pool, Channel channel, UpstreamUser user, InetAddress address) {
    this.pool = pool;
    this.channel = channel;
    this.address = address;
    flush = pool.flushes().of(channel, this::mayFlush);
    this.user = user;
  }

  /** True if it has served a request before. The worker may have closed it since then. */
  public boolean reused() {
    return used;
  }

  /** The worker of this connection. */
  public Worker worker() {
    return pool.worker();
  }

  /** The address of the worker. */
  InetAddress address() {
    return address;
  }

  boolean open() {
    return channel.isActive() && !broken;
  }

  long idleSince() {
    return idleSince;
  }

  /** Queues bytes. Their ownership passes to this method. */
  public void write(ByteBuf bytes) {
    if (unwritten && !queued) {
      queue(bytes);
    } else {
      channel.write(bytes, channel.voidPromise());
    }
  }

  /** Queues bytes, and records when the first bytes of a request are written. */
  private ChannelFuture queue(ByteBuf bytes) {
    ChannelFuture written = channel.write(bytes);
    if (unwritten && !queued) {
      queued = true;
      written.addListener(onFirst);
    }
    return written;
  }

  private void written(boolean success) {
    unwritten &= !success;
  }

  /**
   * Queues bytes. Their ownership passes to this method.
   *
   * @param onWritten called when these bytes and all before them are with the operating system; not
   *     called after a failure
   */
  public void write(ByteBuf bytes, Runnable onWritten) {
    queue(bytes)
        .addListener(
            done -> {
              if (done.isSuccess()) {
                onWritten.run();
              }
            });
  }

  /**
   * Queues bytes. Their ownership passes to this method.
   *
   * @param onGone called when these bytes and all before them are with the operating system, or
   *     after a failure
   */
  public void writeLast(ByteBuf bytes, Runnable onGone) {
    queue(bytes).addListener(_ -> onGone.run());
  }

  /**
   * Closes the output after the queued bytes. The worker can still send. A connection with TLS
   * closes completely.
   */
  public void endOutput() {
    queue(channel.alloc().buffer(0)).addListener(_ -> shutOutput());
    flush();
  }

  private void shutOutput() {
    if (channel instanceof DuplexChannel duplex
        && channel.pipeline().get(SslHandler.class) == null) {
      duplex.shutdownOutput();
    } else {
      channel.close();
    }
  }

  /** Sends the queued bytes at the end of the event loop's round. */
  public void flush() {
    flush.soon();
  }

  public boolean writable() {
    return channel.isWritable();
  }

  /**
   * Resumes or pauses reading. During a pause the bytes fill the system's buffers and the worker
   * must wait.
   */
  public void setReading(boolean reading) {
    if (channel.config().isAutoRead() != reading) {
      channel.config().setAutoRead(reading);
    }
  }

  /** Returns the connection to its pool after a complete answer. */
  public void release(long now) {
    setReading(true);
    user = null;
    used = true;
    idleSince = now;
    pool.keep(this);
  }

  /** Closes the connection immediately. The worker sees that its answer is not needed. */
  public void abort() {
    user = null;
    channel.close();
  }

  /** Sets the next user. */
  void workFor(UpstreamUser next) {
    user = next;
    unwritten = true;
    queued = false;
    checked = false;
  }

  /**
   * False if the first bytes of a request must not be written, because bytes have arrived before
   * them. An engine that sends a second answer late causes that.
   */
  private boolean mayFlush() {
    if (!unwritten || checked) {
      return true;
    }
    checked = true;
    if (!pool.earlyBytes().in(channel)) {
      return true;
    }
    spoiled();
    return false;
  }

  /** True if no byte of the request is written, so bytes that arrive are not its answer. */
  private boolean beforeRequest() {
    if (!unwritten) {
      return false;
    }
    ChannelOutboundBuffer out = channel.unsafe().outboundBuffer();
    unwritten = out == null || out.currentProgress() == 0;
    return unwritten;
  }

  /** Ends the connection. Its user can send the request over another one. */
  private void spoiled() {
    UpstreamUser last = user;
    abort();
    if (last != null) {
      disconnected(last, false);
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    if (user != null && msg instanceof ByteBuf bytes && !beforeRequest()) {
      received(user, bytes);
      return;
    }
    ReferenceCountUtil.release(msg);
    spoiled();
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

  /** A defect of the router, not a failure of the worker. */
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
      // After a failed read the transport closes the connection. After a failed write the next read
      // does.
      return;
    }
    gone(false);
    channel.close();
  }

  /** True if the socket failed. The second exception follows a shutdown of a broken socket. */
  private static boolean ofSocket(Throwable cause) {
    return cause instanceof IOException || cause instanceof NotYetConnectedException;
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event instanceof ChannelInputShutdownReadComplete) {
      channel.close();
    } else if (event instanceof SslCloseCompletionEvent end && !end.isSuccess()) {
      // Without a close message of TLS, an attacker may have ended the connection (RFC 9112, 9.8).
      broken = true;
    }
  }

  private void gone(boolean orderly) {
    UpstreamUser last = user;
    user = null;
    if (last == null) {
      pool.forget(this);
    } else {
      disconnected(last, orderly);
    }
  }

  private static void disconnected(UpstreamUser last, boolean orderly) {
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
