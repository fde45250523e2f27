package io.pointsman.proxy.http2;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.handler.codec.http2.DefaultHttp2GoAwayFrame;
import io.netty.handler.codec.http2.DefaultHttp2WindowUpdateFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameCodec;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.util.ReferenceCountUtil;
import io.pointsman.proxy.exchange.ClientConnection;
import io.pointsman.proxy.loop.LoopClient;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.loop.Outdated;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.reply.Reply;
import io.pointsman.proxy.settings.LimitSettings;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A client's connection with HTTP/2. Each of its streams is a {@link ClientConnection} behind an
 * {@link Http1Bridge}. It limits streams, cancelled streams, headers and control frames, closes
 * itself when it is idle, and announces its end. Belongs to its event loop.
 */
@SuppressWarnings("FutureReturnValueIgnored") // a failed write closes the connection
public final class Http2Client extends ChannelInboundHandlerAdapter implements LoopClient {
  private static final Logger LOG = LoggerFactory.getLogger(Http2Client.class);

  /** Bytes of a request that its client may send before the router has read them. */
  private static final int STREAM_WINDOW = 128 << 10;

  private static final int RESET_SECONDS = 30;

  /** Maximum number of small frames that continue one head. */
  private static final int MOST_CONTINUATIONS = 16;

  /** Maximum number of answers to control frames that wait because the client does not read. */
  private static final int MOST_QUEUED = 1000;

  /** Maximum number of settings, pings and other frames of the connection in a period. */
  private static final int MOST_CONTROL_FRAMES = 10_000;

  private static final long CONTROL_PERIOD_NANOS = 10_000_000_000L;

  /** Maximum time for a client to read the last frames. */
  private static final long CLOSING_NANOS = 30_000_000_000L;

  /**
   * Sweeps between the announcement of the end and the end, at least one of them whole. Requests
   * that were under way at the announcement arrive within them.
   */
  private static final int SWEEPS_BEFORE_CLOSING = 2;

  private static final WriteBufferWaterMark STREAM_WATER_MARK =
      new WriteBufferWaterMark(32 << 10, 128 << 10);

  private final LoopState state;
  private final Channel channel;
  private final Http2FrameCodec codec;
  private final int maxStreams;
  private final BooleanSupplier outdated;
  private final Set<Channel> streams = new HashSet<>();
  private int index = -1;

  /** Start of the present state: no stream, or closing. */
  private long since;

  private boolean closing;

  /** True after an error of the connection. Its streams do not hold up the end. */
  private boolean failed;

  private boolean announced;

  /** Sweeps to the end of the connection; negative unless it is about to close. */
  private int sweepsLeft = -1;

  private long periodStart;
  private int controlFrames;

  private Http2Client(LoopState state, Channel channel, Http2FrontSettings settings) {
    this.state = state;
    this.channel = channel;
    outdated = Outdated.of(channel);
    maxStreams = settings.maxStreams();
    codec = codec(settings, state.server().live().limits());
    // The codec itself applies the limit when the client confirms the settings.
    codec.connection().remote().maxActiveStreams(maxStreams);
  }

  private static Http2FrameCodec codec(Http2FrontSettings settings, LimitSettings limits) {
    // The size counts 32 bytes more for each header than HTTP/1.1.
    long heads = 2L * limits.maxHeaderBytes() + limits.maxUriBytes();
    return Http2FrameCodecBuilder.forServer()
        .initialSettings(
            new Http2Settings()
                .maxConcurrentStreams(settings.maxStreams())
                .initialWindowSize(STREAM_WINDOW)
                .maxHeaderListSize(heads))
        .gracefulShutdownTimeoutMillis(-1)
        .encoderEnforceMaxQueuedControlFrames(MOST_QUEUED)
        .decoderEnforceMaxSmallContinuationFrames(MOST_CONTINUATIONS)
        .decoderEnforceMaxRstFramesPerWindow(settings.maxResets(), RESET_SECONDS)
        .encoderEnforceMaxRstFramesPerWindow(settings.maxResets(), RESET_SECONDS)
        .build();
  }

  /** Makes {@code channel} a client's connection with HTTP/2. Its next bytes are the preface. */
  public static void accept(LoopState state, Channel channel, Http2FrontSettings settings) {
    Http2Client client = new Http2Client(state, channel, settings);
    channel.pipeline().addLast(client.codec, new Http2MultiplexHandler(client.opening()), client);
  }

  /**
   * Makes {@code channel} a client's connection with HTTP/2, after an upgrade. The request of the
   * upgrade is the first stream.
   */
  static void upgrade(
      LoopState state,
      Channel channel,
      Http2FrontSettings settings,
      Http2Settings ofClient,
      Http2Headers request)
      throws Http2Exception {
    Http2Client client = new Http2Client(state, channel, settings);
    channel.pipeline().addLast(client.codec, new Http2MultiplexHandler(client.opening()), client);
    client.codec.onHttpServerUpgrade(ofClient);
    client
        .codec
        .decoder()
        .frameListener()
        .onHeadersRead(channel.pipeline().context(client.codec), 1, request, 0, true);
  }

  private ChannelInitializer<Channel> opening() {
    return new ChannelInitializer<>() {
      @Override
      protected void initChannel(Channel stream) {
        opened(stream);
      }
    };
  }

