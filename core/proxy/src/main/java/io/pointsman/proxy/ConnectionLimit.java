package io.pointsman.proxy;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Limit on the number of connected clients. At the limit it stops accepting; further clients wait
 * in the listen backlog until one disconnects. Idle clients therefore cannot use up the descriptors
 * for connections to workers. One per listener, in the listener's pipeline.
 */
@SuppressWarnings("FutureReturnValueIgnored") // a listener handles the close; nobody waits for it
final class ConnectionLimit extends ChannelInboundHandlerAdapter {
  private static final Logger LOG = LoggerFactory.getLogger(ConnectionLimit.class);

  private final int most;
  private final AtomicInteger open = new AtomicInteger();

  /**
   * True if the warning was logged. It is logged again after the count has fallen to half. Only the
   * listener's loop uses it.
   */
  private boolean told;

  /**
   * @param most maximum number of clients; 0 for no limit
   */
  ConnectionLimit(int most) {
    this.most = most == 0 ? Integer.MAX_VALUE : most;
  }

  /** Number of connected clients. Any thread. */
  int open() {
    return open.get();
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object accepted) {
    Channel listener = context.channel();
    int connected = open.incrementAndGet();
    told &= connected > most / 2;
    // The system may already have accepted a few more. Reading stops after these.
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

  /** Runs on the loop of the client that disconnected. */
  private void left(Channel listener) {
    if (open.decrementAndGet() == most - 1 && listener.isOpen()) {
      // Runs after a pending stop; otherwise the stop would take effect last.
      listener.eventLoop().execute(() -> resume(listener));
    }
  }

  /** Resumes only below the limit, because other clients may have connected in between. */
  private void resume(Channel listener) {
    if (open.get() < most) {
      listener.config().setAutoRead(true);
    }
  }
}
