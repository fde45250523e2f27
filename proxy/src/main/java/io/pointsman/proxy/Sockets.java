package io.pointsman.proxy;

import io.netty.channel.Channel;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.channel.uring.IoUring;
import io.netty.channel.uring.IoUringIoHandler;
import io.netty.channel.uring.IoUringIoHandlerConfig;
import io.netty.channel.uring.IoUringServerSocketChannel;
import io.netty.channel.uring.IoUringSocketChannel;
import org.jspecify.annotations.Nullable;

/**
 * How the event loops wait for sockets, and the sockets that go with it.
 *
 * @param transport never {@link Transport#AUTO}
 */
record Sockets(
    Transport transport,
    IoHandlerFactory waiting,
    Class<? extends ServerChannel> listening,
    Class<? extends Channel> connected) {
  /**
   * Operations that are collected before the kernel is told of them in the middle of a turn of the
   * loop; a turn with more of them takes more calls.
   */
  private static final int RING_SIZE = 1024;

  /**
   * Netty's polls that stay posted. They tell of a socket once each time that something comes: of a
   * reset right behind the last bytes together with these, after which Netty reads only the bytes,
   * and the connection would never be heard of again. A poll that is posted anew sees the reset.
   */
  private static final String LASTING_POLLS = "io.netty.iouring.pollAddMultishotEnabled";

  static {
    // Read by Netty once, when it first looks for io_uring.
    if (System.getProperty(LASTING_POLLS) == null) {
      System.setProperty(LASTING_POLLS, "false");
    }
  }

  /**
   * The sockets of a transport.
   *
   * @throws IllegalArgumentException if the system does not offer it
   */
  static Sockets of(Transport transport) {
    return switch (transport) {
      case AUTO -> of(best());
      case IO_URING -> {
        require(transport, IoUring.isAvailable() ? null : IoUring.unavailabilityCause());
        if (IoUring.isPollAddMultishotEnabled()) {
          throw new IllegalArgumentException(
              "transport: IO_URING (expected: EPOLL or NIO while -D" + LASTING_POLLS + "=true)");
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
            EpollIoHandler.newFactory(),
            EpollServerSocketChannel.class,
            EpollSocketChannel.class);
      }
      case NIO ->
          new Sockets(
              transport,
              NioIoHandler.newFactory(),
              NioServerSocketChannel.class,
              NioSocketChannel.class);
    };
  }

  private static Transport best() {
    // Older kernels have io_uring without what makes it cheaper than epoll, or with known defects.
    // What is asked for came with 6.12.
    if (IoUring.isAvailable()
        && IoUring.isRegisterBufferRingIncSupported()
        && !IoUring.isPollAddMultishotEnabled()) {
      return Transport.IO_URING;
    }
    return Epoll.isAvailable() ? Transport.EPOLL : Transport.NIO;
  }

  private static void require(Transport transport, @Nullable Throwable missing) {
    if (missing != null) {
      throw new IllegalArgumentException(
          "transport: " + transport + " (expected: one that this system offers: " + missing + ")");
    }
  }
}