  private void opened(Channel stream) {
    streams.add(stream);
    stream.closeFuture().addListener(_ -> closed(stream));
    stream.config().setWriteBufferWaterMark(STREAM_WATER_MARK);
    stream.pipeline().addLast(new Http1Bridge(this));
    ClientConnection.accept(state, stream);
  }

  private void closed(Channel stream) {
    streams.remove(stream);
    if (streams.isEmpty()) {
      since = state.now();
    }
  }

  @Override
  public void handlerAdded(ChannelHandlerContext ctx) {
    state.server().gate().opened();
    since = state.now();
    periodStart = since;
    index = state.add(this);
    // A client can then fill the windows of all streams: none waits for another.
    long window = Math.min((long) maxStreams * STREAM_WINDOW, Integer.MAX_VALUE) - 65_535;
    ctx.write(new DefaultHttp2WindowUpdateFrame((int) window));
    ctx.flush();
    if (state.server().gate().draining()) {
      state.drain();
    }
    if (outdated()) {
      // The preface arrived in parts, the last one after the other outdated connections had ended.
      state.retire();
    }
  }

  @Override
  public void movedTo(int newIndex) {
    index = newIndex;
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    leave();
    ctx.fireChannelInactive();
  }

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
    // The codec does not close streams while their reads pause.
    List.copyOf(streams).forEach(Channel::close);
    state.server().gate().closed();
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    ReferenceCountUtil.release(msg);
    long now = state.now();
    if (now - periodStart > CONTROL_PERIOD_NANOS) {
      periodStart = now;
      controlFrames = 0;
    }
    if (++controlFrames == MOST_CONTROL_FRAMES) {
      LOG.debug("{} sends too many control frames and is closed", channel);
      ctx.write(new DefaultHttp2GoAwayFrame(Http2Error.ENHANCE_YOUR_CALM));
      ctx.flush();
      closeNow();
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    state.flushes().readEnds();
  }

  /** After an error of the connection the codec names it to the client, and then closes. */
  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    if (!(cause instanceof Http2Exception)) {
      closeNow();
    } else if (!failed) {
      failed = true;
      closing = true;
      since = state.now();
      channel.pipeline().addFirst(new LastWords());
    }
  }

  /** Closes the connection without waiting for streams. */
  private void closeNow() {
    closing = true;
    ChannelHandlerContext before = channel.pipeline().context(codec);
    if (before == null) {
      channel.close();
    } else {
      before.close();
    }
  }

  /** Announces the end of the connection, which comes after two sweeps (RFC 9113, 6.8). */
  private void closeGracefully() {
    if (!closing && sweepsLeft < 0) {
      sweepsLeft = SWEEPS_BEFORE_CLOSING;
      announce();
    }
  }

  /** Names the last stream that is served, and closes after it. */
  private void refuseFurtherStreams() {
    if (!closing) {
      closing = true;
      since = state.now();
      // The codec itself names the stream only if nothing was announced before.
      channel.pipeline().writeAndFlush(new DefaultHttp2GoAwayFrame(Http2Error.NO_ERROR));
      channel.close();
    }
  }

  /** Reports an answer's head. While the router stops, the client should open no more streams. */
  void answers() {
    if (state.server().gate().stopping()) {
      announce();
    }
  }

  private void announce() {
    if (!announced && !closing) {
      announced = true;
      DefaultHttp2GoAwayFrame notice = new DefaultHttp2GoAwayFrame(Http2Error.NO_ERROR);
      channel.pipeline().writeAndFlush(notice.setExtraStreamIds(Integer.MAX_VALUE));
    }
  }

  /** The answer to an extended CONNECT (RFC 8441), which asks for a WebSocket. */
  ByteBuf extendedConnect() {
    Reply reply =
        Reply.of(
            ProxyError.METHOD_NOT_ALLOWED,
            "extended CONNECT: not supported (expected: HTTP/1.1 for WebSockets)");
    return reply
        .with("allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
        .render(channel.alloc(), state.server().live().requestIds().make(""), "", true);
  }

  /** A defect closes only this connection. */
  @Override
  public void checkTimeouts(long now) {
    try {
      check(now);
    } catch (RuntimeException | Error e) {
      LOG.error("cannot check the timeouts of {}", channel, e);
      closeNow();
    }
  }

  private void check(long now) {
    if (sweepsLeft > 0 && --sweepsLeft == 0) {
      refuseFurtherStreams();
    }
    if (!streams.isEmpty() && !failed) {
      if (!closing) {
        since = now;
      }
      return;
    }
    long idle = state.server().live().timeouts().clientIdle().toNanos();
    if (closing) {
      if (now - since > (idle == 0 ? CLOSING_NANOS : Math.min(idle, CLOSING_NANOS))) {
        closeNow();
      }
    } else if (idle > 0 && now - since > idle) {
      closeGracefully();
    }
  }

  @Override
  public boolean admin() {
    return false;
  }

  @Override
  public boolean outdated() {
    return outdated.getAsBoolean();
  }

  @Override
  public long idleNanos(long now) {
    return streams.isEmpty() && !closing && sweepsLeft < 0 ? now - since : BUSY;
  }

  @Override
  public void drain() {
    closeGracefully();
  }

  @Override
  public void cut() {
    refuseFurtherStreams();
  }
}
