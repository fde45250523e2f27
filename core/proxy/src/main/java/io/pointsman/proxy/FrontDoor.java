package io.pointsman.proxy;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import io.netty.util.ReferenceCountUtil;
import io.pointsman.engine.env.LogText;
import io.pointsman.proxy.exchange.ClientConnection;
import io.pointsman.proxy.exchange.ProtocolSwitch;
import io.pointsman.proxy.http2.Http2Client;
import io.pointsman.proxy.http2.Http2FrontSettings;
import io.pointsman.proxy.http2.Http2Upgrade;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.loop.Outdated;
import io.pointsman.proxy.telemetry.ConnectionTally;
import io.pointsman.proxy.tls.ListenerTls;
import io.pointsman.proxy.tls.ServerTls;
import io.pointsman.proxy.tls.ServerTlsSettings;
import io.pointsman.proxy.tls.TlsProvider;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The first handlers of a listener's connections: TLS, and the choice between HTTP/1.1 and HTTP/2.
 * TLS negotiates the protocol (ALPN). In clear text the first bytes show it. One per listener.
 */
final class FrontDoor {
  private static final Logger LOG = LoggerFactory.getLogger(FrontDoor.class);

  private static final long WARNING_NANOS = Duration.ofMinutes(1).toNanos();

  private final ListenerTls tls;
  private volatile Http2 http2;
  private final ConnectionTally tally = new ConnectionTally();
  private final boolean admin;

  /** Guarded by this, like the time of the last warning. */
  private boolean warned;

  private long warnedAt;

  /**
   * HTTP/2 of later connections.
   *
   * @param upgrade the upgrade from HTTP/1.1 in clear text; null if there is none
   */
  private record Http2(Http2FrontSettings settings, @Nullable ProtocolSwitch upgrade) {}

  private FrontDoor(ListenerTls tls, Http2FrontSettings http2, boolean admin) {
    this.tls = tls;
    this.admin = admin;
    this.http2 = with(http2);
    tls.announce();
  }

  private Http2 with(Http2FrontSettings settings) {
    return new Http2(
        settings,
        settings.upgrade() ? new Http2Upgrade(settings, () -> tally.began(true, false)) : null);
  }

  /** Uses other settings for later connections. Any thread. */
  void use(Http2FrontSettings next) {
    if (!next.equals(http2.settings)) {
      http2 = with(next);
    }
  }

  /**
   * The handlers of the clients' listener.
   *
   * @throws IllegalArgumentException if a file for TLS cannot be used
   */
  static FrontDoor of(ServerTlsSettings tls, Http2FrontSettings http2, TlsProvider provider) {
    return new FrontDoor(ListenerTls.open("tls", tls, http2.enabled(), provider), http2, false);
  }

  /**
   * The handlers of the admin listener, which serves HTTP/1.1 only.
   *
   * @throws IllegalArgumentException if a file for TLS cannot be used
   */
  static FrontDoor ofAdmin(ServerTlsSettings tls, TlsProvider provider) {
    return new FrontDoor(
        ListenerTls.open("admin-tls", tls, false, provider), Http2FrontSettings.OFF, true);
  }

  /** TLS of later connections. */
  ListenerTls tls() {
    return tls;
  }

  ConnectionTally tally() {
    return tally;
  }

  private synchronized boolean mayWarn(long now) {
    if (warned && now - warnedAt < WARNING_NANOS) {
      return false;
    }
    warned = true;
    warnedAt = now;
    return true;
  }

  /** Prepares an accepted connection. */
  void accept(LoopState state, Channel channel) {
    ListenerTls.OfConnection own = tls.connection(channel.alloc());
    SslHandler handler = own.handler();
    boolean secure = handler != null;
    Outdated.set(channel, own::outdated);
    if (handler != null) {
      channel.pipeline().addLast(new PlainHttpRefusal(), handler);
    }
    Http2 present = http2;
    if (!secure && !present.settings.enabled()) {
      tally.began(false, false);
      ClientConnection _ = accept(state, channel, null);
      return;
    }
    ProtocolChoice choice = new ProtocolChoice(state, present.settings, secure);
    channel.pipeline().addLast(choice);
    choice.usual = accept(state, channel, secure ? null : present.upgrade);
  }

