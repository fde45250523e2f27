package io.pointsman.proxy;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelOption;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.unix.Socket;
import io.netty.channel.unix.UnixChannel;
import io.pointsman.engine.env.BindProblem;
import java.io.IOException;
import java.net.InetSocketAddress;

/**
 * A listening port of a server, with the limit on its connections and their first handlers. The
 * address may change; the limit and the handlers stay.
 */
@SuppressWarnings("FutureReturnValueIgnored") // the end of a close is awaited
final class ServerPort {
  /**
   * Unsent bytes for one client. Above the high mark the router stops reading from the worker;
   * below the low mark it resumes.
   */
  private static final WriteBufferWaterMark CLIENT_WATER_MARK =
      new WriteBufferWaterMark(32 << 10, 128 << 10);

  private final String group;
  private final ServerBootstrap sockets;
  private final ConnectionLimit connections;
  private volatile Channel channel;

  /** The backlog of the listening socket. */
  private volatile int backlog;

  /**
   * Binds the port and accepts connections.
   *
   * @param group group of the keys of its address, for messages
   * @param sockets event loops, and kind and backlog of the listening sockets
   * @param accepted handler of each accepted connection
   * @throws IOException if the port cannot be bound
   */
  ServerPort(
      String group,
      InetSocketAddress address,
      ServerBootstrap sockets,
      ConnectionLimit connections,
      ChannelHandler accepted)
      throws IOException {
    this.group = group;
    this.sockets = sockets;
    backlog =
        sockets.config().options().get(ChannelOption.SO_BACKLOG) instanceof Integer most ? most : 0;
    this.connections = connections;
    sockets
        .option(ChannelOption.SO_REUSEADDR, true)
        .option(ChannelOption.AUTO_READ, false)
        .handler(connections)
        .childOption(ChannelOption.TCP_NODELAY, true)
        .childOption(ChannelOption.SO_KEEPALIVE, true)
        .childOption(ChannelOption.WRITE_BUFFER_WATER_MARK, CLIENT_WATER_MARK)
        .childHandler(accepted);
    channel = bind(group, sockets, address);
    connections.accept(channel);
  }

  private static Channel bind(String group, ServerBootstrap sockets, InetSocketAddress address)
      throws IOException {
    ChannelFuture bound = sockets.bind(address).awaitUninterruptibly();
    if (!bound.isSuccess()) {
      throw new IOException(
          BindProblem.of(
              group + ": " + address.getHostString() + ":" + address.getPort(), bound.cause()),
          bound.cause());
    }
    return bound.channel();
  }

  /**
   * Binds another address, beside the present one.
   *
   * @throws IOException if the port cannot be bound
   */
  OpenedPort open(InetSocketAddress address) throws IOException {
    return new OpenedPort(this, bind(group, sockets, address));
  }

  /** Replaces the listening socket. The old one closes; its connections go on. */
  void use(Channel next) {
    Channel before = channel;
    channel = next;
    listen(next, backlog);
    connections.accept(next);
    before.close().awaitUninterruptibly();
  }

  /** True if the backlog of an open socket can change. NIO has no way to do that. */
  boolean changesBacklog() {
    return channel instanceof UnixChannel unix && unix.fd() instanceof Socket;
  }

  /**
   * Changes the backlog of the listening socket, and of one that replaces it.
   *
   * @throws IllegalStateException if the system refuses it
   */
  void backlog(int most) {
    if (most != backlog) {
      sockets.option(ChannelOption.SO_BACKLOG, most);
      backlog = most;
      listen(channel, most);
    }
  }

  /** Linux accepts a call of listen(2) on a listening socket, and changes only its backlog. */
  private static void listen(Channel listening, int most) {
    if (listening instanceof UnixChannel unix && unix.fd() instanceof Socket socket) {
      try {
        socket.listen(most);
      } catch (IOException e) {
        throw new IllegalStateException("listen.backlog: " + most + ": " + e.getMessage(), e);
      }
    }
  }

  /** Accepts no further connections. Does not wait. */
  ChannelFuture close() {
    return channel.close();
  }

  /** The bound port. */
  int number() {
    return number(channel);
  }

  static int number(Channel listening) {
    return ((InetSocketAddress) listening.localAddress()).getPort();
  }
}
