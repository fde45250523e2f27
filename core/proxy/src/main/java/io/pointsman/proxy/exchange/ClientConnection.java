package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import io.pointsman.proxy.flush.Flushes;
import io.pointsman.proxy.loop.LoopClient;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.loop.Outdated;
import io.pointsman.proxy.loop.ServerContext;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.proxy.wire.RequestDecoder;
import io.pointsman.proxy.wire.RequestHead;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A client's connection. It serves one request after another, each to the end of its answer. Bytes
 * of requests that the client sends ahead wait in the decoder, within a limit. All fields belong to
 * the connection's event loop.
 *
 * <p>The connection reads during an answer, because otherwise it would not notice that the client
 * leaves. Reading pauses in two cases: the client sends a request ahead, or sends faster than the
 * worker reads. Each case alone suffices.
 *
 * <p>It is one class because reading, writing and closing depend on the same state of the channel.
 */
@SuppressWarnings({
  "FutureReturnValueIgnored", // a failed write closes the connection, which is handled
  "ReferenceEquality" // tests for the same object
})
public final class ClientConnection extends ChannelInboundHandlerAdapter
    implements RequestDecoder.Sink, LoopClient {
  private static final Logger LOG = LoggerFactory.getLogger(ClientConnection.class);

  /**
   * Maximum time for a client to send bytes that are discarded after an early answer. Clients in
   * the middle of a body read the answer only after its end. A reset would lose the answer.
   */
  private static final long LINGER_NANOS = 30_000_000_000L;

  /** Maximum silence of such a client; also the maximum time while the router stops. */
  private static final long LINGER_SILENT_NANOS = 2_000_000_000L;

  private final LoopState state;
  private final boolean admin;
  private final Channel channel;
  private final Flushes.Flush flush;
  private final ClientDecoder decoder;
  private final Dispatcher reception;
  private final ConnectionOrigin origin;
  private final RouterReplies replies;
  private final BooleanSupplier outdated;
  private int index = -1;
  private @Nullable ClientStream current;
  private boolean lingering;

  /** True if the operating system has the last answer; a close cannot lose it. */
  private boolean outputShut;

  private boolean closing;

  /** True if the client's bytes pass undecoded, because it uses another protocol. */
  private boolean tunnel;

  /** True if the client has ended its side of a WebSocket. It can still read. */
  private boolean inputEnded;

  /** True if the current request, if any, accepts the client's bytes. */
  private boolean wanted = true;

  /**
   * Start of the present state: idle, a client that does not read, an arriving head, lingering, or
   * closing.
   */
  private long since;

  /** Time of the last discarded bytes. */
  private long discardedAt;

  private boolean headComing;

  /** Switch to another protocol at the request of the client; null if none is possible. */
  private @Nullable ProtocolSwitch protocolSwitch;

  /** The request to switch that is being handled; null if there is none. */
  private @Nullable RequestHead switching;

  ClientConnection(
      LoopState state, Channel channel, @Nullable ProtocolSwitch protocolSwitch, boolean admin) {
    this.protocolSwitch = protocolSwitch;
    this.state = state;
    this.admin = admin;
    this.channel = channel;
    outdated = Outdated.of(channel);
    flush = state.flushes().of(channel);
    decoder = new ClientDecoder(this, state);
    reception = new Dispatcher(this);
    origin = new ConnectionOrigin(state, channel);
    replies = new RouterReplies(this, admin);
  }

  /** Makes an accepted channel a client connection. */
  public static void accept(LoopState state, Channel channel) {
    ClientConnection _ = accept(state, channel, null);
  }

  /**
   * Makes an accepted channel a client connection.
   *
   * @param protocolSwitch the switch that its first request may ask for; null if none is possible
   */
  public static ClientConnection accept(
      LoopState state, Channel channel, @Nullable ProtocolSwitch protocolSwitch) {
    ClientConnection accepted = new ClientConnection(state, channel, protocolSwitch, false);
    channel.pipeline().addLast(accepted);
    return accepted;
  }

  /** Makes a channel that the admin listener accepted a client connection. */
  public static ClientConnection acceptAdmin(LoopState state, Channel channel) {
    ClientConnection accepted = new ClientConnection(state, channel, null, true);
    channel.pipeline().addLast(accepted);
    return accepted;
  }

  @Override
  public boolean admin() {
    return admin;
  }

  @Override
  public boolean outdated() {
    return outdated.getAsBoolean();
  }

  /** True if no further request may follow the present one. */
  boolean ends() {
    return server().gate().stopping() || outdated();
  }

  LoopState state() {
    return state;
  }

  /** The client at the other end. */
  ConnectionOrigin origin() {
    return origin;
  }

  /** The sender of the router's own answers. */
  RouterReplies replies() {
    return replies;
  }

  @Override
  public void movedTo(int newIndex) {
    index = newIndex;
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    server().gate().opened();
    origin.enter();
    since = state.now();
    index = state.add(this);
    if (server().gate().draining()) {
      state.drain();
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    leave();
  }

  /** Another handler has taken the channel over, or the channel has closed. */
  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    leave();
  }

  private void leave() {
    if (index < 0) {
      return;
    }
    state.remove(index);
    index = -1;
    closing = true;
    decoder.release();
    ClientStream interrupted = current;
    current = null;
    if (interrupted != null) {
      interrupted.clientGone();
    }
    server().gate().closed();
    origin.leave();
  }

  @Override
  public long idleNanos(long now) {
    return current == null && !headComing && !ending() ? now - since : BUSY;
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    channel.close();
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    if (current != null) {
      current.clientWritable(channel.isWritable());
    } else if (takesMore()) {
      since = state.now();
      decoder.resume();
    }
  }

  /** Reports that bytes are about to be decoded, or that the first bytes of a request came. */
  public void bytesCame() {
    if (current == null && !headComing && takesMore()) {
      headComing = true;
      since = state.now();
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    if (lingering || closing || !(msg instanceof ByteBuf bytes)) {
      discardedAt = state.now();
      ReferenceCountUtil.release(msg);
    } else if (tunnel) {
      pass(bytes);
    } else {
      decoder.received(bytes);
      switchProtocol();
    }
  }

  private void switchProtocol() {
    RequestHead asked = switching;
    ProtocolSwitch to = protocolSwitch;
    if (asked != null && to != null) {
      protocolSwitch = null;
      to.take(state, channel, asked, decoder.takeAhead());
    }
  }

  private void pass(ByteBuf bytes) {
    if (current == null) {
      bytes.release();
    } else {
      current.content(bytes);
    }
  }

  /**
   * Passes all further bytes undecoded to the current request, first those that the client has sent
   * ahead. The end of the client's bytes is no end of the connection.
   */
  void tunnel() {
    tunnel = true;
    channel.config().setOption(ChannelOption.ALLOW_HALF_CLOSURE, true);
    ByteBuf ahead = decoder.takeAhead();
    if (ahead != null) {
      pass(ahead);
    }
    if (current != null) {
      current.contentPause();
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event instanceof ChannelInputShutdownEvent) {
      inputEnded = true;
      if (current != null) {
        current.clientEnds();
      }
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    if (current != null) {
      current.contentPause();
    }
    state.flushes().readEnds();
  }

  /**
   * True if the next request may be decoded. It waits until the client has read most of the earlier
   * answers.
   */
  @Override
  public boolean takesMore() {
    return !ending()
        && switching == null
        && (current == null ? channel.isWritable() : !current.received());
  }

  @Override
  public void head(RequestHead head) {
    headComing = false;
    if (admin && outdated()) {
      // The conditions of the listener, for example a certificate, may stand in place of a key.
      closeAfterWrites();
      return;
    }
    if (protocolSwitch != null && protocolSwitch.asks(head) && !ends()) {
      switching = head;
    } else {
      protocolSwitch = null;
      reception.begin(head);
    }
  }

  /** The receiver of the body; null if the request was answered before the end of its body. */
  private @Nullable ClientStream receiver() {
    ClientStream now = current;
    return now == null || now.received() ? null : now;
  }

  @Override
  public void content(ByteBuf part) {
    ClientStream receiver = receiver();
    if (receiver != null && part.isReadable()) {
      receiver.content(part);
    } else {
      part.release();
    }
  }

  @Override
  public void end() {
    ClientStream receiver = receiver();
    if (receiver != null) {
      receiver.contentEnd();
    }
  }

  @Override
  public void broken() {
    ClientStream receiver = receiver();
    if (receiver != null) {
      receiver.contentBroken();
    }
  }

  /** Sets the current request. */
  void take(@Nullable ClientStream conversation) {
    current = conversation;
  }

  /** The current request; null between two requests. */
  @Nullable ClientStream current() {
    return current;
  }

  boolean busyWith(@Nullable ClientStream conversation) {
    return conversation != null && current == conversation;
  }

  /** Queues bytes for the client. Their ownership passes to this method. */
  void write(ByteBuf bytes) {
    channel.write(bytes, channel.voidPromise());
  }

  /** Sends the queued bytes at the end of the event loop's round. */
  void flush() {
    flush.soon();
  }

  boolean writable() {
    return channel.isWritable();
  }

  Channel channel() {
    return channel;
  }

  /** Pauses or resumes reading for the current request. */
  void setReading(boolean reading) {
    wanted = reading;
    updateReading();
  }

  /** Reads if the current request accepts bytes and no request waits in the decoder. */
  void updateReading() {
    boolean reading = lingering || (wanted && !decoder.holdsAhead());
    if (channel.config().isAutoRead() != reading) {
      channel.config().setAutoRead(reading);
    }
  }

  /**
   * Ends a complete answer.
   *
   * @param keep true if the next request may follow. Otherwise the output is closed. The router
   *     discards further bytes for a while, and the client can read its answer
   */
  void finished(boolean keep) {
    boolean complete = current != null && current.received() && !decoder.holdsAhead();
    current = null;
    if (!closing) {
      since = state.now();
      setReading(true);
      goOn(keep && !server().gate().draining() && !outdated(), complete);
    }
    // Last, because the flush can make the client writable and start the next request.
    flush();
  }

  private void goOn(boolean keep, boolean complete) {
    if (keep) {
      decoder.resume();
    } else if (complete || inputEnded) {
      closeAfterWrites();
    } else {
      linger();
    }
  }

  private void closeAfterWrites() {
    closing = true;
    since = state.now();
    channel.writeAndFlush(channel.alloc().buffer(0)).addListener(ChannelFutureListener.CLOSE);
  }

  private void linger() {
    lingering = true;
    updateReading();
    if (channel instanceof DuplexChannel duplex) {
      channel.write(channel.alloc().buffer(0)).addListener(_ -> endOutput(duplex));
      flush();
    } else {
      channel.close();
    }
  }

  /** With TLS the client first gets the end of the encrypted bytes. */
  private void endOutput(DuplexChannel duplex) {
    SslHandler tls = channel.pipeline().get(SslHandler.class);
    if (tls == null) {
      shutOutput(duplex);
    } else {
      tls.closeOutbound().addListener(_ -> shutOutput(duplex));
    }
  }

  /** A round of the loop can be long, so the silence of the client is measured from here. */
  private void shutOutput(DuplexChannel duplex) {
    outputShut = true;
    discardedAt = state.now();
    duplex.shutdownOutput();
  }

  /** True while a completely received request is being answered. */
  boolean answering() {
    return current != null && current.received();
  }

  /** True if further bytes from the client are discarded. */
  boolean ending() {
    return lingering || closing;
  }

  /** Breaks the connection. The client cannot mistake the partial answer for a complete one. */
  void breakOff(boolean reset) {
    current = null;
    if (reset) {
      channel.config().setOption(ChannelOption.SO_LINGER, 0);
    }
    closeAfterWrites();
  }

  /** Closes the connection immediately. The client does not read, so writes would not complete. */
  void reset() {
    current = null;
    closing = true;
    channel.config().setOption(ChannelOption.SO_LINGER, 0);
    channel.close();
  }

  /** A defect closes only this connection. The timeouts of other connections are still checked. */
  @Override
  public void checkTimeouts(long now) {
    try {
      check(now);
    } catch (RuntimeException | Error e) {
      LOG.error("cannot check the timeouts of {}", channel, e);
      channel.close();
    }
  }

  private void check(long now) {
    if (current != null) {
      current.checkTimeouts(now);
      return;
    }
    if (lingering) {
      long most = server().gate().draining() ? LINGER_SILENT_NANOS : LINGER_NANOS;
      boolean silent = outputShut && now - discardedAt > LINGER_SILENT_NANOS;
      if (silent || now - since > most) {
        channel.close();
      }
      return;
    }
    TimeoutSettings timeouts = server().live().timeouts();
    if (closing) {
      // A closing connection has no further use. It closes even if idle clients have no timeout.
      long idle = timeouts.clientIdle().toNanos();
      if (over(idle == 0 ? LINGER_NANOS : idle, now)) {
        channel.close();
      }
      return;
    }
    boolean sendsHead = headComing && channel.isWritable();
    if (sendsHead && over(timeouts.clientHead().toNanos(), now)) {
      headTimedOut();
    } else if (!sendsHead && over(timeouts.clientIdle().toNanos(), now)) {
      channel.close();
    }
  }

  private boolean over(long timeout, long now) {
    return timeout > 0 && now - since > timeout;
  }

  private void headTimedOut() {
    ProxyError error = ProxyError.REQUEST_TIMEOUT;
    String id = server().live().requestIds().make("");
    Reply reply = Reply.of(error, error.message());
    ByteBuf bytes = reply.render(channel.alloc(), id, "connection: close\r\n", true);
    int length = bytes.readableBytes();
    write(bytes);
    long nanos = state.now() - since;
    finished(false);
    replies.report(
        origin.identified(RequestHead.unread()), id, error.status(), error, nanos, length);
  }

  /** Closes the connection after pending writes, unless a request is arriving or in progress. */
  @Override
  public void drain() {
    if (current == null && !headComing && !ending()) {
      closeAfterWrites();
    }
  }

  /** Ends the current request and closes the connection. */
  @Override
  public void cut() {
    if (current != null) {
      current.cut();
    }
    closeAfterWrites();
  }

  /** The present context; it changes when the settings change. */
  private ServerContext server() {
    return state.server();
  }
}
