package io.pointsman.proxy.upstream;

import io.netty.bootstrap.Bootstrap;
import io.netty.handler.ssl.SslHandler;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.flush.Flushes;
import io.pointsman.proxy.wire.RequestHeadWriter;
import java.net.InetAddress;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/**
 * The idle connections of one event loop to one worker, newest first, bounded in number and age. It
 * never chooses a worker. Belongs to its event loop.
 */
public final class UpstreamPool {
  private final UpstreamPools pools;
  private final Worker worker;
  private WorkerTarget target;
  private final Deque<UpstreamConnection> idle = new ArrayDeque<>();
  private boolean closed;

  /** Address that the next connection should use; null for any. Set by {@link #take}. */
  private @Nullable InetAddress next;

  UpstreamPool(UpstreamPools pools, Worker worker, WorkerTarget target) {
    this.pools = pools;
    this.worker = worker;
    this.target = target;
  }

  Worker worker() {
    return worker;
  }

  WorkerTarget target() {
    return target;
  }

  /** Uses the keys for requests that are sent later. */
  void use(EngineKeys keys) {
    target = WorkerTarget.of(worker.spec(), keys, pools.router());
  }

  Flushes flushes() {
    return pools.flushes();
  }

  EarlyBytes earlyBytes() {
    return pools.earlyBytes();
  }

  Bootstrap bootstrap() {
    return pools.bootstrap();
  }

  SslHandler newTlsHandler() {
    return pools.newTlsHandler(worker, target.host(), target.port());
  }

  /** Writer of the heads of requests to this worker. */
  public RequestHeadWriter heads() {
    return target.heads();
  }

  /**
   * Takes an idle connection for {@code user}; null if there is none. If the worker's name has
   * several addresses, requests use them in turn.
   */
  public @Nullable UpstreamConnection take(UpstreamUser user, long now) {
    next = pools.names().turn(target.host());
    return next == null ? takeAny(user, now) : takeTo(next, user, now);
  }

  private @Nullable UpstreamConnection takeTo(InetAddress address, UpstreamUser user, long now) {
    sweep(now);
    for (UpstreamConnection each : idle) {
      if (each.open() && each.address().equals(address)) {
        idle.remove(each);
        each.workFor(user);
        return each;
      }
    }
    return null;
  }

  private @Nullable UpstreamConnection takeAny(UpstreamUser user, long now) {
    UpstreamConnection newest;
    while ((newest = idle.pollFirst()) != null) {
      if (newest.open() && now - newest.idleSince() < pools.idleNanos()) {
        newest.workFor(user);
        return newest;
      }
      newest.abort();
    }
    return null;
  }

  /** Opens a connection for {@code user}. The user gets the result later, or during this call. */
  public void connect(UpstreamUser user, ConnectingSlot slot) {
    Connecting connecting = new Connecting(this, user, next);
    next = null;
    slot.connecting(connecting);
    pools.names().resolve(target.host(), pools.loop(), connecting);
  }

  /**
   * Receiver of the pending connection, which the user can cancel. It is called before the result
   * is reported.
   */
  @FunctionalInterface
  public interface ConnectingSlot {
    void connecting(Connecting connecting);
  }

  /** Records that an address could not be connected to. */
  void avoid(InetAddress address) {
    pools.names().failed(target.host(), address);
  }

  void keep(UpstreamConnection connection) {
    if (!closed
        && connection.open()
        && pools.idleNanos() > 0
        && idle.size() < pools.maxIdlePerWorker()) {
      idle.addFirst(connection);
      pools.kept();
    } else {
      connection.abort();
    }
  }

  void forget(UpstreamConnection connection) {
    idle.remove(connection);
  }

  /** Closes connections that were idle for too long. Returns true if some remain. */
  boolean sweep(long now) {
    UpstreamConnection oldest;
    while ((oldest = idle.peekLast()) != null
        && (!oldest.open() || now - oldest.idleSince() >= pools.idleNanos())) {
      idle.pollLast();
      oldest.abort();
    }
    return !idle.isEmpty();
  }

  /** Closes all idle connections. Connections that are released later are closed too. */
  void close() {
    closed = true;
    UpstreamConnection connection;
    while ((connection = idle.pollFirst()) != null) {
      connection.abort();
    }
  }
}
