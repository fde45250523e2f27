package io.pointsman.server.wiring;

import static java.util.Objects.requireNonNull;
import static java.util.stream.Collectors.joining;

import io.pointsman.api.admin.EngineIds;
import io.pointsman.api.admin.HealthApi;
import io.pointsman.api.admin.KeyValidation;
import io.pointsman.api.admin.Membership;
import io.pointsman.api.admin.ModelCards;
import io.pointsman.api.admin.ReloadApi;
import io.pointsman.batch.BatchService;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.settings.AccessSettings;
import io.pointsman.config.settings.TracingSettings;
import io.pointsman.config.settings.WorkerNetworks;
import io.pointsman.control.health.Rounds;
import io.pointsman.control.health.WakeOnDemand;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.StagePolicies;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.policy.session.SessionAffinity;
import io.pointsman.engine.policy.session.SessionTable;
import io.pointsman.engine.prefix.PrefixIndex;
import io.pointsman.observe.logging.RequestLines;
import io.pointsman.observe.metrics.RouterMetrics;
import io.pointsman.observe.tracing.Tracing;
import io.pointsman.pd.execution.PdContext;
import io.pointsman.pd.execution.PdHandlers;
import io.pointsman.proxy.ListenSettings;
import io.pointsman.proxy.ProxyContext;
import io.pointsman.proxy.ProxyServer;
import io.pointsman.proxy.ProxySettings;
import io.pointsman.proxy.local.AdminPaths;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.local.WorkerPins;
import io.pointsman.proxy.loop.RequestHandlerFactory;
import io.pointsman.proxy.strategy.PlainHandlers;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestTracer;
import io.pointsman.proxy.tls.ServerTls;
import io.pointsman.proxy.tls.ServerTlsSettings;
import io.pointsman.proxy.tls.TlsProvider;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The parts of a router before it runs. */
final class RouterAssembly {
  private static final Logger log = LoggerFactory.getLogger(Router.class);

  /** Maximum number of workers with labels in a message. */
  private static final int MOST_LABELS = 4;

  /** Pause between two looks at files that may change. */
  private static final Duration FILES_PAUSE = Duration.ofSeconds(1);

  volatile PointsmanConfig config;
  final AtomicBoolean draining = new AtomicBoolean();

  /** Resources to close, newest first; filled even if the assembly fails. */
  final Deque<AutoCloseable> control;

  final EngineAssembly core;
  final Fleet fleet;
  final Ticker ticker;
  final RandomSource random;
  final RouterMetrics metrics;
  final ModelCards cards;
  private final RequestTracer tracer;
  final Observers observers;
  final BodyChanges changes;
  final Membership membership;

  /** Null without files and batches. */
  @Nullable BatchService batches;

  /** Null if clients cannot choose engines. */
  final @Nullable EngineIds engineIds;

  final String version;

  /** Null before the proxy is open. */
  private @Nullable RoutingEngine engine;

  /** Null before the proxy is open. */
  private volatile @Nullable ProxyServer proxy;

  /** Null before the routes are built. */
  @Nullable HealthApi health;

  /** Null before all are open. */
  @Nullable Listeners listeners;

  /** Null before the proxy is open. */
  private @Nullable CallerKeys keys;

  /** Receives changed settings of traces. */
  private Consumer<TracingSettings> traced = _ -> {};

  /** The limit on clients of a configuration without one, from the descriptors at the start. */
  private int defaultConnections;

  /** Null before the proxy is open. */
  private @Nullable RequestLines lines;

  /** Makes the admin paths of a configuration; null before the proxy is open. */
  private @Nullable Function<PointsmanConfig, AdminPaths> admin;

  final AtomicReference<Map<String, String>> dynamicConfig = new AtomicReference<>(Map.of());
  private final AtomicBoolean sessionsMeasured = new AtomicBoolean();
  private boolean indexesMeasured;
  final ReloadApi reloads = new ReloadApi();

