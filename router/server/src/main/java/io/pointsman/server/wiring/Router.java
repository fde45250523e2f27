package io.pointsman.server.wiring;

import io.pointsman.api.admin.ControlApi;
import io.pointsman.api.admin.HealthApi;
import io.pointsman.api.admin.KeyValidation;
import io.pointsman.api.admin.MaintenanceApi;
import io.pointsman.api.admin.Membership;
import io.pointsman.api.admin.ModelCards;
import io.pointsman.api.admin.ModelsApi;
import io.pointsman.api.admin.RayProxyApi;
import io.pointsman.api.admin.RefusedPaths;
import io.pointsman.api.admin.WorkerList;
import io.pointsman.api.admin.WorkersApi;
import io.pointsman.api.decide.DecideApi;
import io.pointsman.api.decide.DecisionService;
import io.pointsman.api.decide.LeasesApi;
import io.pointsman.api.decide.RayRouteApi;
import io.pointsman.api.decide.SplitPlaces;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.control.env.SystemTicker;
import io.pointsman.control.env.ThreadRandomSource;
import io.pointsman.control.health.EngineClient;
import io.pointsman.control.health.FleetJournal;
import io.pointsman.control.health.KvCapacity;
import io.pointsman.control.health.Prober;
import io.pointsman.control.health.Rounds;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.StagePolicies;
import io.pointsman.engine.choice.Choices;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.kv.KvFeed;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.kv.KvKnowledge;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.policy.session.SessionAffinity;
import io.pointsman.engine.policy.session.SessionTable;
import io.pointsman.engine.policy.tier.Tiers;
import io.pointsman.engine.prefix.PrefixIndex;
import io.pointsman.observe.metrics.MetricsServer;
import io.pointsman.observe.metrics.RouterMetrics;
import io.pointsman.observe.tracing.Tracing;
import io.pointsman.pd.execution.PdContext;
import io.pointsman.pd.execution.PdHandlers;
import io.pointsman.plane.haproxy.SpoeListener;
import io.pointsman.proxy.ProxyContext;
import io.pointsman.proxy.ProxyServer;
import io.pointsman.proxy.admission.AdmissionSettings;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.loop.RequestHandlerFactory;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.proxy.telemetry.RequestTracer;
import io.pointsman.proxy.upstream.NameTable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A running router: fleet, engine, proxy and background tasks. The port opens before any worker is
 * healthy.
 */
public final class Router implements AutoCloseable {
  private static final Duration LOOK = Duration.ofSeconds(1);
  private static final Duration LEASE_LOOK = Duration.ofMillis(50);

  private final PointsmanConfig config;
  private final Fleet fleet;
  private final ProxyServer server;
  private final @Nullable MetricsServer metrics;
  private final Deque<AutoCloseable> control;
  private final AtomicBoolean draining;

  private Router(Assembly assembly, ProxyServer server, @Nullable MetricsServer metrics) {
    config = assembly.config;
    fleet = assembly.fleet;
    control = assembly.control;
    draining = assembly.draining;
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
    Deque<AutoCloseable> control = new ArrayDeque<>();
    JvmNames.forgetAtOnce();
    try {
      Assembly assembly = new Assembly(config, version, control);
      ProxyServer server = assembly.openProxy();
      MetricsServer metrics = assembly.openMetrics();
      assembly.beginWatching();
      control.remove(server);
      return new Router(assembly, server, metrics);
    } catch (IOException | IllegalArgumentException e) {
      OpenedParts.closeAll(control);
      throw new StartException(String.valueOf(e.getMessage()), e);
    } catch (RuntimeException e) {
      OpenedParts.closeAll(control);
      throw e;
    }
  }

  /** The parts of a router before it runs. */
  private static final class Assembly {
    private final PointsmanConfig config;
    private final Ticker ticker = new SystemTicker();
    private final RandomSource dice = new ThreadRandomSource();
    private final AtomicBoolean draining = new AtomicBoolean();

    /** Resources to close, newest first; filled even if the assembly fails. */
    private final Deque<AutoCloseable> control;

