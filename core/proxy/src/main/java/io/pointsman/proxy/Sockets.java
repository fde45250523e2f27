package io.pointsman.proxy;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.uring.IoUring;
import io.netty.channel.uring.IoUringChannelOption;
import io.netty.channel.uring.IoUringIoHandler;
import io.netty.channel.uring.IoUringIoHandlerConfig;
import io.netty.channel.uring.IoUringServerSocketChannel;
import io.netty.channel.uring.IoUringSocketChannel;
import io.pointsman.proxy.upstream.NioUpstreamChannel;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The Netty classes of one transport.
 *
 * @param transport never {@link Transport#AUTO}
 * @param waiting factory of the handlers that wait for socket events
 * @param listening class of the listening channel
 * @param connected class of channels to workers
 */
record Sockets(
    Transport transport,
    IoHandlerFactory waiting,
    Class<? extends ServerChannel> listening,
    Class<? extends Channel> connected) {
  /**
   * Size of the submission queue: operations per call to the kernel within a turn of the loop. More
   * operations need more calls.
   */
  private static final int RING_SIZE = 1024;

  /** Maximum of Linux for the times of keepalive probes. */
  private static final int MOST_KEEPALIVE_SECONDS = 32_767;

  /**
   * Netty's switches for operations that stay in the ring after a completion. This class sets each
   * to false unless it is already set.
   */
  private static final List<String> LASTING =
      List.of(
          // Such a poll reports each arrival once. It reports a reset directly after the last bytes
          // together with these bytes. Netty then reads only the bytes and never learns of the
          // reset. A new poll reports it.
          "io.netty.iouring.pollAddMultishotEnabled",
          // Such an accept ends if no descriptor is free. Netty then posts it again in a loop,
          // although reading is paused.
          "io.netty.iouring.acceptMultiShotEnabled");

  static {
    // Netty reads them once, when it first checks for io_uring.
    for (String property : LASTING) {
      if (System.getProperty(property) == null) {
        System.setProperty(property, "false");
      }
    }
  }

  /**
   * The sockets of a transport.
   *
   * @throws IllegalArgumentException if the system does not support it
   */
  static Sockets of(Transport transport) {
    return switch (transport) {
      case AUTO -> of(best());
      case IO_URING -> {
        require(transport, IoUring.isAvailable() ? null : IoUring.unavailabilityCause());
        if (leavesPosted()) {
          throw new IllegalArgumentException(
              "transport: IO_URING (expected: EPOLL or NIO unless false: " + LASTING + ")");
        }
        yield new Sockets(
            transport,
            IoUringIoHandler.newFactory(new IoUringIoHandlerConfig().setRingSize(RING_SIZE)),
            IoUringServerSocketChannel.class,
            IoUringSocketChannel.class);
      }
      case EPOLL -> {
        require(transport, Epoll.isAvailable() ? null : Epoll.unavailabilityCause());
        yield new Sockets(
            transport,
            LastingRegistrations.newFactory(),
            EpollServerSocketChannel.class,
            EpollSocketChannel.class);
      }
      case NIO ->
          new Sockets(
              transport,
              NioIoHandler.newFactory(),
              NioServerSocketChannel.class,
              NioUpstreamChannel.class);
    };
  }

  /**
   * Limits the time for which a peer may acknowledge nothing. The system then ends the connection.
   * Without traffic it asks the peer after half of this time. NIO cannot set the limit.
   *
   * @param timeout zero for the system's own limits
   */
  void userTimeout(Bootstrap bootstrap, Duration timeout) {
    // An option without a value is removed.
    boolean none = timeout.isZero();
    Integer millis = none ? null : Math.clamp(timeout.toMillis(), 1, Integer.MAX_VALUE);
    Integer idle = none ? null : Math.clamp(timeout.toSeconds() / 2, 1, MOST_KEEPALIVE_SECONDS);
    Integer interval = none ? null : Math.clamp(timeout.toSeconds() / 6, 1, MOST_KEEPALIVE_SECONDS);
    switch (transport) {
      case EPOLL ->
          bootstrap
              .option(EpollChannelOption.TCP_USER_TIMEOUT, millis)
              .option(EpollChannelOption.TCP_KEEPIDLE, idle)
              .option(EpollChannelOption.TCP_KEEPINTVL, interval);
      case IO_URING ->
          bootstrap
              .option(IoUringChannelOption.TCP_USER_TIMEOUT, millis)
              .option(IoUringChannelOption.TCP_KEEPIDLE, idle)
              .option(IoUringChannelOption.TCP_KEEPINTVL, interval);
      case NIO, AUTO -> {}
    }
  }

  /** Adds the first handler of a connection, if the transport needs one. */
  void prepare(Channel channel) {
    if (transport == Transport.IO_URING) {
      channel.pipeline().addLast(new NoReadAfterClose());
    }
  }

  private static Transport best() {
    // On older kernels io_uring is not cheaper than epoll, or has known defects. Kernel 6.12
    // introduced the tested feature.
    if (IoUring.isAvailable() && IoUring.isRegisterBufferRingIncSupported() && !leavesPosted()) {
      return Transport.IO_URING;
    }
    return withoutRings();
  }

  /** The best transport without io_uring. */
  static Transport withoutRings() {
    return Epoll.isAvailable() ? Transport.EPOLL : Transport.NIO;
  }

  private static boolean leavesPosted() {
    return IoUring.isPollAddMultishotEnabled() || IoUring.isAcceptMultishotEnabled();
  }

  private static void require(Transport transport, @Nullable Throwable missing) {
    if (missing != null) {
      throw new IllegalArgumentException(
          "transport: " + transport + " (expected: one that this system offers: " + missing + ")");
    }
  }
}