  RouterAssembly(PointsmanConfig config, String version, Deque<AutoCloseable> control)
      throws IOException {
    this.config = config;
    this.control = control;
    core = new EngineAssembly(config, control);
    fleet = core.fleet;
    ticker = core.ticker;
    random = core.random;
    int maxWorkers = config.fleet().maxWorkers();
    metrics = new RouterMetrics(fleet, this::policyOf, maxWorkers, ticker, version);
    metrics.policiesOfModels(core.modelPolicies);
    metrics.expect(config.engine().expectedModels());
    cards = new ModelCards(fleet);
    core.onModels(cards::learned);
    tracer = config.tracing().enabled() ? tracing(version) : RequestTracer.NONE;
    changes = new BodyChanges(config);
    core.onNames(metrics::expect, changes::discovered);
    this.version = version;
    engineIds = config.stackEndpoints() ? new EngineIds(fleet, InstantSource.system()) : null;
    observers = new Observers(config, fleet, this::policyOf, ticker, random);
    membership =
        new Membership(fleet, config.admin(), config.disagg(), ticker, Thread::sleep, core.origins);
  }

  String policyOf(Role role) {
    return ConfiguredPolicies.of(config, role);
  }

  String policyOf(RoutingRequest request) {
    return policyOf(request.role(), request.model());
  }

  String policyOf(Role role, @Nullable String model) {
    String ofRole = policyOf(role);
    return role == Role.REGULAR ? ModelPolicies.name(core.modelPolicies, model, ofRole) : ofRole;
  }

  /** Only this method loads the classes for tracing. */
  private Tracing tracing(String version) {
    Tracing tracing =
        Tracing.start(config.tracing(), () -> config.policy(), instance(), version, ticker);
    control.push(tracing);
    traced = tracing::use;
    metrics.spans(tracing::exported, tracing::failed, tracing::dropped);
    return tracing;
  }

  private static String instance() {
    String host;
    try {
      host = InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      host = "localhost";
    }
    return host + "-" + ProcessHandle.current().pid();
  }

  ProxyServer openProxy() throws IOException {
    Disaggregation two = core.two;
    engine =
        core.engine(
            observers.watch(core, metrics, control),
            metrics.engineListener(),
            observers.log()::draws);
    CallerKeys ofCallers = new CallerKeys(config, this::servers);
    keys = ofCallers;
    control.push(ofCallers);
    PromptListener prompts = core.prompts(metrics::kvTokens);
    RouterRoutes routes = new RouterRoutes(this);
    LocalRoutes ofClients = routes.forClients(name -> ofCallers.present().ring().holderNamed(name));
    LocalRoutes ofAdmin = routes.forAdministrators(engine, ofCallers.callers(), prompts);
    admin = by -> RouterRoutes.admin(by, ofCallers.present(), ofAdmin, ofClients);
    ProxyContext context =
        new ProxyContext(
            engine,
            config.affinity(),
            ofClients,
            admin.apply(config),
            callers(ofCallers.present()),
            listener(),
            tracer,
            prompts,
            changes,
            engineIds == null ? WorkerPins.NONE : engineIds,
            ticker,
            random,
            core.names,
            core.tls,
            two == null ? PlainHandlers::new : courses(two, engine));
    ProxySettings settings = DefaultConnectionLimit.in(config.proxy());
    defaultConnections =
        DefaultConnectionLimit.in(
                config.proxy().withListen(config.proxy().listen().withMaxConnections(0)))
            .listen()
            .maxConnections();
    ProxyServer server = ProxyServer.start(settings, context, core.scheduling.waiting(ticker));
    control.push(server);
    proxy = server;
    openAdmin(server);
    core.scheduling.prefer(server);
    if (config.proxy().listen().tls().enabled() || config.access().tls().enabled()) {
      control.push(Rounds.start("tls-files", FILES_PAUSE, server::refreshTls));
    }
    measure(server);
    core.listen(metrics::kvEvents);
    return server;
  }

  /** The check of clients, which also knows the requests of batches. */
  private CallerCheck callers(RouterKeys by) {
    BatchService own = batches;
    return own == null ? by.callers() : own.around(by.callers());
  }

  private ProxyListener listener() {
    ProxyListener counted = observers.activity().around(metrics.proxyListener());
    ProxyListener all = new WakingListener(counted, wakes(), () -> config.wakeSleeping());
    // The policies and their sessions may change at run time.
    ProxyListener measured =
        new SessionEnds(all, id -> core.policies.sessions().forEach(table -> table.finish(id)));
    RequestLines written = RequestLines.around(measured, InstantSource.system(), config.log());
    lines = written;
    return written;
  }

