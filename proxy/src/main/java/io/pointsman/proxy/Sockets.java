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
import java.util.List;
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
   * What Netty leaves posted in the ring for more than one completion, and must not. Each is set to
   * false unless it is set already.
   */
  private static final List<String> LASTING =
      List.of(
          // Such polls tell of a socket once each time that something comes: of a reset right
          // behind the last bytes together with these, after which Netty reads only the bytes, and
          // the connection would never be heard of again. A poll posted anew sees the reset.
          "io.netty.iouring.pollAddMultishotEnabled",
          // Such an accept ends when there is no descriptor, and Netty posts it anew at once, over
          // and over, though reading was paused.
          "io.netty.iouring.acceptMultiShotEnabled");

  static {
    // Read by Netty once, when it first looks for io_uring.
    for (String property : LASTING) {
      if (System.getProperty(property) == null) {
        System.setProperty(property, "false");
      }
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
    if (IoUring.isAvailable() && IoUring.isRegisterBufferRingIncSupported() && !leavesPosted()) {
      return Transport.IO_URING;
    }
    return withoutRings();
  }

  /** What is best where io_uring is not to be had. */
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
