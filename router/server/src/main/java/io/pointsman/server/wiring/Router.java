package io.pointsman.server.wiring;

import static java.util.Objects.requireNonNull;
import static java.util.stream.Collectors.joining;

import io.pointsman.api.admin.ClientPaths;
import io.pointsman.api.admin.ControlApi;
import io.pointsman.api.admin.CordonApi;
import io.pointsman.api.admin.EngineIds;
import io.pointsman.api.admin.HealthApi;
import io.pointsman.api.admin.KeyValidation;
import io.pointsman.api.admin.MaintenanceApi;
import io.pointsman.api.admin.Membership;
import io.pointsman.api.admin.ModelCards;
import io.pointsman.api.admin.ModelsApi;
import io.pointsman.api.admin.RayProxyApi;
import io.pointsman.api.admin.ReloadApi;
import io.pointsman.api.admin.StackApi;
import io.pointsman.api.admin.WorkerList;
import io.pointsman.api.admin.WorkersApi;
import io.pointsman.api.decide.DecideApi;
import io.pointsman.api.decide.DecisionService;
import io.pointsman.api.decide.LeasesApi;
import io.pointsman.api.decide.RayRouteApi;
import io.pointsman.api.decide.SplitPlaces;
import io.pointsman.api.page.OperatorPage;
import io.pointsman.batch.BatchService;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.settings.AccessSettings;
import io.pointsman.config.settings.HealthAnswer;
import io.pointsman.control.health.Rounds;
import io.pointsman.control.health.WakeOnDemand;
import io.pointsman.control.names.NameWorkers;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.StagePolicies;
import io.pointsman.engine.choice.Choices;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.policy.session.SessionAffinity;
import io.pointsman.engine.policy.session.SessionTable;
import io.pointsman.engine.prefix.PrefixIndex;
import io.pointsman.observe.logging.RequestLines;
import io.pointsman.observe.metrics.MetricsServer;
import io.pointsman.observe.metrics.RouterMetrics;
import io.pointsman.observe.tracing.Tracing;
import io.pointsman.pd.execution.PdContext;
import io.pointsman.pd.execution.PdHandlers;
import io.pointsman.plane.haproxy.SpoeListener;
import io.pointsman.proxy.ProxyContext;
import io.pointsman.proxy.ProxyServer;
import io.pointsman.proxy.local.AdminPaths;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.local.WorkerPins;
import io.pointsman.proxy.loop.RequestHandlerFactory;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.telemetry.RequestTracer;
import io.pointsman.proxy.tls.ServerTls;
import io.pointsman.proxy.tls.ServerTlsSettings;
import io.pointsman.proxy.upstream.EngineTls;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running router: fleet, engine, proxy and background tasks. The port opens before any worker is
 * healthy.
 */