    private final Fleet fleet;

    /** Configured policy names by model. */
    private Map<String, String> modelPolicies = Map.of();

    private final RouterMetrics metrics;
    private final NameTable names;
    private final EngineClient client;
    private final Prober prober;
    private final ModelCards cards;
    private final RequestTracer tracer;
    private final Observers observers;

    /** The KV index and the token ids of texts; the KV-event sources feed the index. */
    private final KvKnowledge knowledge;

    Assembly(PointsmanConfig config, String version, Deque<AutoCloseable> control) {
      this.config = config;
      this.control = control;
      fleet = new Fleet(config.fleet(), ticker);
      int maxWorkers = config.fleet().maxWorkers();
      addWorkers(maxWorkers);
      long kvBytes = config.policies().kvAware().maxIndexBytes();
      knowledge =
          new KvKnowledge(
              new KvIndex(kvBytes, maxWorkers, ticker), TokenAsking.texts(config, ticker));
      metrics = new RouterMetrics(fleet, this::policyOf, maxWorkers, ticker, version);
      names =
          new NameTable(
              NameTable::ofSystem,
              config.proxy().upstream().nameTtl(),
              config.proxy().upstream().connectTimeout(),
              ticker);
      client = new EngineClient(config.controlKeys(), ticker, names::await);
      cards = new ModelCards(fleet);
      tracer = config.tracing().enabled() ? tracing(version) : RequestTracer.NONE;
      prober = new Prober(fleet, config.probes(), client, ticker, dice).onModels(this::told);
      observers = new Observers(config, this::policyOf, ticker, dice);
    }

    private void told(Worker worker, byte[] models) {
      cards.learned(worker, models);
      if (ConfiguredPolicies.needKvCapacity(config, worker.spec().role())) {
        new KvCapacity(client, config.probes().timeout()).learn(worker);
      }
    }

    private String policyOf(Role role) {
      return ConfiguredPolicies.of(config, role);
    }

    private String policyOf(RoutingRequest request) {
      return policyOf(request.role(), request.model());
    }

    private String policyOf(Role role, @Nullable String model) {
      String ofRole = policyOf(role);
      return role == Role.REGULAR ? ModelPolicies.name(modelPolicies, model, ofRole) : ofRole;
    }

    private void addWorkers(int maxWorkers) {
      try {
        fleet.addAll(config.workers());
      } catch (IllegalStateException full) {
        int workers = config.workers().size();
        throw new IllegalArgumentException(
            "workers: " + workers + " (expected: at most " + maxWorkers + ", max-workers)", full);
      }
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
      int maxWorkers = config.fleet().maxWorkers();
      PolicyParts parts =
          new PolicyParts(
              ticker,
              dice,
              maxWorkers,
              config.policies(),
              knowledge,
              SystemLargePages.ofThisMachine());
      PolicyClasses classes = new PolicyClasses(config.pluginDirectory(), control);
      Tiers tiers = PreferredWorkers.of(config, fleet, dice);
      PolicySetup policy = tiers.around(classes.create(config.policy(), parts));
      WatchfulListener listener =
          new WatchfulListener(metrics.engineListener(), prober, observers.log()::draws);
      Disaggregation two =
          config.disagg().enabled()
              ? new Disaggregation(config.disagg(), fleet, maxWorkers, ticker)
              : null;
      ModelPolicies models = new ModelPolicies(config, classes, parts, tiers);
      modelPolicies = models.names();
      metrics.policiesOfModels(modelPolicies);
      metrics.expect(config.engine().expectedModels());
      StagePolicies ofRoles =
          two == null
              ? StagePolicies.same(policy)
              : two.policies(
                  policy,
                  // Prefill policies have no affinity: the prefix finds the state that a session
                  // leaves on a prefill worker.
                  name -> tiers.around(classes.create(name, withoutAffinity(parts))),
                  name -> tiers.around(two.decodePolicy(name, parts, classes::create)));
      StagePolicies policies = ofRoles.with(models.setups());
      RoutingEngine engine =
          new RoutingEngine(
              fleet,
              observers.watch(policies, fleet, metrics, classes::create, parts, control),
              config.engine(),
              listener,
              ticker,
              dice);
      CallerCheck callers = callers();
      PromptListener prompts =
          TokenAsking.start(config, fleet, knowledge, client, ticker, control, metrics::kvTokens);
      ProxyContext context =
          new ProxyContext(
              engine,
              config.affinity(),
              routes(policies, engine, callers, two, prompts),
              callers,
              metrics.proxyListener(),
              tracer,
              prompts,
              ticker,
              dice,
              names,
              two == null ? RequestHandlerFactory.NONE : courses(two, engine));
      ProxyServer server = ProxyServer.start(DefaultConnectionLimit.in(config.proxy()), context);
      control.push(server);
      LoopScheduling.request(server);
      measure(policies, server);
      if (two != null) {
        PeerListeners.open(config.peers(), two, fleet, maxWorkers, ticker, control);
      }
      if (TokenAsking.hears(config)) {
        KvFeed feed = knowledge.index();
        control.push(
            KvHearing.start(config.kvEvents(), fleet, feed, client, ticker, metrics::kvEvents));
      }
      return server;
    }

