package io.pointsman.proxy.upstream;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.handler.ssl.SslHandler;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.flush.Flushes;
import io.pointsman.proxy.wire.RouterId;
import java.time.Duration;
import java.util.Arrays;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** The connections of one event loop to all workers. Belongs to its event loop. */
public final class UpstreamPools {
  private final EventLoop loop;
  private final Flushes flushes;
  private UpstreamSettings settings;
  private final NameTable names;
  private final EngineTls tls;
  private final BiConsumer<Bootstrap, Duration> userTimeout;
  private final RouterId router;
  private final Runnable onKept;
  private final Bootstrap bootstrap;
  private final EarlyBytes earlyBytes = new EarlyBytes();
  private long idleNanos;
  private @Nullable UpstreamPool[] bySlot = new UpstreamPool[16];

  /**
   * @param sockets bootstrap with the transport's socket class and a handler for new sockets
   * @param userTimeout sets {@link UpstreamSettings#tcpUserTimeout} for later connections
   * @param router the router that sends the requests
   * @param onKept called when a connection is kept; the caller then schedules {@link #sweep}
   */
  public UpstreamPools(
      EventLoop loop,
      Flushes flushes,
      Bootstrap sockets,
      BiConsumer<Bootstrap, Duration> userTimeout,
      UpstreamSettings settings,
      NameTable names,
      EngineTls tls,
      RouterId router,
      Runnable onKept) {
    this.router = router;
    this.loop = loop;
    this.flushes = flushes;
    this.settings = settings;
    this.names = names;
    this.tls = tls;
    this.onKept = onKept;
    idleNanos = settings.poolIdleTimeout().toNanos();
    this.userTimeout = userTimeout;
    bootstrap = bootstrap(loop, sockets, settings);
    userTimeout.accept(bootstrap, settings.tcpUserTimeout());
  }

  private static Bootstrap bootstrap(EventLoop loop, Bootstrap sockets, UpstreamSettings settings) {
    return sockets
        .group(loop)
        .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, connectMillis(settings))
        .option(ChannelOption.TCP_NODELAY, true)
        .option(ChannelOption.SO_KEEPALIVE, true)
        .option(ChannelOption.AUTO_READ, false)
        .option(ChannelOption.ALLOCATOR, ByteBufAllocator.DEFAULT)
        .option(
            ChannelOption.WRITE_BUFFER_WATER_MARK, new WriteBufferWaterMark(64 << 10, 256 << 10));
  }

  private static int connectMillis(UpstreamSettings settings) {
    return (int) Math.max(1, settings.connectTimeout().toMillis());
  }

  /**
   * Uses other settings, those of {@link UpstreamSettings#withLive}. Requests that are sent later
   * have the new keys, also on kept connections. Requests that were sent are not affected.
   */
  public void use(UpstreamSettings next) {
    boolean sameKeys = next.keys().equals(settings.keys());
    settings = next;
    idleNanos = next.poolIdleTimeout().toNanos();
    bootstrap.option(ChannelOption.CONNECT_TIMEOUT_MILLIS, connectMillis(next));
    userTimeout.accept(bootstrap, next.tcpUserTimeout());
    for (UpstreamPool pool : bySlot) {
      if (pool != null && !sameKeys) {
        pool.use(next.keys());
      }
    }
  }

  /** The connections to {@code worker}. */
  public UpstreamPool to(Worker worker) {
    int slot = worker.slot();
    if (slot >= bySlot.length) {
      bySlot = Arrays.copyOf(bySlot, Math.max(slot + 1, bySlot.length * 2));
    }
    UpstreamPool pool = bySlot[slot];
    if (pool == null || pool.worker() != worker) {
      if (pool != null) {
        pool.close();
      }
      pool =
          new UpstreamPool(this, worker, WorkerTarget.of(worker.spec(), settings.keys(), router));
      bySlot[slot] = pool;
    }
    return pool;
  }

  EventLoop loop() {
    return loop;
  }

  Flushes flushes() {
    return flushes;
  }

  RouterId router() {
    return router;
  }

  NameTable names() {
    return names;
  }

  EarlyBytes earlyBytes() {
    return earlyBytes;
  }

  Bootstrap bootstrap() {
    return bootstrap;
  }

  long idleNanos() {
    return idleNanos;
  }

  int maxIdlePerWorker() {
    return settings.maxIdlePerWorker();
  }

  void kept() {
    onKept.run();
  }

  SslHandler newTlsHandler(Worker worker, String host, int port) {
    SslHandler handler = tls.handler(worker.spec(), host, port, ByteBufAllocator.DEFAULT);
    handler.setHandshakeTimeoutMillis(Math.max(1, settings.connectTimeout().toMillis()));
    return handler;
  }

  /** Closes connections that were idle for too long. Returns true if some remain. */
  public boolean sweep(long now) {
    boolean left = false;
    for (UpstreamPool pool : bySlot) {
      left |= pool != null && pool.sweep(now);
    }
    return left;
  }

  /** Closes all idle connections. Connections in use are closed when they are released. */
  public void close() {
    for (UpstreamPool pool : bySlot) {
      if (pool != null) {
        pool.close();
      }
    }
  }
}