public final class Router implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Router.class);

  /** Maximum wait for batches after the drain. */
  private static final Duration BATCHES_STOP = Duration.ofSeconds(10);

  private final PointsmanConfig config;
  private final Fleet fleet;
  private final EngineTls tls;
  private final ProxyServer server;
  private final @Nullable MetricsServer metrics;
  private final Deque<AutoCloseable> control;
  private final AtomicBoolean draining;
  private final NameWorkers nameWorkers;
  private final BodyChanges changes;
  private final AtomicReference<List<WorkerSpec>> configured;
  private final AtomicReference<Map<String, String>> dynamicConfig;

  private final Assembly assembly;

  /** Null without files and batches. */
  private final @Nullable BatchService batches;

  private Router(Assembly assembly, ProxyServer server, @Nullable MetricsServer metrics) {
    this.assembly = assembly;
    config = assembly.config;
    fleet = assembly.fleet;
    tls = assembly.core.tls;
    control = assembly.control;
    draining = assembly.draining;
    nameWorkers = assembly.core.nameWorkers;
    changes = assembly.changes;
    configured = assembly.core.configured;
    dynamicConfig = assembly.dynamicConfig;
    batches = assembly.batches;
    this.server = server;
    this.metrics = metrics;
  }

  /**
   * Starts a router.
   *
   * @param version version of the program, for metrics
   * @throws StartException if the router cannot start; all resources are then released
   */
  public static Router start(PointsmanConfig config, String version) {
    return OpenedParts.start(
        control -> {
          Assembly assembly = new Assembly(config, version, control);
          ProxyServer server = assembly.openProxy();
          MetricsServer metrics = assembly.openMetrics();
          assembly.core.watch();
          control.remove(server);
          Router router = new Router(assembly, server, metrics);
          router.startBatches();
          return router;
        });
  }

  /** The parts of a router before it runs. */
  private static final class Assembly {
    /** Maximum number of workers with labels in a message. */
    private static final int MOST_LABELS = 4;

    /** Pause between two looks at files that may change. */
    private static final Duration FILES_PAUSE = Duration.ofSeconds(1);

    private volatile PointsmanConfig config;
    private final AtomicBoolean draining = new AtomicBoolean();

    /** Resources to close, newest first; filled even if the assembly fails. */
    private final Deque<AutoCloseable> control;

    private final EngineAssembly core;
    private final Fleet fleet;
    private final Ticker ticker;
    private final RandomSource dice;
    private final RouterMetrics metrics;
    private final ModelCards cards;
    private final RequestTracer tracer;
    private final Observers observers;
    private final BodyChanges changes;
    private final Membership membership;

    /** Null without files and batches. */
    private @Nullable BatchService batches;

    /** Null if clients cannot choose engines. */
    private final @Nullable EngineIds engineIds;

    private final String version;

    /** Null before the proxy is open. */
    private @Nullable RoutingEngine engine;

    /** Null before the proxy is open. */
    private volatile @Nullable ProxyServer proxy;

    /** Null before the routes are built. */
    private @Nullable HealthApi health;

    private final AtomicReference<Map<String, String>> dynamicConfig =
        new AtomicReference<>(Map.of());
    private final AtomicBoolean sessionsMeasured = new AtomicBoolean();
    private boolean indexesMeasured;
    private final ReloadApi reloads = new ReloadApi();

    Assembly(PointsmanConfig config, String version, Deque<AutoCloseable> control)
        throws IOException {
      this.config = config;
      this.control = control;
      core = new EngineAssembly(config, control);
      fleet = core.fleet;
      ticker = core.ticker;
      dice = core.dice;
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
      observers = new Observers(config, fleet, this::policyOf, ticker, dice);
      membership =
          new Membership(
              fleet, config.admin(), config.disagg(), ticker, Thread::sleep, core.origins);
    }

    private String policyOf(Role role) {
      return ConfiguredPolicies.of(config, role);
    }

    private String policyOf(RoutingRequest request) {
      return policyOf(request.role(), request.model());
    }

    private String policyOf(Role role, @Nullable String model) {
      String ofRole = policyOf(role);
      return role == Role.REGULAR ? ModelPolicies.name(core.modelPolicies, model, ofRole) : ofRole;
    }

    /** Only this method loads the classes for tracing. */
    private Tracing tracing(String version) {
      Tracing tracing =
          Tracing.start(config.tracing(), config.policy(), instance(), version, ticker);
      control.push(tracing);
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
      RouterKeys keys = RouterKeys.open(config, System::getenv, this::servers, control);
      CallerCheck callers = keys.callers();
      PromptListener prompts = core.prompts(metrics::kvTokens);
      LocalRoutes ofClients = routes();
      AdminPaths admin = admin(engine, keys, prompts, ofClients);
      ProxyContext context =
          new ProxyContext(
              engine,
              config.affinity(),
              ofClients,
              admin,
              callers,
              listener(),
              tracer,
              prompts,
              changes,
              engineIds == null ? WorkerPins.NONE : engineIds,
              ticker,
              dice,
              core.names,
              core.tls,
              two == null ? RequestHandlerFactory.NONE : courses(two, engine));
      ProxyServer server =
          ProxyServer.start(
              DefaultConnectionLimit.in(config.proxy()), context, core.scheduling.waiting(ticker));
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

    private ProxyListener listener() {
      ProxyListener counted = observers.activity().around(metrics.proxyListener());
      ProxyListener all = config.wakeSleeping() ? new WakingListener(counted, wakes()) : counted;
      // The policies and their sessions may change at run time.
      ProxyListener measured =
          new SessionEnds(all, id -> core.policies.sessions().forEach(table -> table.finish(id)));
      return RequestLines.around(measured, InstantSource.system(), config.log());
    }

    private WakeOnDemand wakes() {
      return new WakeOnDemand(
          fleet,
          core.client::send,
          core.prober.sleeping(),
          config.admin().controlTimeout(),
          ticker,
          Thread::startVirtualThread);
    }

    /** Number of requests that wait for admission or a worker. */
    private int waiting() {
      ProxyServer opened = proxy;
      return opened == null ? 0 : opened.queued() + opened.heldBack();
    }

    private RequestHandlerFactory courses(Disaggregation two, RoutingEngine engine) {
      PdContext plane =
          two.plane(
              engine,
              metrics.splitListener(),
              config.affinity(),
              () -> config.proxy().headers().workerHeader(),
              dice,
              labelsOfRoles());
      metrics.splitWaiting(plane.room()::waiting);
      return state -> new PdHandlers(state, plane);
    }

    /** Labels by which an operator finds the workers of a role. */
    private Map<Role, String> labelsOfRoles() {
      Map<Role, String> labels = new EnumMap<>(Role.class);
      for (Role role : Role.values()) {
        String found =
            config.kubernetes().finds(role)
                ? config.kubernetes().selector(role).toString()
                : config.workers().stream()
                    .filter(worker -> worker.role() == role && !worker.labels().isEmpty())
                    .map(worker -> new TreeMap<>(worker.labels()).toString())
                    .distinct()
                    .limit(MOST_LABELS)
                    .collect(joining(", "));
        labels.put(role, found);
      }
      return labels;
    }

    /** Adds the metrics; those of several policies are summed. */
    private void measure(ProxyServer server) {
      metrics
          .clients(server::clients, server.clientsLimit())
          .protocols(server.connections(), server::adminHandshakesFailed)
          .queue(server::queued)
          .heldBack(server::heldBack)
          .poison(server.poison())
          .discovery(core.sources, core.discovery)
          .bodies(server.bodies());
      metrics.kvIndex(core.knowledge.index());
      if (config.metrics().vllmRouterNames()) {
        metrics.withVllmRouterNames(config.policies().affinity() != SessionAffinity.Mode.OFF);
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
        metrics.sessions(
            () -> core.policies.sessions().stream().mapToLong(SessionTable::size).sum());
      }
    }

    /** Takes over the changes that {@link PointsmanConfig#withLive} admits, except workers. */
    void use(PointsmanConfig next, EngineAssembly.@Nullable Rebuilt rebuilt, ProxyServer server) {
      config = next;
      changes.use(next);
      fleet.configure(next.fleet());
      core.prober.configure(next.probes());
      metrics.expect(next.engine().expectedModels());
      RoutingEngine routing = requireNonNull(engine);
      if (rebuilt != null) {
        core.use(rebuilt, next);
        metrics.policiesChanged();
        metrics.policiesOfModels(rebuilt.modelPolicies());
        observers.measure(core, metrics);
        measurePolicies();
      }
      routing.use(
          core.captured(observers.watched(core.policies)), next.engine(), core.keptLearners());
      // The start has computed a part of the listener's settings.
      server.use(next.proxy().withListen(server.listen()), next.affinity());
    }

    private CallerCheck servers() {
      return new KeyValidation(
          config.auth(),
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
      if (access.onClientPort()) {
        log.info("the client port serves the admin paths too (admin.on-client-port)");
      }
      if (access.insecure()) {
        log.warn("insecure-admin: others may reach the admin paths without a key");
      }
    }

    /** Builds the routes for clients that the router answers itself. */
    private LocalRoutes routes() throws IOException {
      LocalRoutes.Builder routes = LocalRoutes.builder();
      health = healthApi();
      health.addTo(routes);
      if (engineIds != null) {
        new StackApi(engineIds, version).addTo(routes);
      }
      String application = config.admin().rayApplication();
      if (!application.isEmpty()) {
        new RayProxyApi(fleet, application, draining::get).addTo(routes);
      }
      if (config.admin().mergedModels()) {
        new ModelsApi(cards, changes::aliases).addTo(routes);
      }
      if (config.metrics().enabled() && config.metrics().likeProductionStack()) {
        metrics.addTo(routes);
      }
      if (config.batch().enabled()) {
        batches = batches();
        batches.addTo(routes);
      }
      return routes.build();
    }

    private HealthApi healthApi() {
      HealthAnswer answer = config.admin().healthAnswer();
      BooleanSupplier holds = () -> config.proxy().holdBack().withoutWorker().isPositive();
      return new HealthApi(fleet, membership, answer, config.disagg(), draining::get, holds)
          .showing(dynamicConfig::get);
    }

    private AdminPaths admin(
        RoutingEngine engine, RouterKeys keys, PromptListener prompts, LocalRoutes ofClients)
        throws IOException {
      AccessSettings access = config.access();
      List<String> refused = config.admin().refusedPaths();
      LocalRoutes routes = adminRoutes(engine, keys.callers(), prompts);
      Set<String> notForClients = new HashSet<>(ofClients.paths());
      notForClients.addAll(refused);
      notForClients.add(OperatorPage.ROOT);
      return new AdminPaths(
          routes,
          access.onClientPort() ? routes.without(notForClients) : LocalRoutes.NONE,
          ClientPaths.closed(refused, routes.paths(), access.allowedPaths(), ofClients.paths()),
          keys.guard(access));
    }

    /** Builds the routes of the admin listener. */
    private LocalRoutes adminRoutes(
        RoutingEngine engine, CallerCheck callers, PromptListener prompts) throws IOException {
      LocalRoutes.Builder routes = LocalRoutes.builder();
      requireNonNull(health).addTo(routes);
      if (config.admin().enabled()) {
        WorkersApi workers = new WorkersApi(fleet, membership, ticker);
        workers.addTo(routes);
        new CordonApi(fleet, workers, ticker, Thread::sleep).addTo(routes);
        new MaintenanceApi(fleet, core.client::send, () -> core.policies.sessions()).addTo(routes);
        reloads.addTo(routes);
        observers.addTo(routes, fleet, () -> config.policy(), this::waiting);
      } else if (config.decide().enabled()) {
        new WorkerList(fleet).addTo(routes);
      }
      if (config.decide().enabled()) {
        choiceForOthers(engine, callers, prompts, routes);
      } else {
        RayRouteApi.off(routes);
      }
      if (config.metrics().enabled()) {
        metrics.addTo(routes);
      }
      ControlApi.EngineCall calls =
          ControlApi.calling(core.client, config.admin().controlTimeout());
      ControlApi control =
          new ControlApi(fleet, calls, core.prober.sleeping(), core.prober::modelsChanged);
      if (engineIds != null) {
        control.addById(routes, engineIds, Set.copyOf(config.admin().refusedPaths()));
      }
      control.addTo(routes);
      return routes.build();
    }

    /** Only this method loads the classes of the store. */
    private BatchService batches() throws IOException {
      boolean keysConfirmed = !config.auth().validationUrls().isEmpty();
      boolean certificates = !config.proxy().listen().tls().clientCaFile().isEmpty();
      BatchService opened =
          BatchService.open(
              config.batch(),
              config.proxy().listen().tls().certificateFile(),
              keysConfirmed,
              keysConfirmed || certificates || config.auth().ownKeys(),
              InstantSource.system(),
              () -> UUID.randomUUID().toString().replace("-", ""),
              Thread::sleep);
      control.push(opened);
      return opened;
    }

    private void choiceForOthers(
        RoutingEngine engine,
        CallerCheck callers,
        PromptListener prompts,
        LocalRoutes.Builder routes)
        throws IOException {
      Disaggregation two = core.two;
      Choices choices = core.choices(engine);
      boolean decodes = two != null && config.disagg().split().decodeServesWhole();
      SplitPlaces split = two == null ? null : two.places(engine, choices, dice);
      DecisionService planes =
          new DecisionService(
              engine,
              choices,
              () -> config.affinity(),
              decodes,
              () -> config.proxy().admission(),
              split,
              () -> config.proxy().limits().clients().quota(),
              prompts,
              ticker,
              dice);
      new DecideApi(planes, this::policyOf).addTo(routes);
      new LeasesApi(planes).addTo(routes);
      RayRouteApi route = new RayRouteApi(planes).addTo(routes);
      metrics.heldLeases(choices);
      if (!config.decide().spoeAddress().isEmpty()) {
        SpoeListener listener = SpoeListener.open(config.decide().spoeAddress(), route, callers);
        control.push(listener);
        listener.addTo(routes);
      }
    }

    /** TLS of the metrics port, which follows changed files; null in clear text. */
    private @Nullable ServerTls tlsOfMetrics() {
      ServerTlsSettings settings = config.metrics().tls();
      if (!settings.enabled()) {
        return null;
      }
      ServerTls opened = ServerTls.open("metrics-tls", settings, false);
      control.push(Rounds.start("metrics-tls-files", FILES_PAUSE, opened::refresh));
      return opened;
    }

    @Nullable MetricsServer openMetrics() throws IOException {
      if (!config.metrics().enabled()) {
        return null;
      }
      String host = config.metrics().host();
      int port = config.metrics().port();
      try {
        HealthApi answers = requireNonNull(health);
        MetricsServer server =
            MetricsServer.open(
                metrics,
                answers::ready,
                answers::readiness,
                new InetSocketAddress(host, port),
                tlsOfMetrics());
        control.push(server);
        return server;
      } catch (IOException e) {
        throw new IOException("metrics: " + host + ":" + port + " (expected: a free port)", e);
      }
    }
  }

  private void startBatches() {
    if (batches != null) {
      String host = local(config.proxy().listen().host());
      batches.start(URI.create(url(scheme(), host, server.port())));
    }
  }

  /** A host at which this machine reaches a port that listens on {@code host}. */
  private static String local(String host) {
    return switch (host) {
      case "0.0.0.0" -> "127.0.0.1";
      case "::", "[::]" -> "::1";
      default -> host;
    };
  }

  private void stopBatches() {
    if (batches != null) {
      batches.stop();
    }
  }

  /** The base URL for clients. */
  public String url() {
    return url(scheme(), config.proxy().listen().host(), server.port());
  }

  private String scheme() {
    return scheme(config.proxy().listen().tls());
  }

  private static String scheme(ServerTlsSettings tls) {
    return tls.enabled() ? "https" : "http";
  }

  /** The base URL of the admin listener. */
  public String adminUrl() {
    return url(scheme(config.access().tls()), config.access().host(), server.adminPort());
  }

  private static String url(String scheme, String host, int port) {
    return scheme + "://" + (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
  }

  /** The URL of the metrics; null if they are disabled. */
  public @Nullable String metricsUrl() {
    return metrics == null
        ? null
        : url(scheme(config.metrics().tls()), config.metrics().host(), metrics.port()) + "/metrics";
  }

  public Fleet fleet() {
    return fleet;
  }

  /**
   * Changes to another configuration at run time. Nothing is changed if it is refused. Requests in
   * progress end under the old configuration.
   *
   * @param before the present configuration
   * @throws IllegalArgumentException with the reason, if the router needs a restart or a value
   *     cannot be used
   * @throws IllegalStateException if there is no room for all workers
   */
  public synchronized void change(PointsmanConfig before, PointsmanConfig next) {
    if (!before.canBecome(next)) {
      throw new IllegalArgumentException("configuration: needs a restart");
    }
    boolean samePolicies =
        before.policy().equals(next.policy())
            && before.policies().equals(next.policies())
            && before.models().equals(next.models());
    if (!samePolicies && !TokenAsking.heardAlready(config, next)) {
      throw new IllegalArgumentException(
          "policy: uses KV events (expected: a restart, because the router subscribes to them only"
              + " at the start)");
    }
    EngineAssembly.Rebuilt rebuilt = samePolicies ? null : assembly.core.rebuilt(next);
    configureWorkers(before.workers(), next.workers());
    assembly.use(next, rebuilt, server);
  }

  /** Answers calls of the admin API for a reload. */
  public void onReload(Supplier<ReloadApi.Outcome> action) {
    assembly.reloads.action(action);
  }

  /**
   * Replaces the configured workers {@code before} by {@code next} at run time. A worker that was
   * removed through the API is added again, and one with other settings is replaced. Both get
   * traffic after their first good probe. Workers added by others stay; requests on removed workers
   * continue to their end.
   *
   * @throws IllegalStateException if there is no room for all; nothing is changed in this case
   * @throws IllegalArgumentException if a file for TLS cannot be used; nothing is changed
   */
  public void configureWorkers(List<WorkerSpec> before, List<WorkerSpec> next) {
    tls.prepare(next);
    new ConfiguredWorkers(fleet, assembly.core.sources)
        .change(NameWorkers.single(before), NameWorkers.single(next));
    configured.set(List.copyOf(next));
    nameWorkers.configure(next);
  }

  /** Replaces the models' further names at run time. */
  public void configureAliases(Map<String, String> modelsByAlias) {
    changes.aliases(modelsByAlias);
  }

  /** Sets the settings that {@code GET /health} shows; none if the map is empty. */
  public void showDynamicConfig(Map<String, String> settings) {
    dynamicConfig.set(Map.copyOf(settings));
  }

  /** Number of active client requests for workers, including requests that wait for admission. */
  public int running() {
    return server.running();
  }

  /** Number of client requests that wait for admission. */
  public int queued() {
    return server.queued();
  }

  /** Number of requests placed on workers and not ended. */
  public int inFlight() {
    return fleet.snapshot().workers().stream().mapToInt(Worker::inFlight).sum();
  }

  /**
   * Stops the router. Readiness becomes false, the port closes after the drain delay, and active
   * requests get the drain timeout to end. Then everything is closed.
   */
  @Override
  public void close() {
    if (draining.compareAndSet(false, true)) {
      // Beside the drain, because a batch may take seconds to stop.
      Thread batchesStop = Thread.ofPlatform().name("stop-batches").start(this::stopBatches);
      server.close();
      join(batchesStop);
      OpenedParts.closeAll(control);
    }
  }

  private static void join(Thread thread) {
    try {
      thread.join(BATCHES_STOP);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
