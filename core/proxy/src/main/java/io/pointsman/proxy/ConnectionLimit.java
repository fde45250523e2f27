package io.pointsman.proxy;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.pointsman.proxy.wire.ClientAddress;
import io.pointsman.proxy.wire.ForwardedSettings;
import java.net.SocketAddress;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Limit on the number of connections, of all clients and of one. A connection beyond the limit of
 * one client is closed. At the limit of all it stops accepting; further clients wait in the listen
 * backlog until one disconnects. Idle clients therefore cannot use up the descriptors for
 * connections to workers. One per listener, in the listener's pipeline. A listener at another
 * address may follow it and shares the counts.
 */
@Sharable
@SuppressWarnings("FutureReturnValueIgnored") // a listener handles the close; nobody waits for it
final class ConnectionLimit extends ChannelInboundHandlerAdapter {
  private static final Logger LOG = LoggerFactory.getLogger(ConnectionLimit.class);

  /** Names of the two limits, for the log. */
  record Names(String all, String one) {}

  private final Names names;
  private volatile int most;
  private volatile int mostOfOne;
  private volatile ForwardedSettings forwarded;
  private final AtomicInteger open = new AtomicInteger();

  /** The open listeners that may accept clients. One that is only prepared is not among them. */
  private final Set<Channel> listeners = ConcurrentHashMap.newKeySet();

  /** Number of connections by client. */
  private final ConcurrentMap<String, Integer> ofClients = new ConcurrentHashMap<>();

  /**
   * True if the warning was logged. It is logged again after the count has fallen to half. Two
   * listeners on two loops use it while one follows the other; both may log then.
   */
  private volatile boolean logged;

  /** True if the warning about one client was logged, as {@link #logged}. */
  private volatile boolean loggedOfOne;

  /**
   * @param most maximum number of connections; 0 for no limit
   * @param mostOfOne maximum number of connections of one client; 0 for half of {@code most}
   * @param forwarded proxies of many clients, without a limit of their own
   */
  ConnectionLimit(Names names, int most, int mostOfOne, ForwardedSettings forwarded) {
    this.names = names;
    set(most, mostOfOne);
    this.forwarded = forwarded;
  }

  /** True if all places are taken. Any thread. */
  boolean full() {
    return open.get() >= most;
  }

  private void set(int nextMost, int nextOfOne) {
    int bound = nextMost == 0 ? Integer.MAX_VALUE : nextMost;
    most = bound;
    mostOfOne = nextOfOne == 0 ? Math.max(1, bound / 2) : nextOfOne;
  }

  /**
   * Replaces the limits, with the meaning of the constructor's. Open connections stay; below a
   * higher limit the listener accepts again. Any thread.
   */
  void limit(int nextMost, int nextOfOne) {
    set(nextMost, nextOfOne);
    listeners.forEach(this::accept);
  }

  /** Accepts clients of a listener from here on, below the limit. Any thread. */
  void accept(Channel listener) {
    listener.eventLoop().execute(() -> resume(listener));
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    listeners.remove(context.channel());
    context.fireChannelInactive();
  }

  /** Replaces the proxies of many clients, for later connections. Any thread. */
  void trust(ForwardedSettings next) {
    forwarded = next;
  }

  /** Number of connected clients. Any thread. */
  int open() {
    return open.get();
  }

  /** Number of connections of one client. Any thread. */
  int openOf(String group) {
    return ofClients.getOrDefault(group, 0);
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object accepted) {
    Channel listener = context.channel();
    Channel client = (Channel) accepted;
    SocketAddress remote = client.remoteAddress();
    String group = forwarded.trusts(remote) ? "" : ClientAddress.group(remote);
    if (!group.isEmpty() && ofClients.merge(group, 1, Integer::sum) > mostOfOne) {
      leave(group);
      refuse(client, remote);
      return;
    }
    int connected = open.incrementAndGet();
    if (connected <= most / 2) {
      logged = false;
    }
    if (connected <= mostOfOne / 2) {
      loggedOfOne = false;
    }
    // The system may already have accepted a few more. Reading stops after these.
    if (connected >= most) {
      listener.config().setAutoRead(false);
      logOnce();
    }
    client
        .closeFuture()
        .addListener(
            _ -> {
              leave(group);
              left();
            });
    context.fireChannelRead(accepted);
  }

  private void leave(String group) {
    if (!group.isEmpty()) {
      ofClients.computeIfPresent(group, (_, count) -> count == 1 ? null : count - 1);
    }
  }

  private void refuse(Channel client, @Nullable SocketAddress remote) {
    client.unsafe().closeForcibly();
    if (!loggedOfOne) {
      loggedOfOne = true;
      LOG.warn(
          "{} has {} connections, the limit of {}; further ones are closed. Logged again after the"
              + " number of all connections has fallen",
          remote,
          mostOfOne,
          names.one);
    }
  }

  private void logOnce() {
    if (!logged) {
      logged = true;
      LOG.warn("{} client connections, the limit of {}; further clients wait", most, names.all);
    }
  }

  /** Runs on the loop of the client that disconnected. */
  private void left() {
    int connected = open.decrementAndGet();
    if (connected == most - 1) {
      for (Channel listener : listeners) {
        // Runs after a pending stop; otherwise the stop would take effect last.
        accept(listener);
      }
    }
  }

  /**
   * Resumes only below the limit, because other clients may have connected in between. Runs on the
   * loop of the listener, which also removes a closed one.
   */
  private void resume(Channel listener) {
    if (!listener.isOpen()) {
      return;
    }
    listeners.add(listener);
    if (open.get() < most) {
      listener.config().setAutoRead(true);
    }
  }
}
