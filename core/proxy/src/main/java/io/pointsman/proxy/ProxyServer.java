package io.pointsman.proxy;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.handler.ssl.SslProvider;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import io.pointsman.engine.deferral.Deferral;
import io.pointsman.proxy.admission.Admissions;
import io.pointsman.proxy.admission.DrainGate;
import io.pointsman.proxy.body.BodyBudget;
import io.pointsman.proxy.body.BodyDecoder;
import io.pointsman.proxy.flush.Flushes;
import io.pointsman.proxy.local.AdminPaths;
import io.pointsman.proxy.local.AllowedHosts;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.loop.ServerContext;
import io.pointsman.proxy.quota.ClientLimiter;
import io.pointsman.proxy.reply.RequestIds;
import io.pointsman.proxy.retry.Backoff;
import io.pointsman.proxy.retry.FaultRecords;
import io.pointsman.proxy.retry.PoisonMemory;
import io.pointsman.proxy.settings.Cors;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.proxy.stored.ResponseOwners;
import io.pointsman.proxy.stored.StoredSearches;
import io.pointsman.proxy.telemetry.ConnectionTally;
import io.pointsman.proxy.tls.ServerTlsSettings;
import io.pointsman.proxy.tls.TlsProvider;
import io.pointsman.proxy.upstream.EngineKeys;
import io.pointsman.proxy.upstream.NameTable;
import io.pointsman.proxy.upstream.UpstreamPools;
import io.pointsman.proxy.upstream.UpstreamSettings;
import io.pointsman.proxy.wire.ForwardedSettings;
import io.pointsman.request.AffinitySettings;
import io.pointsman.request.RequestReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The running data plane. It accepts connections before any worker is up. */
@SuppressWarnings("FutureReturnValueIgnored") // closing is not waited for, or cannot fail
public final class ProxyServer implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ProxyServer.class);

  /**
   * Unsent bytes for one client. Above the high mark the router stops reading from the worker;
   * below the low mark it resumes.
   */
  private static final WriteBufferWaterMark CLIENT_WATER_MARK =
      new WriteBufferWaterMark(32 << 10, 128 << 10);

  /**
   * Divisor of the limit on buffered bodies, for bodies on the heap. By default the heap has half
   * the size of direct memory.
   */
  private static final int HEAP_SHARE = 4;

  private static final int STORED_RESPONSES = 100_000;

  /**
   * Maximum number of connections to the admin listener; further ones wait. One address can have
   * half of them.
   */
  private static final int MOST_ADMIN_CONNECTIONS = 512;

  private static final ConnectionLimit.Names CLIENTS =
      new ConnectionLimit.Names("limits.max-connections", "limits.max-connections-per-address");

  private static final ConnectionLimit.Names ADMINS =
      new ConnectionLimit.Names("the admin listener", "one address at the admin listener");

  private final ProxyContext context;
  private volatile ProxySettings settings;
  private volatile ServerContext server;
  private final EventLoopGroup loops;
  private final OpenChannels channels;
  private final ConnectionLimit clients;
  private final Sockets sockets;
  private final Map<EventExecutor, LoopState> states = new HashMap<>();
  private final FrontDoor door;
  private volatile Channel listener;
  private volatile @Nullable Channel adminListener;

  /** Null before the admin listener is open. */
  private volatile @Nullable ConnectionLimit callersOfAdmin;

  /** Null before the admin listener is open. */
  private volatile @Nullable FrontDoor adminDoor;

  private ProxyServer(ProxySettings settings, ProxyContext context, LoopWaiting loopWaiting)
      throws IOException {
    this.settings = settings;
    this.context = context;
    server = server(settings, context);
    ListenSettings listen = settings.listen();
    if (listen.tlsProvider() == TlsProvider.OPENSSL) {
      SslProvider _ = listen.tlsProvider().chosen(); // refused here if it cannot be loaded
    }
    door = FrontDoor.of(listen.tls(), listen.http2(), listen.tlsProvider());
    int count = listen.loops();
    Waiting waiting = waiting(listen.transport(), count, handlers -> around(handlers, loopWaiting));
    Sockets sockets = waiting.sockets();
    loops = waiting.loops();
    channels = new OpenChannels(loops);
    clients =
        new ConnectionLimit(
            CLIENTS,
            listen.maxConnections(),
            settings.limits().clients().maxConnections(),
            settings.headers().forwarded());
    server.gate().fullIf(clients::full);
    NameTable names = context.names();
    for (EventExecutor loop : loops) {
      EventLoop own = (EventLoop) loop;
      Flushes flushes = new Flushes(own);
      states.put(
          loop,
          new LoopState(
              server,
              own,
              flushes,
              kept ->
                  new UpstreamPools(
                      own,
                      flushes,
                      connecting(sockets),
                      sockets::userTimeout,
                      settings.upstream(),
                      names,
                      context.tls(),
                      kept),
              new RequestReader(context.affinity(), context.engine().wanted()),
              context.handlers(),
              settings.upstream(),
              count));
    }
    this.sockets = sockets;
    try {
      listener = bind(listen.host(), listen.port(), clients, "listen", door).channel;
    } catch (IOException e) {
      channels.closeAndStopLoops();
      throw e;
    }
    clients.accept(listener);
    LOG.info("{} event loops, transport {}", count, sockets.transport());
  }

  /**
   * Binds the port and starts to serve.
   *
   * @throws IOException if the port cannot be bound
   * @throws IllegalArgumentException if the transport is unavailable, or a file for TLS unusable
   */
  public static ProxyServer start(ProxySettings settings, ProxyContext context) throws IOException {
    return start(settings, context, LoopWaiting.PLAIN);
  }

  /**
   * Binds the port and starts to serve.
   *
   * @param waiting changes how event loops with io_uring wait
   * @throws IOException if the port cannot be bound
   * @throws IllegalArgumentException if the transport is unavailable, or a file for TLS unusable
   */
  public static ProxyServer start(ProxySettings settings, ProxyContext context, LoopWaiting waiting)
      throws IOException {
    return new ProxyServer(settings, context, waiting);
  }

  /** The event loops and their kind of sockets. */
  record Waiting(Sockets sockets, EventLoopGroup loops) {}

  private static Waiting waiting(
      Transport transport, int count, UnaryOperator<IoHandlerFactory> ofRings) {
    Sockets sockets = Sockets.of(transport);
    return transport == Transport.AUTO && sockets.transport() == Transport.IO_URING
        ? waitingByRingsIfPossible(sockets, count, ofRings)
        : new Waiting(sockets, loops(sockets, count, ofRings));
  }

  /**
   * Uses another transport if io_uring cannot create a ring, for example because memory is short.
   */
  static Waiting waitingByRingsIfPossible(
      Sockets rings, int count, UnaryOperator<IoHandlerFactory> ofRings) {
    try {
      return new Waiting(rings, loops(rings, count, ofRings));
    } catch (RuntimeException e) {
      Sockets others = Sockets.of(Sockets.withoutRings());
      LOG.warn("transport {} is not available, using {}", rings.transport(), others.transport(), e);
      return new Waiting(others, loops(others, count, ofRings));
    }
  }

  private static EventLoopGroup loops(
      Sockets sockets, int count, UnaryOperator<IoHandlerFactory> ofRings) {
    IoHandlerFactory waiting =
        sockets.transport() == Transport.IO_URING
            ? ofRings.apply(sockets.waiting())
            : sockets.waiting();
    return new MultiThreadIoEventLoopGroup(
        count, new DefaultThreadFactory("pointsman-proxy"), waiting);
  }

  private IoHandlerFactory around(IoHandlerFactory sockets, LoopWaiting waiting) {
    return loop -> waiting.around(sockets.newHandler(loop), () -> running(loop));
  }

  /** Runs on the loop. A loop may run before all loops have a state; it then counts no requests. */
  private int running(Executor loop) {
    LoopState state = states.get(loop);
    return state == null ? 0 : state.running();
  }

  private static ServerContext server(ProxySettings settings, ProxyContext context) {
    LimitSettings limits = settings.limits();
    BodyBudget bodies = new BodyBudget(limits.maxBufferedTotal());
    return new ServerContext(
        context.engine(),
        context.routes(),
        context.admin(),
        context.callers(),
        !settings.listen().tls().clientCaFile().isEmpty(),
        hosts(settings.listen()),
        context.listener(),
        context.tracer(),
        context.prompts(),
        context.edits(),
        context.pins(),
        context.ticker(),
        limits,
        settings.timeouts(),
        settings.headers(),
        new Cors(settings.cors(), context.routes().and(context.admin().routes())),
        settings.retry(),
        new Backoff(settings.retry(), context.random()),
        new FaultRecords(settings.retry().poison(), context.ticker()),
        new Admissions(settings.admission(), context.ticker()),
        new ClientLimiter(context.ticker()),
        new Deferral(context.engine(), settings.deferral(), context.ticker()),
        new RequestIds(settings.headers().requestIdHeaders(), context.random()),
        new ResponseOwners(
            STORED_RESPONSES,
            new StoredSearches(settings.limits().clients().searchesPerSecond(), context.ticker())),
        new DrainGate(),
        bodies,
        new BodyBudget(limits.maxBufferedTotal() / HEAP_SHARE),
        new BodyDecoder(bodies, Runtime.getRuntime().availableProcessors()),
        settings.sseKeepalive());
  }

  private static AllowedHosts hosts(ListenSettings listen) {
    InetAddress address = new InetSocketAddress(listen.host(), 0).getAddress();
    boolean loopback = address != null && address.isLoopbackAddress();
    return AllowedHosts.of(listen.hostNames(), listen.host(), loopback);
  }

  /** Opens the listener for administrators and other proxies, in clear text. */
  public void listenForAdmin(String host, int port) throws IOException {
    listenForAdmin(host, port, ServerTlsSettings.OFF);
  }

  /**
   * Opens the listener for administrators and other proxies.
   *
   * @param port port to bind; 0: any free port
   * @param tls TLS of its connections
   * @throws IOException if the port cannot be bound
   * @throws IllegalArgumentException if a file for TLS cannot be used
   */
  public void listenForAdmin(String host, int port, ServerTlsSettings tls) throws IOException {
    ConnectionLimit callers =
        new ConnectionLimit(ADMINS, MOST_ADMIN_CONNECTIONS, 0, ForwardedSettings.DEFAULTS);
    server.gate().adminFullIf(callers::full);
    callersOfAdmin = callers;
    FrontDoor opened = FrontDoor.ofAdmin(tls, settings.listen().tlsProvider());
    try {
      Opened bound = bind(host, port, callers, "admin", opened);
      adminListener = bound.channel;
      callers.accept(bound.channel);
    } catch (IOException e) {
      opened.close();
      throw e;
    }
    adminDoor = opened;
  }

  /**
   * Replaces the keys for workers. Every request to a worker that is sent after this method returns
   * has the new ones, also a retry of an earlier client request. Blocks for a moment.
   */
  public synchronized void useKeys(EngineKeys keys) {
    UpstreamSettings next = settings.upstream().withKeys(keys);
    settings = settings.withUpstream(next);
    onEachLoop(state -> state.use(next));
  }

  /**
   * Replaces the settings that can change at run time, and reads the engine's wanted fields again.
   * Requests in progress keep the old settings, except the keys for workers; later ones have the
   * new ones when this method returns. Waiting requests stay in their queues. Blocks for a moment.
   *
   * @param affinity headers and fields that identify sessions
   * @param admin paths of administrators, with the check of their keys; the routes are the same
   * @param callers check of clients' keys
   * @throws IllegalArgumentException if another setting differs, see {@link
   *     ProxySettings#withLive}; nothing is changed
   */
  public synchronized void use(
      ProxySettings next, AffinitySettings affinity, AdminPaths admin, CallerCheck callers) {
    ProxySettings before = settings;
    if (!before.withLive(next).equals(next)) {
      throw new IllegalArgumentException("settings: changed (expected: those of withLive)");
    }
    ServerContext old = server;
    boolean sameQueues = next.admission().equals(before.admission());
    boolean sameDeferral = next.deferral().equals(before.deferral());
    boolean sameHeaders = next.headers().equals(before.headers());
    ServerContext made =
        old.with(
            new ServerContext.Live(
                admin,
                callers,
                hosts(next.listen()),
                next.limits(),
                next.timeouts(),
                next.headers(),
                new Cors(next.cors(), context.routes().and(context.admin().routes())),
                next.retry(),
                new Backoff(next.retry(), context.random()),
                sameQueues ? old.admissions() : new Admissions(next.admission(), context.ticker()),
                sameDeferral
                    ? old.deferral()
                    : new Deferral(context.engine(), next.deferral(), context.ticker()),
                sameHeaders
                    ? old.requestIds()
                    : new RequestIds(next.headers().requestIdHeaders(), context.random()),
                next.sseKeepalive()));
    made.bodies().limit(next.limits().maxBufferedTotal());
    made.localBodies().limit(next.limits().maxBufferedTotal() / HEAP_SHARE);
    made.owners().searches().limit(next.limits().clients().searchesPerSecond());
    clients.trust(next.headers().forwarded());
    settings = next;
    server = made;
    door.use(next.listen().http2());
    clients.limit(next.listen().maxConnections(), next.limits().clients().maxConnections());
    made.faults().bodies().use(next.retry().poison());
    context.names().patience(next.upstream().connectTimeout());
    context.names().ttl(next.upstream().nameTtl());
    onEachLoop(
        state -> {
          state.use(next.upstream());
          state.use(made, new RequestReader(affinity, context.engine().wanted()));
        });
  }

  /** A listener at another address. It accepts nothing before it is in use. */
  public final class Opened {
    private final Channel channel;

    private Opened(Channel channel) {
      this.channel = channel;
    }

    /** The bound port. */
    int port() {
      return ((InetSocketAddress) channel.localAddress()).getPort();
    }

    /** Replaces the listener for clients. The old one closes; its connections go on. */
    public void useForClients() {
      Channel before = listener;
      listener = channel;
      clients.accept(channel);
      before.close().awaitUninterruptibly();
    }

    /** Replaces the admin listener. The old one closes; its connections go on. */
    public void useForAdmin() {
      Channel before = adminListener;
      adminListener = channel;
      ConnectionLimit callers = callersOfAdmin;
      if (callers != null) {
        callers.accept(channel);
      }
      if (before != null) {
        before.close().awaitUninterruptibly();
      }
    }

    /** Closes it, because it does not come into use. */
    public void drop() {
      channel.close().awaitUninterruptibly();
    }
  }

  /**
   * Opens a listener for clients at another address, beside the present one.
   *
   * @throws IOException if the port cannot be bound
   */
  public Opened open(String host, int port) throws IOException {
    return bind(host, port, clients, "listen", door);
  }

  /**
   * Opens an admin listener at another address, beside the present one.
   *
   * @throws IOException if the port cannot be bound
   */
  public Opened openForAdmin(String host, int port) throws IOException {
    FrontDoor entrance = adminDoor;
    ConnectionLimit callers = callersOfAdmin;
    if (entrance == null || callers == null) {
      throw new IllegalStateException("admin: not open (expected: listenForAdmin before)");
    }
    return bind(host, port, callers, "admin", entrance);
  }

  private Opened bind(
      String host, int port, ConnectionLimit connections, String group, FrontDoor entrance)
      throws IOException {
    InetSocketAddress address = new InetSocketAddress(host, port);
    var bound =
        new ServerBootstrap()
            .group(loops)
            .channel(sockets.listening())
            .option(ChannelOption.SO_BACKLOG, settings.listen().backlog())
            .option(ChannelOption.SO_REUSEADDR, true)
            .option(ChannelOption.AUTO_READ, false)
            .handler(connections)
            .childOption(ChannelOption.TCP_NODELAY, true)
            .childOption(ChannelOption.SO_KEEPALIVE, true)
            .childOption(ChannelOption.WRITE_BUFFER_WATER_MARK, CLIENT_WATER_MARK)
            .childHandler(opened(client -> entrance.accept(state(client.eventLoop()), client)))
            .bind(address)
            .awaitUninterruptibly();
    if (!bound.isSuccess()) {
      throw new IOException(
          group
              + ": "
              + address.getHostString()
              + ":"
              + address.getPort()
              + " (expected: a free port)",
          bound.cause());
    }
    return new Opened(bound.channel());
  }

  private Bootstrap connecting(Sockets sockets) {
    return new Bootstrap().channel(sockets.connected()).handler(opened(_ -> {}));
  }

  /**
   * A handler that records a new channel among the open ones and then passes it to {@code then}.
   */
  private ChannelHandler opened(Consumer<Channel> then) {
    return new ChannelInitializer<Channel>() {
      @Override
      protected void initChannel(Channel channel) {
        channels.add(channel);
        sockets.prepare(channel);
        then.accept(channel);
      }
    };
  }

  private LoopState state(EventExecutor loop) {
    LoopState state = states.get(loop);
    if (state == null) {
      throw new IllegalStateException("loop: " + loop + " (expected: one of the server's)");
    }
    return state;
  }

  /** The bound port. */
  public int port() {
    return ((InetSocketAddress) listener.localAddress()).getPort();
  }

  /** Reads the files of TLS of both listeners again. One thread at a time; may block. */
  public void refreshTls() {
    door.refreshTls();
    FrontDoor ofAdmin = adminDoor;
    if (ofAdmin != null) {
      ofAdmin.refreshTls();
    }
  }

  /** Counters of the clients' connections by protocol. */
  public ConnectionTally connections() {
    return door.tally();
  }

  /** Number of failed TLS handshakes of the admin listener; 0 without one. */
  public long adminHandshakesFailed() {
    FrontDoor ofAdmin = adminDoor;
    return ofAdmin == null ? 0 : ofAdmin.tally().failedHandshakes();
  }

  /** The bound port of the admin listener; 0 if it is not open. */
  public int adminPort() {
    Channel open = adminListener;
    return open == null ? 0 : ((InetSocketAddress) open.localAddress()).getPort();
  }

  /** The settings of the listener for clients and of the event loops, in force. */
  public ListenSettings listen() {
    return settings.listen();
  }

  /** Number of connected clients. */
  public int clients() {
    return clients.open();
  }

  /** Number of connections of one client, by its identity for limits. */
  int clientsOf(String group) {
    return clients.openOf(group);
  }

  /** Maximum number of connected clients; 0 for no limit. */
  public int clientsLimit() {
    return settings.listen().maxConnections();
  }

  /** Number of requests to workers in progress, including requests that wait for admission. */
  public int running() {
    return states.values().stream().mapToInt(LoopState::running).sum();
  }

  /** Number of requests that wait for admission. */
  public int queued() {
    return server.admissions().queued();
  }

  /** Number of requests that are deferred because all workers are full. */
  public int deferred() {
    return server.deferral().waiting();
  }

  /** Number of requests that wait because no worker is available. */
  public int awaitingWorker() {
    return server.deferral().withoutWorker().waiting();
  }

  /** The buffered bytes of request bodies, and their limit. */
  public BodyBudget bodies() {
    return server.bodies();
  }

  /** Memory of the requests after which engines failed. */
  public PoisonMemory poison() {
    return server.faults().bodies();
  }

  /**
   * Runs a task of a few microseconds on each event loop, without waiting for it.
   *
   * @throws java.util.concurrent.RejectedExecutionException if the server is closed
   */
  public void executeOnLoops(Runnable task) {
    loops.forEach(loop -> loop.execute(task));
  }

  /**
   * Stops accepting connections and closes idle ones. Requests in progress can end, including
   * requests with a partly received head. Does not wait. Further calls have no effect.
   */
  public void beginDrain() {
    server.gate().stop();
    Channel admin = adminListener;
    ChannelFuture adminClosed = admin == null ? null : admin.close();
    listener.close().awaitUninterruptibly();
    if (adminClosed != null) {
      adminClosed.awaitUninterruptibly();
    }
    // This task runs after the initialization of each accepted connection, so all connections are
    // counted.
    onEachLoop(_ -> {});
    // Set before the loops search for idle connections. The flag closes connections that become
    // idle later.
    server.gate().drain();
    onEachLoop(LoopState::drain);
  }

  /**
   * Stops the server. It serves for the drain delay, and each answer announces that its connection
   * closes. It then drains, until all requests have ended or the drain timeout is over. It cuts the
   * remaining requests, event streams with an error event, and stops the loops. Blocks.
   */
  @Override
  public void close() {
    if (loops.isShuttingDown()) {
      return;
    }
    server.gate().stop();
    await(settings.drainDelay());
    beginDrain();
    await(settings.drainTimeout().minus(settings.drainDelay()));
    onEachLoop(LoopState::cut);
    channels.closeAndStopLoops();
    door.close();
    FrontDoor ofAdmin = adminDoor;
    if (ofAdmin != null) {
      ofAdmin.close();
    }
  }

  /**
   * Waits until the last connection has closed, at most for the given time. Before draining it
   * waits for the complete time.
   */
  private void await(Duration most) {
    try {
      server.gate().await(most.toNanos());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void onEachLoop(Consumer<LoopState> action) {
    List<Future<?>> done = new ArrayList<>();
    states.forEach((loop, state) -> done.add(loop.submit(() -> action.accept(state))));
    done.forEach(Future::awaitUninterruptibly);
  }
}
