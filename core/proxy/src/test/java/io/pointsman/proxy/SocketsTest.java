package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.ChannelOption;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollChannelOption;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.uring.IoUring;
import io.netty.channel.uring.IoUringChannelOption;
import io.netty.channel.uring.IoUringServerSocketChannel;
import io.netty.channel.uring.IoUringSocketChannel;
import io.pointsman.proxy.upstream.NioUpstreamChannel;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The sockets of each transport on the system of the tests. */
class SocketsTest {
  /** Runs before the first use of io_uring, which reads the properties set here. */
  @BeforeAll
  static void settle() {
    Sockets.of(Transport.NIO);
  }

  @Test
  void nioIsAlwaysAvailable() {
    assertThat(Sockets.of(Transport.NIO).connected()).isEqualTo(NioUpstreamChannel.class);
  }

  @Test
  void autoSelectsTheBestTransportOfTheSystem() {
    Class<?> best =
        IoUring.isRegisterBufferRingIncSupported()
            ? IoUringSocketChannel.class
            : Epoll.isAvailable() ? EpollSocketChannel.class : NioUpstreamChannel.class;

    Sockets sockets = Sockets.of(Transport.AUTO);

    assertThat(sockets.connected()).isEqualTo(best);
    assertThat(sockets.transport()).isNotEqualTo(Transport.AUTO);
  }

  private static Map<ChannelOption<?>, Object> options(Transport transport, Duration timeout) {
    Bootstrap bootstrap = new Bootstrap();
    new Sockets(transport, _ -> null, IoUringServerSocketChannel.class, IoUringSocketChannel.class)
        .userTimeout(bootstrap, timeout);
    return bootstrap.config().options();
  }

  @Test
  void silenceOfTheNetworkIsLimitedWhereTheSystemCan() {
    Duration half = Duration.ofSeconds(30);
    assertThat(options(Transport.EPOLL, half))
        .containsEntry(EpollChannelOption.TCP_USER_TIMEOUT, 30_000)
        .containsEntry(EpollChannelOption.TCP_KEEPIDLE, 15)
        .containsEntry(EpollChannelOption.TCP_KEEPINTVL, 5);
    assertThat(options(Transport.IO_URING, half))
        .containsEntry(IoUringChannelOption.TCP_USER_TIMEOUT, 30_000)
        .containsEntry(IoUringChannelOption.TCP_KEEPIDLE, 15)
        .containsEntry(IoUringChannelOption.TCP_KEEPINTVL, 5);
    assertThat(options(Transport.NIO, half)).isEmpty();
    assertThat(options(Transport.EPOLL, Duration.ZERO)).isEmpty();
  }

  @Test
  void aLimitCanChangeAndEnd() {
    Bootstrap bootstrap = new Bootstrap();
    Sockets sockets =
        new Sockets(
            Transport.EPOLL,
            _ -> null,
            IoUringServerSocketChannel.class,
            IoUringSocketChannel.class);
    sockets.userTimeout(bootstrap, Duration.ofSeconds(30));
    sockets.userTimeout(bootstrap, Duration.ofSeconds(60));
    assertThat(bootstrap.config().options())
        .containsEntry(EpollChannelOption.TCP_USER_TIMEOUT, 60_000);
    sockets.userTimeout(bootstrap, Duration.ZERO);
    assertThat(bootstrap.config().options()).isEmpty();
  }

  @Test
  void withoutAvailableRingsAnotherTransportIsUsed() {
    Sockets broken =
        new Sockets(
            Transport.IO_URING,
            _ -> {
              throw new IllegalStateException("no ring");
            },
            IoUringServerSocketChannel.class,
            IoUringSocketChannel.class);

    EventLoops waiting = EventLoops.byRingsIfPossible(broken, 1, UnaryOperator.identity());

    assertThat(waiting.sockets().transport()).isEqualTo(Sockets.withoutRings());
    waiting.loops().shutdownGracefully(0, 0, TimeUnit.SECONDS).awaitUninterruptibly();
  }

  @Test
  void noMultishotAcceptIsPosted() {
    assertThat(IoUring.isAcceptMultishotEnabled()).isFalse();
  }

  @Test
  void aNamedTransportIsUsedOrRefusedWithTheReason() {
    if (IoUring.isAvailable()) {
      assertThat(Sockets.of(Transport.IO_URING).connected()).isEqualTo(IoUringSocketChannel.class);
    } else {
      assertThatThrownBy(() -> Sockets.of(Transport.IO_URING))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("transport: IO_URING");
    }
  }
}
