package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The peer learns of a close at once, although it sends no more itself. */
@EveryTransport
@Timeout(60)
class ClosedConnectionsTest {
  private static final int CONNECTIONS = 50;

  @Parameter Transport transport = Transport.AUTO;

  /** Closes within the read of the first bytes. */
  @SuppressWarnings("FutureReturnValueIgnored") // the client sees the result
  private static final class CloseInRead extends ChannelInboundHandlerAdapter {
    private final int answer;

    CloseInRead(int answer) {
      this.answer = answer;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      ReferenceCountUtil.release(msg);
      if (answer > 0) {
        ctx.writeAndFlush(ctx.alloc().buffer(answer).writeZero(answer));
      }
      ctx.close();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 7, 100_000_000})
  void aCloseWithinAReadEndsTheConnection(int answer) throws Exception {
    Sockets sockets = Sockets.of(transport);
    MultiThreadIoEventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, sockets.waiting());
    try {
      Channel listener = listen(sockets, loops, answer);
      InetSocketAddress address = (InetSocketAddress) listener.localAddress();
      for (int i = 0; i < CONNECTIONS; i++) {
        try (Socket client = new Socket(address.getAddress(), address.getPort())) {
          client.getOutputStream().write(1);
          assertThat(received(client)).isLessThanOrEqualTo(answer);
        }
      }
    } finally {
      loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).sync();
    }
  }

  private static Channel listen(Sockets sockets, MultiThreadIoEventLoopGroup loops, int answer)
      throws InterruptedException {
    return new ServerBootstrap()
        .group(loops)
        .channel(sockets.listening())
        .childHandler(
            new ChannelInitializer<>() {
              @Override
              protected void initChannel(Channel channel) {
                sockets.prepare(channel);
                channel.pipeline().addLast(new CloseInRead(answer));
              }
            })
        .bind(InetAddress.getLoopbackAddress(), 0)
        .sync()
        .channel();
  }

  /** The number of bytes up to the end of the connection. */
  private static long received(Socket client) throws IOException {
    byte[] buffer = new byte[65_536];
    long total = 0;
    try {
      for (int n = client.getInputStream().read(buffer);
          n >= 0;
          n = client.getInputStream().read(buffer)) {
        total += n;
      }
    } catch (SocketException _) {
      // A reset is an end too.
    }
    return total;
  }
}