  private ClientConnection accept(
      LoopState state, Channel channel, @Nullable ProtocolSwitch protocolSwitch) {
    return admin
        ? ClientConnection.acceptAdmin(state, channel)
        : ClientConnection.accept(state, channel, protocolSwitch);
  }

  /** Chooses the protocol of one connection, which is HTTP/1.1 unless something else shows. */
  private final class ProtocolChoice extends ChannelInboundHandlerAdapter {
    private final LoopState state;
    private final Http2FrontSettings settings;
    private final boolean secure;
    private @Nullable ClientConnection usual;

    /** The first bytes, a part of the preface of HTTP/2; null if there are none. */
    private @Nullable ByteBuf buffered;

    ProtocolChoice(LoopState state, Http2FrontSettings settings, boolean secure) {
      this.state = state;
      this.settings = settings;
      this.secure = secure;
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
      if (event instanceof SslHandshakeCompletionEvent completed) {
        handshakeEnded(ctx, completed);
      }
      ctx.fireUserEventTriggered(event);
    }

    private void handshakeEnded(ChannelHandlerContext ctx, SslHandshakeCompletionEvent completed) {
      if (!completed.isSuccess()) {
        tally.handshakeFailed();
        LOG.debug("{}: TLS handshake failed", ctx.channel(), completed.cause());
        if (admin && !(completed.cause() instanceof ClosedChannelException)) {
          warn(ctx.channel(), completed.cause());
        }
        return;
      }
      SslHandler handler = ctx.pipeline().get(SslHandler.class);
      if (handler != null) {
        ServerTls.refuseRenegotiation(handler.engine());
      }
      String protocol = handler == null ? null : handler.applicationProtocol();
      if (ApplicationProtocolNames.HTTP_2.equals(protocol)) {
        toHttp2(ctx, null);
      } else {
        toHttp1(ctx, null);
      }
    }

    /** Logs at most one failure per minute; callers without a certificate can cause any number. */
    private void warn(Channel channel, Throwable cause) {
      if (mayWarn(state.now())) {
        LOG.warn(
            "admin listener: TLS handshake of {} failed: {}",
            channel.remoteAddress(),
            LogText.of(cause));
      }
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      if (!(msg instanceof ByteBuf bytes)) {
        ctx.fireChannelRead(msg);
        return;
      }
      ByteBuf before = buffered;
      buffered = null;
      ByteBuf all = bytes;
      if (before != null) {
        all = ctx.alloc().buffer(before.readableBytes() + bytes.readableBytes());
        all.writeBytes(before).writeBytes(bytes);
        before.release();
        bytes.release();
      }
      choose(ctx, all);
    }

    private void choose(ChannelHandlerContext ctx, ByteBuf all) {
      ByteBuf preface = Http2CodecUtil.connectionPrefaceBuf();
      int length = Math.min(preface.readableBytes(), all.readableBytes());
      boolean fits = same(preface, all, length);
      boolean whole = length == preface.readableBytes();
      preface.release();
      if (!fits) {
        toHttp1(ctx, all);
      } else if (whole) {
        toHttp2(ctx, all);
      } else {
        buffered = all;
        if (usual != null) {
          usual.bytesCame();
        }
      }
    }

    private static boolean same(ByteBuf preface, ByteBuf bytes, int length) {
      for (int i = 0; i < length; i++) {
        if (preface.getByte(preface.readerIndex() + i) != bytes.getByte(bytes.readerIndex() + i)) {
          return false;
        }
      }
      return true;
    }

    private void toHttp1(ChannelHandlerContext ctx, @Nullable ByteBuf first) {
      tally.began(false, secure);
      ctx.pipeline().remove(this);
      if (first != null) {
        ctx.fireChannelRead(first);
      }
    }

    private void toHttp2(ChannelHandlerContext ctx, @Nullable ByteBuf first) {
      tally.began(true, secure);
      Http2Client.accept(state, ctx.channel(), settings);
      if (usual != null) {
        ctx.pipeline().remove(usual);
      }
      ctx.pipeline().remove(this);
      if (first != null) {
        ctx.fireChannelRead(first);
      }
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
      ReferenceCountUtil.release(buffered);
      buffered = null;
    }
  }
}
