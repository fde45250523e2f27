package io.pointsman.tool.sim.http;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.ServerChannel;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A listening socket and its accepted connections, on one event loop. Methods block and must not
 * run on that loop, except where noted.
 */
public final class HttpListener {
  private final EventLoop loop;
  private final Class<? extends ServerChannel> channelType;
  private final SimConnectionOptions options;
  private final SimEndpoint endpoint;
  private final Supplier<String> engineId;
  private final ChannelGroup connections;
  private volatile @Nullable Channel server;

  /** The address for reopening; null after everything was closed. */
  private volatile @Nullable InetSocketAddress address;

  /** True while connections must end with their current request. */
  private volatile boolean refusing;

  /**
   * True while all connections are being closed; set on the loop, so responses already written
   * still count.
   */
  private volatile boolean dying;

  /**
   * Creates a listener that is not open.
   *
   * @param engineId value of the header {@code x-engine-id}
   */
  public HttpListener(
      EventLoop loop,
      Class<? extends ServerChannel> channelType,
      SimConnectionOptions options,
      SimEndpoint endpoint,
      Supplier<String> engineId) {
    this.loop = loop;
    this.channelType = channelType;
    this.options = options;
    this.endpoint = endpoint;
    this.engineId = engineId;
    this.connections = new DefaultChannelGroup(loop);
  }

  /**
   * Opens the socket.
   *
   * @param port 0: any free one
   * @return the bound address
   * @throws UncheckedIOException if the address is not available
   */
  public InetSocketAddress open(String host, int port) {
    refusing = false;
    dying = false;
    ChannelFuture binding = bootstrap().bind(host, port).awaitUninterruptibly();
    if (!binding.isSuccess()) {
      throw new UncheckedIOException(
          host
              + ":"
              + port
              + ": "
              + String.valueOf(binding.cause().getMessage()).replaceFirst("^.*\\): ", "")
              + " (expected: a free port of an address of this machine)",
          new IOException(binding.cause()));
    }
    Channel open = binding.channel();
    server = open;
    InetSocketAddress bound = (InetSocketAddress) open.localAddress();
    address = bound;
    return bound;
  }

  /**
   * Opens the socket again on its address, without waiting; no effect unless it was {@link
   * #closeListening closed}.
   */
  public void reopen() {
    InetSocketAddress again = address;
    if (refusing && again != null) {
      refusing = false;
      ChannelFuture binding = bootstrap().bind(again);
      server = binding.channel();
    }
  }

  boolean refusing() {
    return refusing;
  }

  boolean dying() {
    return dying;
  }

  /** Returns true if the socket is open. */
  public boolean isOpen() {
    Channel open = server;
    return open != null && open.isActive();
  }

  private ServerBootstrap bootstrap() {
    return new ServerBootstrap()
        .group(loop, loop)
        .channel(channelType)
        .option(ChannelOption.SO_BACKLOG, 4096)
        .option(ChannelOption.SO_REUSEADDR, true)
        .childOption(ChannelOption.TCP_NODELAY, true)
        .childHandler(new Initializer());
  }

  /**
   * Closes the socket and idle connections; requests in flight complete, then their connections
   * close. May run on the loop, where the socket is closed before this returns.
   *
   * @return completes when the socket is closed and connections that were idle at the call are
   *     closing
   */
  public Future<?> closeListening() {
    refusing = true;
    if (loop.inEventLoop()) {
      closeSocketAndIdle();
      return loop.newSucceededFuture(null);
    }
    return loop.submit(this::closeSocketAndIdle);
  }

  /** Runs on the loop, where a channel is closed before {@code close} returns. */
  private void closeSocketAndIdle() {
    Channel open = server;
    if (open != null) {
      open.close();
    }
    connections.forEach(HttpListener::closeIfIdle);
  }

  /** Completes when every connection that is open at the call has closed. */
  public Future<?> connectionsClosed() {
    return connections.newCloseFuture();
  }

  /** Closes the socket and every connection at once. */
  public void closeAll() {
    refusing = true;
    address = null;
    Channel open = server;
    server = null;
    if (open != null) {
      open.close().syncUninterruptibly();
    }
    loop.submit(() -> dying = true).syncUninterruptibly();
    connections.close().syncUninterruptibly();
  }

  private static void closeIfIdle(Channel channel) {
    HttpConnection connection = channel.pipeline().get(HttpConnection.class);
    if (connection != null && connection.idle()) {
      channel.close();
    }
  }

  private final class Initializer extends ChannelInitializer<Channel> {
    @Override
    protected void initChannel(Channel channel) {
      connections.add(channel);
      BreakFuse fuse = new BreakFuse();
      HttpDecoderConfig decoding =
          new HttpDecoderConfig().setMaxInitialLineLength(1 << 16).setMaxHeaderSize(1 << 18);
      channel
          .pipeline()
          .addLast(
              fuse,
              new HttpServerCodec(decoding),
              new HttpObjectAggregator(options.maxBodyBytes()),
              new HttpConnection(endpoint, options, engineId, HttpListener.this, fuse));
    }
  }
}