  private WakeOnDemand wakes() {
    return new WakeOnDemand(
        fleet,
        core.client::send,
        core.prober.sleeping(),
        () -> config.admin().controlTimeout(),
        ticker,
        Thread::startVirtualThread);
  }

  /** Number of requests that wait for admission or a worker. */
  int waiting() {
    ProxyServer opened = proxy;
    return opened == null ? 0 : opened.queued() + opened.deferred();
  }

  private RequestHandlerFactory courses(Disaggregation two, RoutingEngine engine) {
    Supplier<PdContext> contexts =
        two.plane(
            engine,
            metrics.splitListener(),
            config.affinity(),
            () -> config.proxy().headers().workerHeader(),
            random,
            this::labels);
    metrics.splitWaiting(() -> contexts.get().room().waiting());
    return state -> new PdHandlers(state, contexts);
  }

  /** Labels by which an operator finds the workers of a role. */
  private String labels(Role role) {
    PointsmanConfig by = config;
    return by.kubernetes().finds(role)
        ? by.kubernetes().selector(role).toString()
        : by.workers().stream()
            .filter(worker -> worker.role() == role && !worker.labels().isEmpty())
            .map(worker -> new TreeMap<>(worker.labels()).toString())
            .distinct()
            .limit(MOST_LABELS)
            .collect(joining(", "));
  }

  /** Adds the metrics; those of several policies are summed. */
  private void measure(ProxyServer server) {
    metrics
        .clients(server::clients, server::clientsLimit)
        .protocols(server.connections(), server::adminHandshakesFailed)
        .queue(server::queued)
        .deferred(server::deferred)
        .poison(server.poison())
        .discovery(core.sources, core.discovery)
        .bodies(server.bodies());
    metrics.kvIndex(core.knowledge.index());
    if (config.metrics().vllmRouterNames()) {
      metrics.withVllmRouterNames(() -> config.policies().affinity() != SessionAffinity.Mode.OFF);
    }
    if (config.metrics().likeProductionStack()) {
      metrics.withProductionStackNames();
    }
    measurePolicies();
  }

  private void measurePolicies() {
    StagePolicies policies = core.policies;
    List<PolicySetup> setups = new ArrayList<>(policies.byModel().values());
    setups.add(policies.regular());
    List<PrefixIndex> indexes =
        setups.stream().map(PolicySetup::prefixes).flatMap(Stream::ofNullable).toList();
    indexesMeasured |= !indexes.isEmpty();
    if (indexesMeasured) {
      // An empty list releases the memory of the policies before.
      metrics.prefixIndex(indexes);
    }
    if (!policies.sessions().isEmpty() && sessionsMeasured.compareAndSet(false, true)) {
      metrics.sessions(() -> core.policies.sessions().stream().mapToLong(SessionTable::size).sum());
    }
  }

  /**
   * The parts of a changed configuration that can fail, before it is applied.
   *
   * @param core those of the part that chooses workers
   * @param keys keys of callers; the same object if they are unchanged
   * @param shadow the shadow policy; the same object if it is unchanged, null if there is none
   * @param listeners listeners at other addresses
   */
  record Prepared(
      EngineChange core,
      RouterKeys keys,
      Shadow.@Nullable Compared shadow,
      Listeners.Change listeners) {}

  /**
   * Prepares a change. Changes nothing.
   *
   * @throws IllegalArgumentException if a policy, a cluster, an address, or a file or variable of
   *     keys cannot be used
   */
  Prepared prepared(PointsmanConfig next, boolean samePolicies) {
    RouterKeys ofCallers = requireNonNull(keys).prepared(config, next);
    Shadow.Compared shadow = null;
    EngineChange ofCore = null;
    try {
      shadow = observers.shadow().prepared(next);
      ofCore = core.prepared(next, samePolicies);
      return new Prepared(
          ofCore, ofCallers, shadow, requireNonNull(listeners).prepared(config, next));
    } catch (RuntimeException e) {
      if (ofCore != null) {
        ofCore.drop();
      }
      observers.shadow().drop(shadow);
      requireNonNull(keys).drop(ofCallers);
      throw e;
    }
  }

  /** Drops a change that is not applied. */
  void drop(Prepared change) {
    change.listeners.drop();
    change.core.drop();
    observers.shadow().drop(change.shadow);
    requireNonNull(keys).drop(change.keys);
  }