    private RequestHandlerFactory courses(Disaggregation two, RoutingEngine engine) {
      PdContext plane =
          two.plane(
              engine,
              metrics.splitListener(),
              config.affinity(),
              config.proxy().headers().workerHeader(),
              dice);
      metrics.splitWaiting(plane.room()::waiting);
      return state -> new PdHandlers(state, plane);
    }

    private static PolicyParts withoutAffinity(PolicyParts parts) {
      return parts.with(parts.settings().withAffinity(SessionAffinity.Mode.OFF));
    }

    /** Adds the metrics; those of several policies are summed. */
    private void measure(StagePolicies policies, ProxyServer server) {
      metrics
          .clients(server::clients, server.clientsLimit())
          .queue(server::queued)
          .heldBack(server::heldBack)
          .bodies(server.bodies());
      metrics.kvIndex(knowledge.index());
      if (config.metrics().vllmRouterNames()) {
        metrics.withVllmRouterNames(config.policies().affinity() != SessionAffinity.Mode.OFF);
      }
      if (config.metrics().likeProductionStack()) {
        metrics.withProductionStackNames();
      }
      List<PolicySetup> setups = new ArrayList<>(policies.byModel().values());
      setups.add(policies.regular());
      List<PrefixIndex> indexes =
          setups.stream().map(PolicySetup::prefixes).flatMap(Stream::ofNullable).toList();
      if (!indexes.isEmpty()) {
        metrics.prefixIndex(indexes);
      }
      List<SessionTable> sessions = policies.sessions();
      if (!sessions.isEmpty()) {
        metrics.sessions(() -> sessions.stream().mapToLong(SessionTable::size).sum());
      }
    }

    private CallerCheck callers() {
      return config.auth().validationUrls().isEmpty()
          ? CallerCheck.NONE
          : new KeyValidation(config.auth(), new KeyServers(ticker), ticker);
    }

