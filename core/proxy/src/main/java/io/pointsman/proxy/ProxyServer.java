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
import io.netty.handler.ssl.SslProvider;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import io.pointsman.proxy.body.BodyBudget;
import io.pointsman.proxy.flush.Flushes;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.ServedPaths;
import io.pointsman.proxy.loop.LoopState;
import io.pointsman.proxy.loop.ServerContext;
import io.pointsman.proxy.retry.PoisonMemory;
import io.pointsman.proxy.telemetry.ConnectionTally;
import io.pointsman.proxy.tls.ListenerTls;
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
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The running data plane. It accepts connections before any worker is up. It is long because it
 * starts, changes and stops the same event loops.
 */
@SuppressWarnings("FutureReturnValueIgnored") // closing is not waited for, or cannot fail
public final class ProxyServer implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(ProxyServer.class);

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

  /** Headers and fields that identify sessions. Guarded by this. */
  private AffinitySettings affinity;

  private final EventLoopGroup loops;
  private final OpenChannels channels;
  private final ConnectionLimit clients;
  private final Sockets sockets;
  private final Map<EventExecutor, LoopState> states = new HashMap<>();
  private final FrontDoor door;
  private final ServerPort listener;

  /** Null before it is open. */
  private volatile @Nullable ServerPort adminListener;

  /** Null before the admin listener is open. */
  private volatile @Nullable FrontDoor adminDoor;

  private ProxyServer(ProxySettings settings, ProxyContext context, LoopWaiting loopWaiting)
      throws IOException {
    this.settings = settings;
    this.context = context;
    server = ServerContexts.create(settings, context);
    affinity = context.affinity();
    ListenSettings listen = settings.listen();
    refuseMissing(listen.tlsProvider());
    door = FrontDoor.of(listen.tls(), listen.http2(), listen.tlsProvider());
    int count = listen.loops();
    EventLoops started =
        EventLoops.start(listen.transport(), count, handlers -> around(handlers, loopWaiting));
    Sockets sockets = started.sockets();
    loops = started.loops();
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
                      context.router(),
                      kept),
              new RequestReader(context.affinity(), context.engine().wanted()),
              context.handlers(),
              settings.upstream(),
              count));
    }
    this.sockets = sockets;
    try {
      listener = bind("listen", address(listen.host(), listen.port()), clients, door);
    } catch (IOException e) {
      channels.closeAndStopLoops();
      throw e;
    }
    LOG.info("{} event loops, transport {}", count, sockets.transport());
  }

  private static void refuseMissing(TlsProvider provider) {
    if (provider == TlsProvider.OPENSSL) {
      SslProvider _ = provider.chosen(); // refused here if it cannot be loaded
    }
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

  private IoHandlerFactory around(IoHandlerFactory sockets, LoopWaiting waiting) {
    return loop -> waiting.around(sockets.newHandler(loop), () -> running(loop));
  }

  /** Runs on the loop. A loop may run before all loops have a state; it then counts no requests. */
  private int running(Executor loop) {
    LoopState state = states.get(loop);
    return state == null ? 0 : state.running();
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
    FrontDoor opened = FrontDoor.ofAdmin(tls, settings.listen().tlsProvider());
    try {
      adminListener = bind("admin", address(host, port), callers, opened);
    } catch (IOException e) {
      opened.tls().close();
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
    changeEachLoop(state -> state.use(next));
  }

  /**
   * Replaces the settings that can change at run time, and reads the engine's wanted fields again.
   * Requests in progress keep the old settings, except the keys for workers; later ones have the
   * new ones when this method returns. Waiting requests stay in their queues. Blocks for a moment.
   *
   * @param affinity headers and fields that identify sessions
   * @param paths the paths that the router answers itself
   * @param callers check of clients' keys
   * @throws IllegalArgumentException if another setting differs, see {@link
   *     ProxySettings#withLive}; nothing is changed
   */
  public synchronized void use(
      ProxySettings next, AffinitySettings affinity, ServedPaths paths, CallerCheck callers) {
    ProxySettings before = settings;
    if (!before.withLive(next).equals(next)) {
      throw new IllegalArgumentException("settings: changed (expected: those of withLive)");
    }
    refuseBacklog(next.listen());
    ServerContext made =
        ServerContexts.changed(
            server, before, next, new ServerContexts.Access(paths, callers), context);
    put(new InForce(next, made, affinity));
  }

  /**
   * Refuses another backlog if the transport cannot change it.
   *
   * @throws IllegalArgumentException with the reason
   */
  public void refuseBacklog(ListenSettings next) {
    if (next.backlog() != settings.listen().backlog() && !listener.changesBacklog()) {
      throw new IllegalArgumentException(
          "listen.backlog: changed (expected: a restart, because the transport nio cannot change"
              + " it)");
    }
  }

  private void backlog(int most) {
    listener.backlog(most);
    ServerPort ofAdmin = adminListener;
    if (ofAdmin != null) {
      ofAdmin.backlog(most);
    }
  }

  /** The settings that {@link #use} replaces. */
  public static final class InForce {
    private final ProxySettings settings;
    private final ServerContext server;
    private final AffinitySettings affinity;

    private InForce(ProxySettings settings, ServerContext server, AffinitySettings affinity) {
      this.settings = settings;
      this.server = server;
      this.affinity = affinity;
    }
  }

  /** The present settings, for {@link #restore}. */
  public synchronized InForce inForce() {
    return new InForce(settings, server, affinity);
  }

  /**
   * Uses earlier settings again, with their queues and the present keys for workers. Reads the
   * engine's wanted fields again. Blocks for a moment.
   */
  public synchronized void restore(InForce before) {
    UpstreamSettings upstream = before.settings.upstream().withKeys(settings.upstream().keys());
    put(new InForce(before.settings.withUpstream(upstream), before.server, before.affinity));
  }

  private void put(InForce next) {
    ProxySettings of = next.settings;
    ServerContext made = next.server;
    backlog(of.listen().backlog());
    ServerContexts.limit(made, of);
    clients.trust(of.headers().forwarded());
    settings = of;
    server = made;
    affinity = next.affinity;
    door.use(of.listen().http2());
    clients.limit(of.listen().maxConnections(), of.limits().clients().maxConnections());
    context.names().patience(of.upstream().connectTimeout());
    context.names().ttl(of.upstream().nameTtl());
    changeEachLoop(
        state -> {
          state.use(of.upstream());
          state.use(made, new RequestReader(next.affinity, context.engine().wanted()));
        });
  }

  /** Other TLS of both listeners, before and while it is in use. */
  public final class TlsChange {
    private final List<ListenerTls.Change> changes;

    private TlsChange(List<ListenerTls.Change> changes) {
      this.changes = changes;
    }

    /** Uses it for later connections. */
    public void apply() {
      changes.forEach(ListenerTls.Change::apply);
    }

    /** Uses the earlier TLS again. Connections that were accepted in between end. */
    public void undo() {
      changes.forEach(ListenerTls.Change::undo);
      retireOutdated();
    }

    /** Releases the TLS that is not in use. */
    public void drop() {
      changes.forEach(ListenerTls.Change::drop);
    }

    /**
     * Releases the earlier TLS. If other clients can connect from here on, open connections of that
     * listener end after their requests.
     */
    public void finish() {
      changes.forEach(ListenerTls.Change::finish);
      retireOutdated();
    }

    private void retireOutdated() {
      if (changes.stream().anyMatch(ListenerTls.Change::outdates)) {
        onEachLoop(LoopState::retire);
      }
    }
  }

  /**
   * Reads the files for other TLS of both listeners. Changes nothing that is in use.
   *
   * @throws IllegalArgumentException if a file cannot be used
   */
  public TlsChange preparedTls(ListenSettings next, ServerTlsSettings ofAdmin) {
    TlsProvider provider = next.tlsProvider();
    refuseMissing(provider);
    ListenerTls.Change ofClients =
        door.tls().prepared(next.tls(), next.http2().enabled(), provider);
    FrontDoor entrance = adminDoor;
    if (entrance == null) {
      return new TlsChange(List.of(ofClients));
    }
    try {
      return new TlsChange(List.of(ofClients, entrance.tls().prepared(ofAdmin, false, provider)));
    } catch (RuntimeException e) {
      ofClients.drop();
      throw e;
    }
  }

  /**
   * Opens a listener for clients at another address, beside the present one.
   *
   * @throws IOException if the port cannot be bound
   */
  public OpenedPort open(String host, int port) throws IOException {
    return listener.open(address(host, port));
  }

  /**
   * Opens an admin listener at another address, beside the present one.
   *
   * @throws IOException if the port cannot be bound
   */
  public OpenedPort openForAdmin(String host, int port) throws IOException {
    ServerPort present = adminListener;
    if (present == null) {
      throw new IllegalStateException("admin: not open (expected: listenForAdmin before)");
    }
    return present.open(address(host, port));
  }

  private static InetSocketAddress address(String host, int port) {
    return new InetSocketAddress(host, port);
  }

  private ServerPort bind(
      String group, InetSocketAddress address, ConnectionLimit connections, FrontDoor entrance)
      throws IOException {
    ServerBootstrap listening =
        new ServerBootstrap()
            .group(loops)
            .channel(sockets.listening())
            .option(ChannelOption.SO_BACKLOG, settings.listen().backlog());
    ChannelHandler accepted = opened(client -> entrance.accept(state(client.eventLoop()), client));
    return new ServerPort(group, address, listening, connections, accepted);
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
    return listener.number();
  }

  /**
   * Reads the files of TLS of both listeners again. If the CAs of clients have changed, open
   * connections end after their requests. May block.
   */
  public void refreshTls() {
    boolean outdates = door.tls().refresh();
    FrontDoor ofAdmin = adminDoor;
    if (ofAdmin != null) {
      outdates |= ofAdmin.tls().refresh();
    }
    if (outdates) {
      onEachLoop(LoopState::retire);
    }
  }

  /** True if a listener uses TLS. */
  public boolean usesTls() {
    FrontDoor ofAdmin = adminDoor;
    return door.tls().enabled() || (ofAdmin != null && ofAdmin.tls().enabled());
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
    ServerPort open = adminListener;
    return open == null ? 0 : open.number();
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
    return server.live().admissions().queued();
  }

  /** Number of requests that are deferred because all workers are full. */
  public int deferred() {
    return server.live().deferral().waiting();
  }

  /** Number of requests that wait because no worker is available. */
  public int awaitingWorker() {
    return server.live().deferral().withoutWorker().waiting();
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
    ServerPort admin = adminListener;
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
    door.tls().close();
    FrontDoor ofAdmin = adminDoor;
    if (ofAdmin != null) {
      ofAdmin.tls().close();
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
    List<Future<?>> _ = ended(action);
  }

  /**
   * Changes the state of each loop.
   *
   * @throws IllegalStateException if it fails on a loop; the others have changed
   */
  private void changeEachLoop(Consumer<LoopState> action) {
    for (Future<?> each : ended(action)) {
      if (!each.isSuccess()) {
        throw new IllegalStateException("event loop: not changed: " + each.cause(), each.cause());
      }
    }
  }

  /** Runs an action on each loop and waits for it; an action may have failed. */
  private List<Future<?>> ended(Consumer<LoopState> action) {
    List<Future<?>> done = new ArrayList<>();
    states.forEach((loop, state) -> done.add(loop.submit(() -> action.accept(state))));
    done.forEach(Future::awaitUninterruptibly);
    return done;
  }
}
