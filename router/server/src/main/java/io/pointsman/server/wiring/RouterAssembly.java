package io.pointsman.server.wiring;

import static java.util.Objects.requireNonNull;
import static java.util.stream.Collectors.joining;

import io.pointsman.api.admin.KeyValidation;
import io.pointsman.api.admin.Membership;
import io.pointsman.api.admin.ModelCards;
import io.pointsman.api.admin.ReloadApi;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.settings.AccessSettings;
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
import io.pointsman.observe.metrics.OtherNames;
import io.pointsman.observe.metrics.RouterMetrics;
import io.pointsman.pd.execution.ChangingHandlers;
import io.pointsman.pd.execution.PdContext;
import io.pointsman.proxy.ListenSettings;
import io.pointsman.proxy.ProxyContext;
import io.pointsman.proxy.ProxyServer;
import io.pointsman.proxy.ProxySettings;
import io.pointsman.proxy.identity.KeyHolder;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.local.ServedPaths;
import io.pointsman.proxy.loop.RequestHandlerFactory;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.proxy.telemetry.ProxyListener;
import io.pointsman.proxy.tls.ListenerTls;
import io.pointsman.proxy.tls.TlsProvider;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The parts of a router before it runs. The constructor builds those without a listener, and {@link
 * #openProxy} the others. It is long because it is the one place that connects the parts. Only
 * {@link RouterRoutes} knows this class, because the routes read many parts.
 */
final class RouterAssembly {
  private static final Logger log = LoggerFactory.getLogger(Router.class);

  /** Maximum number of workers with labels in a message. */
  private static final int MOST_LABELS = 4;

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
  private final Traces traces;
  final Observers observers;
  final BodyChanges changes;
  final Membership membership;

  /** Files and batches. */
  final Batches batches = new Batches(this::holderNamed);

  /** The address where HAProxy asks by SPOE. */
  final SpoeListeners spoe = new SpoeListeners();

  final String version;

  /** Null before the proxy is open. */
  private @Nullable RoutingEngine engine;

  /** Null before the proxy is open. */
  private volatile @Nullable ProxyServer proxy;

  /** Null before the proxy is open. */
  private @Nullable RouterRoutes routes;

  /** Null before all are open. */
  @Nullable Listeners listeners;

  /** Null before the proxy is open. */
  private @Nullable CallerKeys keys;

  /** The limit on clients of a configuration without one, from the descriptors at the start. */
  private int defaultConnections;

  /** Null before the proxy is open. */
  private @Nullable RequestLines lines;

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
    metrics = new RouterMetrics(fleet, this::policyOf, fleet.slots(), ticker, version);
    metrics.policiesOfModels(core.modelPolicies);
    metrics.expect(config.engine().expectedModels());
    cards = new ModelCards(fleet);
    core.onModels(cards::learned);
    traces =
        new Traces(
            () -> this.config.policy(),
            instance(),
            version,
            ticker,
            counts -> metrics.spans(counts::exported, counts::failed, counts::dropped));
    control.push(traces);
    traces.prepared(config.tracing()).apply();
    control.push(spoe);
    control.push(batches);
    changes = new BodyChanges(config);
    core.onNames(metrics::expect, changes::discovered);
    this.version = version;
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
    RouterRoutes answered = new RouterRoutes(this, engine, ofCallers, prompts);
    routes = answered;
    batches.open(config);
    ServedPaths paths = answered.by(config, ofCallers.present(), batches.present());
    spoe.open(config.decide().spoeAddress());
    ProxyContext context =
        new ProxyContext(
            engine,
            config.affinity(),
            paths,
            callers(ofCallers.present()),
            listener(),
            traces,
            prompts,
            changes,
            ticker,
            random,
            core.names,
            core.tls,
            handlers(two, engine),
            core.router);
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
    measure(server);
    core.listen(metrics::kvEvents);
    return server;
  }

  /** The check of clients, which also knows the requests of batches. */
  private CallerCheck callers(RouterKeys by) {
    return batches.around(by.callers());
  }

  private @Nullable KeyHolder holderNamed(String name) {
    return requireNonNull(keys).present().ring().holderNamed(name);
  }

  private ProxyListener listener() {
    ProxyListener counted = observers.activity().around(metrics.proxyListener());
    ProxyListener known = new MissingModels(counted, core.prober);
    ProxyListener all = new WakingListener(known, wakes(), () -> config.wakeSleeping());
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

  private RequestHandlerFactory handlers(Disaggregation two, RoutingEngine engine) {
    Supplier<@Nullable PdContext> contexts =
        two.builtIn(
            engine,
            metrics.splitListener(),
            config.affinity(),
            () -> config.proxy().headers().workerHeader(),
            random,
            this::labels,
            metrics::splitWaiting);
    return state -> new ChangingHandlers(state, contexts);
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
    metrics.use(otherNames(config));
    measurePolicies();
  }

  /** None without a page of metrics. */
  private OtherNames otherNames(PointsmanConfig by) {
    boolean shown = by.metrics().enabled();
    return metrics.otherNames(
        shown && by.metrics().vllmRouterNames(),
        shown && by.metrics().likeProductionStack(),
        () -> config.policies().affinity() != SessionAffinity.Mode.OFF);
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
   * Adds the parts of another configuration. Changes nothing that is in use. Parts that can be
   * undone with all their state are first, and parts that cannot fail are last.
   *
   * @throws IllegalArgumentException if a policy, a cluster, an address, or a file or variable of
   *     keys cannot be used
   */
  void prepare(ConfigChange change, PointsmanConfig next, ProxyServer server) {
    PointsmanConfig before = config;
    server.refuseBacklog(next.proxy().listen());
    CallerKeys ofCallers = requireNonNull(keys);
    RouterKeys keysBefore = ofCallers.present();
    RouterKeys keysNext = ofCallers.prepared(before, next);
    change.add(
        ChangePart.of(
                "keys of callers", () -> ofCallers.use(keysNext), () -> ofCallers.use(keysBefore))
            .releasing(() -> ofCallers.drop(keysNext), () -> ofCallers.drop(keysBefore)));
    core.prepareSettings(change, before, next);
    Listeners opened = requireNonNull(listeners);
    Listeners.Tls tls = opened.preparedTls(next);
    change.add(
        ChangePart.of("tls", tls::apply, () -> opened.undo(tls))
            .releasing(tls::drop, () -> opened.finish(tls)));
    change.add(
        "keys for engines", () -> useEngineKeys(next, server), () -> useEngineKeys(before, server));
    change.add("settings", () -> useSettings(next), () -> useSettings(before));
    change.open("decide.spoe-address", () -> spoe.prepared(next.decide().spoeAddress()));
    change.add(ChangePart.of("tracing", traces.prepared(next.tracing())));
    preparePolicies(change, before, next);
    prepareObservers(change, next);
    Batches.Change files = change.open("batch", () -> batches.prepared(next));
    ServedPaths paths = requireNonNull(routes).by(next, keysNext, files.service());
    RoutingEngine routing = requireNonNull(engine);
    RoutingEngine.InForce routingBefore = routing.inForce();
    ProxyServer.InForce serverBefore = server.inForce();
    change.add(
        "requests",
        () -> useForRequests(next, paths, keysNext, server),
        () -> {
          routing.restore(routingBefore);
          server.restore(serverBefore);
        });
  }

  /** The engine that decides about requests. */
  RoutingEngine routing() {
    return requireNonNull(engine);
  }

  /** Adds the listeners of another configuration, which come into force after all other parts. */
  void prepareListeners(ConfigChange change, PointsmanConfig next) {
    PointsmanConfig before = config;
    Listeners opened = requireNonNull(listeners);
    Listeners.Addresses addresses = opened.prepared(before, next);
    change.add(
        ChangePart.last(
            "listeners",
            addresses::drop,
            () -> {
              opened.use(addresses);
              if (!before.access().equals(next.access())) {
                warnOf(next.access());
              }
            }));
  }

  private void preparePolicies(ConfigChange change, PointsmanConfig before, PointsmanConfig next) {
    RolePolicies.Built rebuilt = core.rebuilt(before, next);
    if (rebuilt != null) {
      RolePolicies.Built present = core.builtPolicies();
      change.add("policies", () -> use(rebuilt, next), () -> use(present, before));
    }
  }

  private void prepareObservers(ConfigChange change, PointsmanConfig next) {
    Shadow shadow = observers.shadow();
    Shadow.Compared before = shadow.present();
    Shadow.Compared compared = shadow.prepared(next);
    change.add(
        ChangePart.of("shadow-policy", () -> shadow.use(compared), () -> shadow.use(before))
            .releasing(() -> shadow.drop(compared), () -> shadow.drop(before)));
    change.open("capture", () -> core.captures.prepared(next.capture()));
    OtherNames namesBefore = metrics.otherNames();
    OtherNames names = otherNames(next);
    change.add("metrics", () -> metrics.use(names), () -> metrics.use(namesBefore));
  }

  /** Uses the keys for engines in everything that is sent from here on. */
  private void useEngineKeys(PointsmanConfig by, ProxyServer server) {
    core.client.use(by.controlKeys());
    server.useKeys(by.proxy().upstream().keys());
  }

  /** Uses the settings that have no resources. */
  private void useSettings(PointsmanConfig by) {
    config = by;
    batches.use(by.batch());
    changes.use(by);
    metrics.expect(by.engine().expectedModels());
    membership.use(by.admin(), by.disagg());
    observers.log().use(by.decisions());
    requireNonNull(lines).use(by.log());
  }

  private void use(RolePolicies.Built built, PointsmanConfig by) {
    // Metrics name policies as the configuration does.
    config = by;
    core.use(built, by);
    metrics.policiesChanged();
    metrics.policiesOfModels(built.names());
    observers.measure(core, metrics);
    measurePolicies();
  }

  /** Uses the policies, with their observers, and the settings of requests. */
  private void useForRequests(
      PointsmanConfig next, ServedPaths paths, RouterKeys ofCallers, ProxyServer server) {
    requireNonNull(engine)
        .use(
            core.captures.around(observers.watched(core.policies)),
            next.engine(),
            core.keptLearners());
    // The start has computed a part of the listener's settings.
    server.use(
        next.proxy().withListen(listen(next.proxy().listen(), server.listen())),
        next.affinity(),
        paths,
        callers(ofCallers));
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

  /** Opens the port of the metrics, if they are enabled. */
  void openMetrics() throws IOException {
    Listeners opened =
        new Listeners(
            metrics,
            requireNonNull(routes).health(),
            ListenerTls.open("metrics-tls", Listeners.ofMetrics(config), false, TlsProvider.JDK),
            () -> config.proxy().listen().hostNames());
    control.push(opened);
    opened.follow(requireNonNull(proxy));
    opened.openMetrics(config.metrics());
    opened.look();
    listeners = opened;
  }
}
