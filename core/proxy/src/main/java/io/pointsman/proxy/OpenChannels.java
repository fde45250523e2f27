package io.pointsman.proxy;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;

/**
 * The open channels of a group of event loops. It stops the loops after their channels have closed.
 * With io_uring a channel closes only when the kernel has completed its operations. The completion
 * is a task for the loop, and a stopped loop refuses tasks. Thread-safe.
 */
final class OpenChannels {
  /** Time for channels that close on their own after their last bytes are written. */
  private static final long MOST_WRITING_MILLIS = 100;

  private static final long MOST_CLOSING_MILLIS = 2_000;
  private static final long MOST_STOPPING_MILLIS = 5_000;

  private final EventLoopGroup loops;
  private final ChannelGroup open = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE, true);

  OpenChannels(EventLoopGroup loops) {
    this.loops = loops;
  }

  /** Adds a channel of one of the loops. Closes it if the channels are closing. */
  void add(Channel channel) {
    open.add(channel);
  }

  /**
   * Waits for channels that are closing, then closes the others. Stops the loops when all have
   * closed, or after two seconds. Blocks; do not call it on one of the loops.
   */
  void closeAndStopLoops() {
    open.newCloseFuture().awaitUninterruptibly(MOST_WRITING_MILLIS, MILLISECONDS);
    open.close().awaitUninterruptibly(MOST_CLOSING_MILLIS, MILLISECONDS);
    loops.shutdownGracefully(0, MOST_STOPPING_MILLIS, MILLISECONDS).awaitUninterruptibly();
  }
}
