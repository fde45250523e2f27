package io.pointsman.proxy.loop;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import io.pointsman.proxy.body.KeptBody;
import io.pointsman.proxy.flush.Flushes;
import io.pointsman.proxy.handler.RequestHandlers;
import io.pointsman.proxy.retry.RetryBudget;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.proxy.upstream.UpstreamPools;
import io.pointsman.proxy.upstream.UpstreamSettings;
import io.pointsman.proxy.wire.ResponseHead;
import io.pointsman.request.RequestReader;
import io.pointsman.request.splice.BodyEditor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * State that all exchanges of one event loop share: connections to workers, scratch memory, the
 * retry budget, and the timeout sweep. Belongs to its event loop, except {@link #running}.
 *
 * <p>Timeouts cost nothing per request. A waiting object records its start. One sweep per loop
 * checks all of them about ten times within the shortest timeout.
 */
public final class LoopState {
  private static final long MOST_SWEEP_NANOS = 1_000_000_000L;
  private static final long LEAST_SWEEP_NANOS = 5_000_000L;
  private static final int SWEEPS_PER_TIMEOUT = 10;

  /** One sweep closes at most this part of the connections. */
  private static final int EVICTED_PART = 8;

  /** Delay after which the loop has read each of its sockets again. */
  private static final long BEFORE_CLOSING_NANOS = 20_000_000L;

  private volatile ServerContext server;
  private final EventLoop loop;
  private final Flushes flushes;
  private final UpstreamPools pools;
  private RequestReader reader;
  private RetryBudget budget;
  private final int maxHeadBytes;
  private final RequestHandlers handlers;
  private final ResponseHead head = new ResponseHead();
  private final List<LoopClient> clients = new ArrayList<>();
  private UpstreamSettings upstream;
  private final int loops;
  private Executor afterAWhile;
  private final Scratch scratch = new Scratch();
  private final Scratch contents = new Scratch();
  private final BodyEditor editor = new BodyEditor();
  private final KnownPaths knownPaths = new KnownPaths();
  private boolean sweeping;
  private volatile int running;

  /**
   * @param pools factory of the loop's connections to workers; it gets the callback to call when a
   *     connection is kept
   * @param handlers factory of this loop's request handlers
   * @param loops number of loops
   */
  public LoopState(
      ServerContext server,
      EventLoop loop,
      Flushes flushes,
      Function<Runnable, UpstreamPools> pools,
      RequestReader reader,
      RequestHandlerFactory handlers,
      UpstreamSettings upstream,
      int loops) {
    this.server = server;
    this.loop = loop;
    this.upstream = upstream;
    this.loops = loops;
    this.flushes = flushes;
    this.reader = reader;
    this.pools = pools.apply(this::sweepLater);
    budget = new RetryBudget(server.live().retry(), loops, server.ticker().nanos());
    maxHeadBytes = upstream.maxHeadBytes();
    RequestHandlers made = handlers.create(this);
    this.handlers = made;
    afterAWhile = afterAWhile(server, made);
  }

  private Executor afterAWhile(ServerContext server, RequestHandlers made) {
    long sweepNanos = sweepNanos(server, upstream, made.traits().firstByte());
    return CompletableFuture.delayedExecutor(sweepNanos, TimeUnit.NANOSECONDS, loop);
  }

  /**
   * Replaces the settings of the connections to workers, for connections and requests of workers
   * that begin later. Call it on the event loop.
   */
  public void use(UpstreamSettings next) {
    upstream = next;
    pools.use(next);
    afterAWhile = afterAWhile(server, handlers);
  }

  /**
   * Replaces the context and the reader for requests that begin later. Requests in progress keep
   * theirs. Call it on the event loop.
   */
  public void use(ServerContext next, RequestReader nextReader) {
    if (!next.live().retry().equals(server.live().retry())) {
      budget = new RetryBudget(next.live().retry(), loops, next.ticker().nanos());
    }
    server = next;
    reader = nextReader;
    knownPaths.clear();
    afterAWhile = afterAWhile(next, handlers);
  }

  private static long sweepNanos(
      ServerContext server, UpstreamSettings upstream, Duration ofHandlers) {
    TimeoutSettings t = server.live().timeouts();
    List<Duration> all =
        List.of(
            t.firstByte(),
            ofHandlers,
            t.idle(),
            t.total(),
            t.streamTotal(),
            t.clientHead(),
            t.clientBody(),
            t.clientIdle(),
            server.live().sseKeepalive(),
            upstream.poolIdleTimeout());
    long shortest = Long.MAX_VALUE;
    for (Duration timeout : all) {
      shortest = timeout.isZero() ? shortest : Math.min(shortest, timeout.toNanos());
    }
    return Math.clamp(shortest / SWEEPS_PER_TIMEOUT, LEAST_SWEEP_NANOS, MOST_SWEEP_NANOS);
  }

  /** The request handlers. */
  public RequestHandlers handlers() {
    return handlers;
  }

  /** The state that all loops share. */
  public ServerContext server() {
    return server;
  }

  public EventLoop loop() {
    return loop;
  }

  /** The batched flushes of this loop. */
  public Flushes flushes() {
    return flushes;
  }

  /** The loop's connections to workers. */
  public UpstreamPools pools() {
    return pools;
  }

  /** The reader of this loop's requests. */
  public RequestReader reader() {
    return reader;
  }

  public RetryBudget budget() {
    return budget;
  }

  /** The parsed head of the answer that is being read. The next answer overwrites it. */
  public ResponseHead head() {
    return head;
  }

  /** Maximum size in bytes of an answer's head. */
  public int maxHeadBytes() {
    return maxHeadBytes;
  }

  public ByteBufAllocator allocator() {
    return ByteBufAllocator.DEFAULT;
  }

  /** The time in nanoseconds, by the clock of all timeouts. */
  public long now() {
    return server.ticker().nanos();
  }

  /** Scratch memory of at least {@code length} bytes, valid until the next call. */
  public byte[] scratch(int length) {
    return scratch.atLeast(length);
  }

  /**
   * Scratch memory of at least {@code length} bytes for the contents of an answer, valid until the
   * next call. The head of the answer may still be in {@link #scratch(int)}.
   */
  public byte[] contents(int length) {
    return contents.atLeast(length);
  }

  /** Scratch memory that starts with a copy of {@code body}, valid until the next call. */
  public byte[] scratch(KeptBody body) {
    byte[] bytes = scratch(body.length());
    body.copyTo(bytes);
    return bytes;
  }

  /** The editor of bodies of this loop. */
  public BodyEditor editor() {
    return editor;
  }

  /** Paths that need no further check in the present context. */
  public KnownPaths knownPaths() {
    return knownPaths;
  }

  /** Number of requests to workers in progress on this loop. Any thread. */
  public int running() {
    return running;
  }

  /** Changes the number of requests in progress by {@code change}. */
  public void count(int change) {
    int counted = running + change;
    running = counted;
  }

  /** Adds a connection to the sweep. Returns its index. */
  public int add(LoopClient client) {
    clients.add(client);
    sweepLater();
    return clients.size() - 1;
  }

  /** Removes the connection at this index. */
  public void remove(int index) {
    LoopClient last = clients.removeLast();
    if (index < clients.size()) {
      clients.set(index, last);
      last.movedTo(index);
    }
  }

  /**
   * Does not use a timer of the loop. With a timer, io_uring gets a timeout for each wait of the
   * loop, thousands of times per second.
   */
  private void sweepLater() {
    if (!sweeping) {
      sweeping = true;
      afterAWhile.execute(this::sweep);
    }
  }

  private void sweep() {
    sweeping = false;
    long now = now();
    for (int i = clients.size() - 1; i >= 0; i--) {
      if (i < clients.size()) {
        clients.get(i).checkTimeouts(now);
      }
    }
    if (server.gate().needsRoom(now)) {
      evictIdle(now, false);
    }
    if (server.gate().adminNeedsRoom()) {
      evictIdle(now, true);
    }
    boolean unused = pools.sweep(now);
    if (unused || !clients.isEmpty()) {
      sweepLater();
    }
  }

  /**
   * Closes some idle connections, the longest idle first, because places or descriptors are short.
   *
   * @param admin true for those of the admin listener, false for those of clients
   */
  private void evictIdle(long now, boolean admin) {
    long least = server.live().limits().clients().evictIdle().toNanos();
    List<LoopClient> idle = new ArrayList<>();
    for (LoopClient client : clients) {
      if (least > 0 && client.admin() == admin && client.idleNanos(now) >= least) {
        idle.add(client);
      }
    }
    idle.sort((a, b) -> Long.compare(b.idleNanos(now), a.idleNanos(now)));
    int most = Math.max(1, clients.size() / EVICTED_PART);
    for (LoopClient client : idle.subList(0, Math.min(most, idle.size()))) {
      client.drain();
    }
  }

  /**
   * Closes connections between two requests after a short delay; other connections close after
   * their request. The delay lets the loop read pending bytes first, because they may be a request.
   */
  @SuppressWarnings("FutureReturnValueIgnored") // closing does not fail
  public void drain() {
    loop.schedule(this::closeUnused, BEFORE_CLOSING_NANOS, TimeUnit.NANOSECONDS);
  }

  private void closeUnused() {
    for (LoopClient client : List.copyOf(clients)) {
      client.drain();
    }
  }

  /**
   * Closes outdated connections between two requests, after the delay of {@link #drain}. The others
   * of them close after their requests.
   */
  @SuppressWarnings("FutureReturnValueIgnored") // closing does not fail
  public void retire() {
    loop.schedule(this::closeOutdated, BEFORE_CLOSING_NANOS, TimeUnit.NANOSECONDS);
  }

  private void closeOutdated() {
    for (LoopClient client : List.copyOf(clients)) {
      if (client.outdated()) {
        client.drain();
      }
    }
  }

  /** Ends all work in progress. */
  public void cut() {
    for (LoopClient client : List.copyOf(clients)) {
      client.cut();
    }
    pools.close();
    handlers.close();
  }
}
