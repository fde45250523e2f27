package io.pointsman.proxy.upstream;

import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ConnectTimeoutException;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.concurrent.Future;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A connection that is being opened: name lookup, socket, TLS handshake. If an address refuses, the
 * next one of the name is tried. Belongs to its event loop.
 */
@SuppressWarnings("FutureReturnValueIgnored") // the result of closing does not matter
public final class Connecting implements NameTable.Asker {
  /** Consumes the exception of a failed handshake; its future reports it too. */
  private static final ChannelHandler QUIET = new Quiet();

  @ChannelHandler.Sharable
  private static final class Quiet extends ChannelInboundHandlerAdapter {
    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
      ctx.close();
    }
  }

  private final UpstreamPool pool;
  private @Nullable UpstreamUser user;
  private final @Nullable InetAddress preferred;
  private List<InetAddress> addresses = List.of();

  /** Index of the address that is being tried. */
  private int tried;

  private @Nullable Channel channel;
  private boolean over;

  /**
   * @param preferred address to try first; null for the next one in turn
   */
  Connecting(UpstreamPool pool, UpstreamUser user, @Nullable InetAddress preferred) {
    this.pool = pool;
    this.user = user;
    this.preferred = preferred;
  }

  /** Cancels the connection. The user gets no further calls. */
  public void cancel() {
    user = null;
    over = true;
    if (channel != null) {
      channel.close();
    }
  }

  @Override
  public void resolved(List<InetAddress> found) {
    if (over) {
      return;
    }
    addresses = found;
    if (preferred != null && found.contains(preferred)) {
      addresses = new ArrayList<>(found);
      addresses.remove(preferred);
      addresses.addFirst(preferred);
    }
    connect();
  }

  private void connect() {
    InetSocketAddress to = new InetSocketAddress(addresses.get(tried), pool.target().port());
    ChannelFuture connect = pool.bootstrap().connect(to);
    channel = connect.channel();
    if (connect.isDone()) {
      // The socket could not be created; its listeners would run on another thread.
      connected(connect);
    } else {
      connect.addListener(this::connected);
    }
  }

  @Override
  public void unresolved(UnknownHostException cause) {
    fail(cause);
  }

  private void connected(Future<? super Void> connect) {
    Channel connected = channel;
    if (over || connected == null) {
      return;
    }
    if (!connect.isSuccess()) {
      refused(connect.cause());
      return;
    }
    if (!pool.target().tls()) {
      ready(connected);
      return;
    }
    SslHandler tls;
    try {
      tls = pool.newTlsHandler();
    } catch (IllegalArgumentException | IllegalStateException e) {
      connected.close();
      fail(e);
      return;
    }
    connected.pipeline().addLast(tls, QUIET);
    tls.handshakeFuture().addListener(this::shookHands);
  }

  /** Tries the next address. A timeout and a shortage of the router end the attempt. */
  private void refused(Throwable cause) {
    boolean own = Shortage.of(cause) == Shortage.DESCRIPTORS;
    if (addresses.size() > 1 && !own) {
      pool.avoid(addresses.get(tried));
    }
    if (own || cause instanceof ConnectTimeoutException || tried + 1 == addresses.size()) {
      fail(cause);
    } else {
      tried++;
      connect();
    }
  }

  private void shookHands(Future<? super Channel> handshake) {
    Channel connected = channel;
    if (over || connected == null) {
      return;
    }
    if (handshake.isSuccess()) {
      connected.pipeline().remove(QUIET);
      ready(connected);
    } else {
      connected.close();
      fail(handshake.cause());
    }
  }

  private void ready(Channel connected) {
    UpstreamUser waiting = user;
    over = true;
    user = null;
    if (waiting != null) {
      UpstreamConnection connection =
          new UpstreamConnection(pool, connected, waiting, addresses.get(tried));
      connected.pipeline().addLast(connection);
      connected.config().setAutoClose(pool.target().tls());
      connected.config().setAutoRead(true);
      try {
        waiting.connected(connection);
      } catch (RuntimeException | Error e) {
        waiting.defective(e);
      }
    }
  }

  private void fail(Throwable cause) {
    UpstreamUser waiting = user;
    over = true;
    user = null;
    if (waiting != null) {
      try {
        waiting.connectFailed(cause);
      } catch (RuntimeException | Error e) {
        waiting.defective(e);
      }
    }
  }
}
