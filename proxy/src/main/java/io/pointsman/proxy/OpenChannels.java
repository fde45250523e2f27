package io.pointsman.proxy;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;

/**
 * The open channels of event loops, which are stopped behind them. With io_uring a channel closes
 * only when the kernel has ended what it was asked to do for it, and then has a task for its loop,
 * which a loop that has stopped meanwhile refuses. Safe for use by several threads.
 */
final class OpenChannels {
  /** How long channels may take that close by themselves once their last bytes are written. */
  private static final long MOST_WRITING_MILLIS = 100;

  private static final long MOST_CLOSING_MILLIS = 2_000;
  private static final long MOST_STOPPING_MILLIS = 5_000;

  private final EventLoopGroup loops;
  private final ChannelGroup open = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE, true);

  OpenChannels(EventLoopGroup loops) {
    this.loops = loops;
  }

  /** Adds a channel that is registered with one of the loops; closes it if they are stopping. */
  void add(Channel channel) {
    open.add(channel);
  }

  /**
   * Waits for channels that are closing, closes the others, and stops the loops when all have
   * closed, or after two seconds. Not to be called on one of them.
   */
  void closeAndStopLoops() {
    open.newCloseFuture().awaitUninterruptibly(MOST_WRITING_MILLIS, MILLISECONDS);
    open.close().awaitUninterruptibly(MOST_CLOSING_MILLIS, MILLISECONDS);
    loops.shutdownGracefully(0, MOST_STOPPING_MILLIS, MILLISECONDS).awaitUninterruptibly();
  }
}
