package io.pointsman.proxy.exchange;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.DuplexChannel;
import io.netty.util.ReferenceCountUtil;
import io.pointsman.proxy.flush.Flushes;
import io.pointsman.proxy.loop.LoopClient;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.loop.Plane;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.proxy.wire.RequestDecoder;
import io.pointsman.proxy.wire.RequestHead;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A client's connection: one request after the other, each to the end of its answer. Requests that
 * the client sends ahead wait in the decoder, as bytes, a bounded number of them. All fields belong
 * to the connection's event loop.
 *
 * <p>The client is read also while its answer is on the way, because that is how its leaving is
 * noticed; only when it sends ahead, or faster than a worker takes, reading pauses: each of the two
 * by itself is enough.
 */
@SuppressWarnings({
  "FutureReturnValueIgnored", // a failed write closes the connection, which is seen
  "ReferenceEquality" // whether the conversation is still this one
})
public final class ClientConnection extends ChannelInboundHandlerAdapter
    implements RequestDecoder.Sink, LoopClient {
  private static final Logger LOG = LoggerFactory.getLogger(ClientConnection.class);

  /**
   * How long a client that is told to go may go on sending what nobody reads: clients that are in
   * the middle of a body look for their answer behind its end, and lose it if they are reset.
   */
  private static final long LINGER_NANOS = 30_000_000_000L;

  /** How long such a client may be silent, or go on while the router stops. */
  private static final long LINGER_SILENT_NANOS = 2_000_000_000L;

  private final LoopState state;
  private final Plane plane;
  private final Channel channel;
  private final Flushes.Flush flush;
  private final ClientDecoder decoder;
  private final Reception reception;
  private int index = -1;
  private @Nullable Conversation current;
  private boolean lingering;

  /** Whether its last answer is with the system, so that closing cannot lose it any more. */
  private boolean outputShut;

  private boolean closing;

  /** Whether the request under way, if there is one, takes what the client sends. */
  private boolean wanted = true;

  /**
   * When the connection became idle, which it is also while the client does not read, or the head
   * that is coming began; or lingering began, or closing.
   */
  private long since;

  /** When something came that nobody reads. */
  private long discardedAt;

  private boolean headComing;

  ClientConnection(LoopState state, Channel channel) {
    this.state = state;
    plane = state.plane();
    this.channel = channel;
    flush = state.flushes().of(channel);
    decoder = new ClientDecoder(this, state);
    reception = new Reception(this);
  }

  /** Makes a channel that was accepted a client's connection. */
  public static void accept(LoopState state, Channel channel) {
    channel.pipeline().addLast(new ClientConnection(state, channel));
  }

  LoopState state() {
    return state;
  }

  @Override
  public void movedTo(int newIndex) {
    index = newIndex;
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    plane.gate().opened();
    since = state.now();
    index = state.add(this);
    if (plane.gate().draining()) {
      state.drain();
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    if (index < 0) {
      return;
    }
    state.remove(index);
    index = -1;
    closing = true;
    decoder.release();
    Conversation interrupted = current;
    current = null;
    if (interrupted != null) {
      interrupted.clientGone();
    }
    plane.gate().closed();
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

  /** Bytes are about to be decoded, of whatever. */
  void bytesCame() {
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
    } else {
      decoder.received(bytes);
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    if (current != null) {
      current.contentPause();
    }
    state.flushes().readEnds();
  }

  /** The next request is not taken up before the client has read most of the answers so far. */
  @Override
  public boolean takesMore() {
    return !ending() && (current == null ? channel.isWritable() : !current.received());
  }

  @Override
  public void head(RequestHead head) {
    headComing = false;
    reception.begin(head);
  }

  /** Who gets the body that comes; null if nobody does, because it was answered before its end. */
  private @Nullable Conversation receiver() {
    Conversation now = current;
    return now == null || now.received() ? null : now;
  }

  @Override
  public void content(ByteBuf part) {
    Conversation receiver = receiver();
    if (receiver != null && part.isReadable()) {
      receiver.content(part);
    } else {
      part.release();
    }
  }

  @Override
  public void end() {
    Conversation receiver = receiver();
    if (receiver != null) {
      receiver.contentEnd();
    }
  }

  @Override
  public void broken() {
    Conversation receiver = receiver();
    if (receiver != null) {
      receiver.contentBroken();
    }
  }

  /** From here on the client is busy with this one. */
  void take(@Nullable Conversation conversation) {
    current = conversation;
  }

  /** What the client is busy with; null between two requests. */
  @Nullable Conversation current() {
    return current;
  }

  boolean busyWith(@Nullable Conversation conversation) {
    return conversation != null && current == conversation;
  }

  Reply tooLarge() {
    return Reply.of(
        ProxyError.BODY_TOO_LARGE,
        "request body: too large (expected: at most " + plane.limits().maxBodyBytes() + " bytes)");
  }

  /**
   * Sends an answer of the router's own, and is done with the request.
   *
   * @param complete whether the request was received completely, so that another may follow
   */
  void reply(RequestHead head, String requestId, Reply reply, boolean complete) {
    boolean keep = mayKeep(head, complete);
    write(render(head, requestId, reply, keep));
    finished(keep);
  }

  /** Whether another request may follow on this connection. */
  boolean mayKeep(RequestHead head, boolean complete) {
    return complete && head.keepAlive() && !plane.gate().stopping();
  }

  /** An answer of the router's own, as bytes. */
  ByteBuf render(RequestHead head, String requestId, Reply reply, boolean keep) {
    String more = plane.cors().lines(head) + head.connectionLine(keep);
    return reply.render(channel.alloc(), requestId, more, !head.method().equals("HEAD"));
  }

  /** Queues bytes for the client; takes over their ownership. */
  void write(ByteBuf bytes) {
    channel.write(bytes, channel.voidPromise());
  }

  /** Sends what was queued, at the end of the event loop's round. */
  void flush() {
    flush.soon();
  }

  boolean writable() {
    return channel.isWritable();
  }

  Channel channel() {
    return channel;
  }

  /** Has the client send on, or wait, as far as the request under way goes. */
  void setReading(boolean reading) {
    wanted = reading;
    updateReading();
  }

  /** Reads if what comes is wanted and stands behind nothing that waits for its turn. */
  void updateReading() {
    boolean reading = lingering || (wanted && !decoder.holdsAhead());
    if (channel.config().isAutoRead() != reading) {
      channel.config().setAutoRead(reading);
    }
  }

  /**
   * The answer is complete.
   *
   * @param keep whether the next request may follow; if not, the client is told that this was the
   *     end, and what it still sends is thrown away for a while, so that it can read its answer
   */
  void finished(boolean keep) {
    boolean complete = current != null && current.received();
    current = null;
    if (!closing) {
      since = state.now();
      setReading(true);
      goOn(keep && !plane.gate().draining(), complete);
    }
    // Last: it may find that the client has room again, and begin what comes next.
    flush();
  }

  private void goOn(boolean keep, boolean complete) {
    if (keep) {
      decoder.resume();
    } else if (complete) {
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
      channel.write(channel.alloc().buffer(0)).addListener(_ -> shutOutput(duplex));
      flush();
    } else {
      channel.close();
    }
  }

  /** A round of the loop may last: only from here on is a client silent that nothing came from. */
  private void shutOutput(DuplexChannel duplex) {
    outputShut = true;
    discardedAt = state.now();
    duplex.shutdownOutput();
  }

  /** Whether a request that was received completely is being answered. */
  boolean answering() {
    return current != null && current.received();
  }

  /** Whether nothing that the client sends matters any more. */
  boolean ending() {
    return lingering || closing;
  }

  /** Breaks the connection so that the client cannot take what it got for a whole answer. */
  void breakOff(boolean reset) {
    current = null;
    if (reset) {
      channel.config().setOption(ChannelOption.SO_LINGER, 0);
    }
    closeAfterWrites();
  }

  /** Ends the connection at once: the client does not read, so writes would never end. */
  void reset() {
    current = null;
    closing = true;
    channel.config().setOption(ChannelOption.SO_LINGER, 0);
    channel.close();
  }

  /** A defect costs the one client its connection, and nobody else a timeout. */
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
      long most = plane.gate().draining() ? LINGER_SILENT_NANOS : LINGER_NANOS;
      boolean silent = outputShut && now - discardedAt > LINGER_SILENT_NANOS;
      if (silent || now - since > most) {
        channel.close();
      }
      return;
    }
    TimeoutSettings timeouts = plane.timeouts();
    if (closing) {
      // Nobody has a use for it any more, also where idle clients are kept for ever.
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
    Reply reply = Reply.of(ProxyError.REQUEST_TIMEOUT, ProxyError.REQUEST_TIMEOUT.message());
    write(
        reply.render(channel.alloc(), plane.requestIds().make(""), "connection: close\r\n", true));
    finished(false);
  }

  /** Closes unless a request comes or is under way, behind what the client has not read yet. */
  @Override
  public void drain() {
    if (current == null && !headComing && !ending()) {
      closeAfterWrites();
    }
  }

  /** Ends what is under way. */
  @Override
  public void cut() {
    if (current != null) {
      current.cut();
    }
    closeAfterWrites();
  }
}
