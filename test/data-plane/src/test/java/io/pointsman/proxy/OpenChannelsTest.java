package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Stop of event loops with open channels. */
@SuppressWarnings("FutureReturnValueIgnored") // closing does not fail
@Timeout(60)
class OpenChannelsTest {
  private final EventLoopGroup loops =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final OpenChannels channels = new OpenChannels(loops);

  @AfterEach
  void stop() {
    loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly();
  }

  @Test
  void loopsRunUntilTheLastChannelHasClosed() throws Exception {
    Closing closing = new Closing();
    Channel channel = open(closing);
    CompletableFuture<Boolean> stopping = new CompletableFuture<>();
    channel.closeFuture().addListener(_ -> stopping.complete(loops.isShuttingDown()));
    Thread stop = Thread.ofPlatform().start(channels::closeAndStopLoops);
    closing.begun.join();
    ProxyRig.await("it waits", () -> stop.getState() == Thread.State.TIMED_WAITING);

    closing.end();

    assertThat(stopping.join()).isFalse();
    stop.join();
    assertThat(loops.isTerminated()).isTrue();
  }

  @Test
  void theWaitForAChannelThatDoesNotCloseIsBounded() {
    open(new Closing());

    channels.closeAndStopLoops();

    assertThat(loops.isTerminated()).isTrue();
  }

  @Test
  void channelThatOpensTooLateIsClosed() {
    channels.closeAndStopLoops();
    EmbeddedChannel late = new EmbeddedChannel();

    channels.add(late);

    assertThat(late.isOpen()).isFalse();
  }

  private Channel open(Closing closing) {
    Channel channel =
        new Bootstrap()
            .group(loops)
            .channel(NioSocketChannel.class)
            .handler(closing)
            .register()
            .syncUninterruptibly()
            .channel();
    channels.add(channel);
    return channel;
  }

  /** Prevents a channel from closing. */
  private static final class Closing extends ChannelOutboundHandlerAdapter {
    final CompletableFuture<Runnable> begun = new CompletableFuture<>();

    @Override
    public void close(ChannelHandlerContext ctx, ChannelPromise promise) {
      begun.complete(() -> ctx.close(promise));
    }

    void end() {
      begun.join().run();
    }
  }
}