    /** Builds the routes that the router answers itself. */
    private LocalRoutes routes(
        StagePolicies policies,
        RoutingEngine engine,
        CallerCheck callers,
        @Nullable Disaggregation two,
        PromptListener prompts)
        throws IOException {
      LocalRoutes.Builder routes = LocalRoutes.builder();
      Membership membership =
          new Membership(fleet, config.admin(), config.disagg(), ticker, Thread::sleep);
      boolean ofWorkers = config.admin().healthOfWorkers();
      boolean holds = config.proxy().holdBack().withoutWorker().isPositive();
      new HealthApi(fleet, membership, ofWorkers, config.disagg(), draining::get, holds)
          .addTo(routes);
      String application = config.admin().rayApplication();
      if (!application.isEmpty()) {
        new RayProxyApi(fleet, application, draining::get).addTo(routes);
      }
      if (config.admin().mergedModels()) {
        new ModelsApi(cards).addTo(routes);
      }
      if (config.admin().enabled()) {
        new WorkersApi(fleet, membership, ticker).addTo(routes);
        new MaintenanceApi(fleet, client::send, policies.sessions()).addTo(routes);
        observers.addTo(routes);
      } else if (config.decide().enabled()) {
        new WorkerList(fleet).addTo(routes);
      }
      if (config.decide().enabled()) {
        choiceForOthers(engine, callers, two, prompts, routes);
      } else {
        RayRouteApi.off(routes);
      }
      if (config.metrics().enabled() && config.metrics().likeProductionStack()) {
        metrics.addTo(routes);
      }
      new RefusedPaths(config.admin().refusedPaths()).addTo(routes);
      ControlApi.EngineCall calls = ControlApi.calling(client, config.admin().controlTimeout());
      new ControlApi(fleet, calls, prober.sleeping(), prober::modelsChanged)
          .addTo(routes, Set.copyOf(config.admin().refusedPaths()));
      return routes.build();
    }

    private void choiceForOthers(
        RoutingEngine engine,
        CallerCheck callers,
        @Nullable Disaggregation two,
        PromptListener prompts,
        LocalRoutes.Builder routes)
        throws IOException {
      Choices choices = new Choices(engine, config.decide().hold(), ticker, dice);
      boolean decodes = two != null && config.disagg().split().decodeServesWhole();
      SplitPlaces split = two == null ? null : two.places(engine, choices, dice);
      AdmissionSettings lines = config.proxy().admission();
      DecisionService planes =
          new DecisionService(
              engine, choices, config.affinity(), decodes, lines, split, prompts, ticker, dice);
      new DecideApi(planes, this::policyOf).addTo(routes);
      new LeasesApi(planes).addTo(routes);
      RayRouteApi route = new RayRouteApi(planes).addTo(routes);
      metrics.heldLeases(choices);
      control.push(Rounds.start("held-leases", LEASE_LOOK, choices::expireDue));
      if (!config.decide().spoeAddress().isEmpty()) {
        SpoeListener listener = SpoeListener.open(config.decide().spoeAddress(), route, callers);
        control.push(listener);
        listener.addTo(routes);
      }
    }

    @Nullable MetricsServer openMetrics() throws IOException {
      if (!config.metrics().enabled()) {
        return null;
      }
      String host = config.metrics().host();
      int port = config.metrics().port();
      try {
        MetricsServer server = MetricsServer.open(metrics, new InetSocketAddress(host, port));
        control.push(server);
        return server;
      } catch (IOException e) {
        throw new IOException("metrics: " + host + ":" + port + " (expected: a free port)", e);
      }
    }

    void beginWatching() {
      control.push(prober.start());
      control.push(Rounds.start("fleet-journal", LOOK, new FleetJournal(fleet)::look));
      if (config.kubernetes().enabled()) {
        control.push(Discovery.start(config.kubernetes(), fleet, ticker));
      }
    }
  }

  /** The base URL for clients. */
  public String url() {
    return url(config.proxy().listen().host(), server.port());
  }

  private static String url(String host, int port) {
    return "http://" + (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
  }

  /** The URL of the metrics; null if they are disabled. */
  public @Nullable String metricsUrl() {
    return metrics == null ? null : url(config.metrics().host(), metrics.port()) + "/metrics";
  }

  public Fleet fleet() {
    return fleet;
  }

  /**
   * Replaces the configured workers {@code before} by {@code next} at run time. A worker that was
   * removed through the API is added again, and one with other settings is replaced. Both get
   * traffic after their first good probe. Workers added by others stay; requests on removed workers
   * continue to their end.
   *
   * @throws IllegalStateException if there is no room for all; nothing is changed in this case
   */
  public void configureWorkers(List<WorkerSpec> before, List<WorkerSpec> next) {
    new ConfiguredWorkers(fleet).change(before, next);
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
      server.close();
      OpenedParts.closeAll(control);
    }
  }
}