  /** Uses the keys for engines in everything that is sent from here on. */
  void useEngineKeys(PointsmanConfig by, ProxyServer server) {
    core.client.use(by.controlKeys());
    server.useKeys(by.proxy().upstream().keys());
  }

  /** Takes over the changes that {@link PointsmanConfig#withLive} admits, except workers. */
  void use(PointsmanConfig next, Prepared change, ProxyServer server) {
    RolePolicies.Built rebuilt = change.core.policies();
    AccessSettings accessBefore = config.access();
    config = next;
    requireNonNull(keys).use(change.keys);
    BatchService ownBatches = batches;
    if (ownBatches != null) {
      ownBatches.useKey(next.batch().apiKey());
    }
    changes.use(next);
    fleet.configure(next.fleet());
    core.origins.use(
        new WorkerNetworks(next.access().workerNetworks()), next.access().keyOrigins());
    core.prober.configure(next.probes());
    metrics.expect(next.engine().expectedModels());
    core.follow(next, change.core);
    membership.use(next.admin());
    traced.accept(next.tracing());
    observers.log().use(next.decisions());
    requireNonNull(lines).use(next.log());
    if (core.two != null) {
      core.two.use(next.affinity());
    }
    RoutingEngine routing = requireNonNull(engine);
    if (rebuilt != null) {
      core.use(rebuilt, next);
      metrics.policiesChanged();
      metrics.policiesOfModels(rebuilt.names());
      observers.measure(core, metrics);
      measurePolicies();
    }
    observers.shadow().use(change.shadow);
    routing.use(
        core.captures.around(observers.watched(core.policies)), next.engine(), core.keptLearners());
    // The start has computed a part of the listener's settings.
    server.use(
        next.proxy().withListen(listen(next.proxy().listen(), server.listen())),
        next.affinity(),
        requireNonNull(admin).apply(next),
        callers(change.keys));
    requireNonNull(listeners).use(change.listeners);
    if (!accessBefore.equals(next.access())) {
      warnOf(next.access());
    }
  }

  /** The settings of the listener in force, with the changes of {@code next}. */
  private ListenSettings listen(ListenSettings next, ListenSettings inForce) {
    int most = next.maxConnections();
    return inForce.withLive(next.withMaxConnections(most == 0 ? defaultConnections : most));
  }

  private CallerCheck servers(PointsmanConfig by) {
    return new KeyValidation(
        by.auth(),
        new KeyServers(ticker, core.names::await, EngineAssembly.systemCaFile()),
        ticker);
  }

  private void openAdmin(ProxyServer server) throws IOException {
    AccessSettings access = config.access();
    try {
      server.listenForAdmin(access.host(), access.port(), access.tls());
    } catch (IOException e) {
      if (!access.orAnyPort()) {
        throw e;
      }
      server.listenForAdmin(access.host(), 0, access.tls());
      log.warn(
          "admin.port: {} is in use; the admin listener is at port {}",
          access.port(),
          server.adminPort());
    }
    warnOf(access);
  }

  private static void warnOf(AccessSettings access) {
    if (access.onClientPort()) {
      log.info("the client port serves the admin paths too (admin.on-client-port)");
    }
    if (access.insecure()) {
      log.warn("insecure-admin: others may reach the admin paths without a key");
    }
  }

  /** TLS of the metrics port, which follows changed files; null in clear text. */
  private @Nullable ServerTls tlsOfMetrics() {
    ServerTlsSettings settings = config.metrics().tls();
    if (!settings.enabled() || !config.metrics().enabled()) {
      return null;
    }
    ServerTls opened = ServerTls.open("metrics-tls", settings, false, TlsProvider.JDK);
    control.push(Rounds.start("metrics-tls-files", FILES_PAUSE, opened::refresh));
    return opened;
  }

  /** Opens the port of the metrics, if they are enabled. */
  void openMetrics() throws IOException {
    Listeners opened =
        new Listeners(
            metrics,
            requireNonNull(health),
            tlsOfMetrics(),
            () -> config.proxy().listen().hostNames());
    control.push(opened);
    opened.follow(requireNonNull(proxy));
    opened.openMetrics(config.metrics());
    listeners = opened;
  }
}
