package io.pointsman.proxy;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Counts the clients that are connected, and stops accepting while they are as many as may be: who
 * comes then waits in the system's queue until one has left. So idle clients do not take the
 * descriptors that connections to workers need. For the pipeline of one listener.
 */
@SuppressWarnings(
    "FutureReturnValueIgnored") // that a channel has closed is heard of, not waited for
final class ConnectionLimit extends ChannelInboundHandlerAdapter {
  private static final Logger LOG = LoggerFactory.getLogger(ConnectionLimit.class);

  private final int most;
  private final AtomicInteger open = new AtomicInteger();

  /** Only for the listener's loop: each flood is told of once. */
  private boolean told;

  /**
   * @param most 0 means as many as come
   */
  ConnectionLimit(int most) {
    this.most = most == 0 ? Integer.MAX_VALUE : most;
  }

  /** Clients that are connected; any thread. */
  int open() {
    return open.get();
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object accepted) {
    Channel listener = context.channel();
    int connected = open.incrementAndGet();
    told &= connected > most / 2;
    // A few more may come that the system has accepted by now: reading stops behind them.
    if (connected >= most) {
      listener.config().setAutoRead(false);
      tell();
    }
    ((Channel) accepted).closeFuture().addListener(_ -> left(listener));
    context.fireChannelRead(accepted);
  }

  private void tell() {
    if (!told) {
      told = true;
      LOG.warn(
          "{} client connections, the limit of limits.max-connections; further clients wait", most);
    }
  }

  /** On the loop of the client that has left. */
  private void left(Channel listener) {
    if (open.decrementAndGet() == most - 1 && listener.isOpen()) {
      // Behind the stop if that is under way, or it would be the last word.
      listener.eventLoop().execute(() -> resume(listener));
    }
  }

  /** Others may have come since, each of whom was counted before. */
  private void resume(Channel listener) {
    if (open.get() < most) {
      listener.config().setAutoRead(true);
    }
  }
}
