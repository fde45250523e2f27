package io.pointsman.server.wiring;

import static java.util.Objects.requireNonNull;

import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.settings.AccessSettings;
import io.pointsman.config.settings.WorkerNetworks;
import io.pointsman.control.discovery.DiscoveryTally;
import io.pointsman.control.env.SecureRandomSource;
import io.pointsman.control.env.SystemTicker;
import io.pointsman.control.env.ThreadRandomSource;
import io.pointsman.control.health.BackgroundPolls;
import io.pointsman.control.health.EngineClient;
import io.pointsman.control.health.EngineLoads;
import io.pointsman.control.health.FleetJournal;
import io.pointsman.control.health.KvCapacity;
import io.pointsman.control.health.Prober;
import io.pointsman.control.health.Rounds;
import io.pointsman.control.kvevents.KvEventTally;
import io.pointsman.control.kvevents.KvEvents;
import io.pointsman.control.kvtokens.TokenTally;
import io.pointsman.control.names.NameWorkers;
import io.pointsman.control.names.WorkerOrigins;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.StagePolicies;
import io.pointsman.engine.choice.Choices;
import io.pointsman.engine.choice.ExternalLeaseSettings;
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSource;
import io.pointsman.engine.fleet.WorkerSources;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.kv.KnownTexts;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.kv.KvKnowledge;
import io.pointsman.engine.policy.Insight;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.kubernetes.PodDiscovery;
import io.pointsman.observe.decisions.FallbackJournal;
import io.pointsman.observe.logging.RefusalJournal;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.proxy.upstream.EngineTls;
import io.pointsman.proxy.upstream.NameTable;
import io.pointsman.proxy.wire.RouterId;
import io.pointsman.request.reader.Readers;
import io.pointsman.server.scheduling.SystemScheduling;
import java.io.IOException;
import java.time.Duration;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Builds the part of a router that chooses workers: fleet, probes, discovery, KV knowledge,
 * policies, engine. The router and the embedded engine both use it. The constructor builds the
 * parts, and {@link #listen} and {@link #watch} start them. It is long because this is the one
 * place that connects these parts.
 */
final class EngineAssembly {
  private static final Duration LOOK = Duration.ofSeconds(1);

  /** Pause between two looks at the files of TLS, of which there may be one for each worker. */
  private static final Duration FILES_PAUSE = Duration.ofSeconds(3);

  private static final Duration LEASE_LOOK = Duration.ofMillis(50);

  final PointsmanConfig config;

  /** The configuration in force; {@link #config} is that of the start. */
  private volatile PointsmanConfig present;

  private final Capacities capacities;
  final Ticker ticker = new SystemTicker();
  final RandomSource random = new ThreadRandomSource();

  /** Identity of this process towards other routers. */
  final RouterId router = RouterId.random(new SecureRandomSource());

  final SystemScheduling scheduling;
  final Fleet fleet;

  /** The sources that keep each worker in the fleet. */
  final WorkerSources sources;

  /** The problems of these sources. */
  final DiscoveryTally discovery = new DiscoveryTally();

  /** Workers from a file and from DNS. */
  private final OtherSources otherSources;

  /** Workers from a Kubernetes cluster. */
  private final Discovery cluster;

  /** Addresses of workers' names, for probes and requests. */
  final NameTable names;

  /** Workers that stand for each address of a name. */
  final NameWorkers nameWorkers;

  /** TLS to workers, for probes and requests. */
  final EngineTls tls;

  /** Workers in the present configuration. */
  final AtomicReference<List<WorkerSpec>> configured;

  /** Rules for workers that others add. */
  final WorkerOrigins origins;

  final EngineClient client;
  final Prober prober;

  /** The KV index and the token ids of texts; the KV-event sources feed the index. */
  final KvKnowledge knowledge;

  /** The token ids of texts. */
  private final TextTokens tokens;

  /** Null before {@link #listen}. */
  private @Nullable KvSubscriptions subscriptions;

  /** Null before {@link #listen}. */
  private @Nullable BootstrapServers bootstrap;

  /** Null before {@link #listen}. */
  private @Nullable PeerListeners peers;

  /** Creates policies by name. */
  final PolicyClasses classes;

  final PolicyParts parts;

  /** The policies without observers; replaced when the configuration changes. */
  volatile StagePolicies policies;

  /** Configured policy names by model; replaced when the configuration changes. */
  volatile Map<String, String> modelPolicies;

  /** Builds the policies of all roles. */
  private final RolePolicies builder;

  /** The load that engines report. */
  private final EngineLoads loads;

  /** The questions to engines for their responses in the background. */
  private final BackgroundPolls background;

  /** The questions to engines for their load. */
  private final ChangingRounds loadRounds;

  /** The looks at the addresses of names. */
  private final ChangingRounds nameRounds;

  /** Prefill and decode on separate workers. */
  final Disaggregation two;

  /** The capture of traffic. */
  final Captures captures;

  /** The log of refused requests. */
  final RefusalJournal refusals;

  /** Logs fallbacks of policies; null before the start. */
  private volatile @Nullable FallbackJournal fallbacks;

  /** The engine; null before it is created. */
  private volatile @Nullable RoutingEngine routing;

  /** The leases of other proxies; null without them. */
  private @Nullable Choices choices;

  private Consumer<Set<String>> onExpected = _ -> {};
  private Consumer<Map<String, String>> onAliases = _ -> {};

  /** Resources to close, newest first. */
  private final Deque<AutoCloseable> opened;

  /**
   * @param opened receives the resources to close, also if the constructor fails
   * @throws IllegalArgumentException if the configuration cannot be used
   * @throws IOException if the trace capture cannot be written
   */
  EngineAssembly(PointsmanConfig config, Deque<AutoCloseable> opened) throws IOException {
    this.config = config;
    present = config;
    this.opened = opened;
    JvmNames.forgetAtOnce();
    scheduling = new SystemScheduling(config.systemScheduling());
    configured = new AtomicReference<>(config.workers());
    origins =
        new WorkerOrigins(
            new WorkerNetworks(config.access().workerNetworks()),
            config.access().keyOrigins(),
            configured::get);
    fleet = new Fleet(config.fleet(), ticker);
    int slots = fleet.slots();
    sources = new WorkerSources(fleet);
    addWorkers(config.fleet().maxWorkers());
    names =
        new NameTable(
            NameTable::ofSystem,
            config.proxy().upstream().nameTtl(),
            config.proxy().upstream().connectTimeout(),
            ticker);
    nameWorkers =
        new NameWorkers(
            fleet,
            sources,
            host -> names.await(host, present.proxy().upstream().connectTimeout().toNanos()),
            config.workers());
    tls = new EngineTls(config.engineTls(), systemCaFile(), config.proxy().listen().tlsProvider());
    opened.push(tls);
    tls.prepare(config.workers());
    fleet.listen(snapshot -> tls.follow(snapshot.workers().stream().map(Worker::spec).toList()));
    otherSources = new OtherSources(config.disagg(), sources, tls, ticker, discovery);
    cluster =
        new Discovery(
            fleet,
            sources,
            ticker,
            discovery,
            this::expect,
            modelsByAlias -> onAliases.accept(modelsByAlias));
    client = new EngineClient(config.controlKeys(), ticker, names::await, tls).identifiedBy(router);
    prober = new Prober(fleet, config.probes(), client, ticker, random);
    loads =
        new EngineLoads(
            fleet, client::send, () -> present.probes().timeout(), Thread::startVirtualThread);
    background =
        new BackgroundPolls(
            fleet, client::send, () -> present.probes().timeout(), Thread::startVirtualThread);
    loadRounds = new ChangingRounds("engine-loads", loads::look);
    nameRounds = new ChangingRounds("names", nameWorkers::look);
    KvCapacity capacity = new KvCapacity(client, () -> present.probes().timeout());
    capacities = new Capacities(fleet, capacity, () -> present);
    onModels((_, _) -> {});
    long kvBytes = config.policies().kvAware().maxIndexBytes();
    KvIndex index = new KvIndex(kvBytes, slots, ticker);
    tokens = new TextTokens(fleet, client, ticker, index, () -> new Readers(present.affinity()));
    knowledge = new KvKnowledge(index, tokens);
    parts =
        new PolicyParts(
            ticker, random, slots, config.policies(), knowledge, scheduling.largePages());
    classes = new PolicyClasses();
    opened.push(classes);
    two = new Disaggregation(config.disagg(), fleet, slots, ticker);
    builder = new RolePolicies(classes, parts, new PreferredWorkers(fleet, random), two);
    RolePolicies.Built first = builder.first(config);
    modelPolicies = first.names();
    policies = first.policies();
    refusals = new RefusalJournal(() -> fleet.snapshot().modelNames(), ticker);
    captures = new Captures(ticker);
    opened.push(captures);
    captures.prepared(config.capture()).apply();
  }

  /** The file with CA certificates that the environment names, unless the JVM has another. */
  static String systemCaFile() {
    String file = System.getenv("SSL_CERT_FILE");
    return file == null || System.getProperty("javax.net.ssl.trustStore") != null ? "" : file;
  }

  private void addWorkers(int maxWorkers) {
    try {
      sources.add(WorkerSource.CONFIGURATION, NameWorkers.single(config.workers()));
    } catch (IllegalStateException full) {
      int workers = config.workers().size();
      throw new IllegalArgumentException(
          "workers: " + workers + " (expected: at most " + maxWorkers + ", max-workers)", full);
    }
  }

  /** Passes each worker's response about its models to {@code listener}. Call before the start. */
  void onModels(BiConsumer<Worker, byte[]> listener) {
    prober.onModels(
        (worker, models) -> {
          listener.accept(worker, models);
          capacities.learn(worker);
        });
  }

  /**
   * Prepares other policies; null if they are the same. Changes nothing that is in use.
   *
   * @throws IllegalArgumentException if a policy cannot be created
   */
  RolePolicies.@Nullable Built rebuilt(PointsmanConfig before, PointsmanConfig next) {
    return RolePolicies.same(before, next) ? null : builder.rebuilt(next);
  }

  /** The policies in use. */
  RolePolicies.Built builtPolicies() {
    return builder.present();
  }

  /** Adds the parts that come into force before the policies. */
  void prepareSettings(ConfigChange change, PointsmanConfig before, PointsmanConfig next) {
    EngineTls.Change files =
        tls.prepared(next.engineTls(), next.workers(), next.proxy().listen().tlsProvider());
    change.add(
        ChangePart.of("engine-tls", files::apply, () -> {}).releasing(files::undo, files::finish));
    change.add(
        "worker-networks", () -> useOrigins(next.access()), () -> useOrigins(before.access()));
    change.add(
        "health", () -> prober.configure(next.probes()), () -> prober.configure(before.probes()));
    change.add(
        "system-scheduling",
        () -> scheduling.use(next.systemScheduling()),
        () -> scheduling.use(before.systemScheduling()));
    change.add("engine settings", () -> present = next, () -> present = before);
    change.add(
        "fleet",
        () -> fleet.configure(withRoom(before, next)),
        () -> fleet.configure(before.fleet()));
    Choices leases = choices;
    if (leases != null) {
      change.add(
          "decide",
          () -> leases.use(next.decide().leases()),
          () -> leases.use(before.decide().leases()));
    }
    preparePeers(change, next);
    change.add("session-header", () -> two.use(next.affinity()), () -> two.use(before.affinity()));
  }

  /**
   * Adds another bound of the index of KV events. It comes into force when nothing can fail any
   * longer, because a lower bound loses blocks.
   */
  void prepareIndex(ConfigChange change, PointsmanConfig next) {
    long most = next.policies().kvAware().maxIndexBytes();
    change.add(
        ChangePart.last(
            "kv-aware.index-max-bytes", () -> {}, () -> knowledge.index().resize(most)));
  }

  /** Adds other addresses for engines; the protocol of the policies needs them first. */
  private void preparePeers(ConfigChange change, PointsmanConfig next) {
    PeerListeners listening = requireNonNull(peers);
    change.open("disaggregation.notification-address", () -> listening.prepared(next.peers()));
    change.open(
        "disaggregation.registration-address", () -> listening.preparedRegistrations(next.peers()));
  }

  /** The next settings of the fleet, with room for the workers of both configurations. */
  private static FleetSettings withRoom(PointsmanConfig before, PointsmanConfig next) {
    int most = Math.max(before.fleet().maxWorkers(), next.fleet().maxWorkers());
    return next.fleet().withMaxWorkers(most);
  }

  private void useOrigins(AccessSettings by) {
    origins.use(new WorkerNetworks(by.workerNetworks()), by.keyOrigins());
  }

  /**
   * Adds the parts that come into force after the policies. The last ones cannot be restored with
   * all their state.
   */
  void prepareSources(ConfigChange change, PointsmanConfig before, PointsmanConfig next) {
    change.add(
        "engine-load",
        () -> changeLoads(before.engineLoad(), next.engineLoad()),
        () -> changeLoads(next.engineLoad(), before.engineLoad()));
    change.add(
        "pool.name-ttl",
        () -> lookAtNames(next.proxy().upstream().nameTtl()),
        () -> lookAtNames(before.proxy().upstream().nameTtl()));
    change.add(ChangePart.of("kv-tokens", tokens.prepared(KvNeeds.tokens(next))));
    change.add(
        "discovery",
        () -> otherSources.use(next.discovery(), next.disagg()),
        () -> otherSources.use(before.discovery(), before.disagg()));
    PodDiscovery pods = cluster.prepared(next.kubernetes());
    change.add(
        ChangePart.of(
                "kubernetes",
                () -> cluster.use(next.kubernetes(), pods),
                () -> cluster.restore(before.kubernetes()))
            .releasing(pods == null ? () -> {} : pods::close, () -> {}));
    // After the departure of workers. To come back, they need the room again.
    change.add(
        "max-workers",
        () -> fleet.limit(next.fleet().maxWorkers()),
        () -> fleet.configure(withRoom(before, next)));
    change.add(
        ChangePart.of(
                "kv-events",
                () -> requireNonNull(subscriptions).use(KvNeeds.events(next)),
                () -> requireNonNull(subscriptions).use(KvNeeds.events(before)))
            .releasing(() -> {}, () -> KvNeeds.warnOfUnused(before, next)));
  }

  /** The insights of policies that predict, each once. */
  List<Insight> insights() {
    Set<Insight> all = new LinkedHashSet<>();
    for (PolicySetup setup : policies.all()) {
      Insight insight = setup.insight();
      if (insight != null) {
        all.add(insight);
      }
    }
    return List.copyOf(all);
  }

  /**
   * Creates the engine.
   *
   * @param observed the policies, with the observers of the caller
   * @param explained returns true if the next decision must be explained
   */
  RoutingEngine engine(StagePolicies observed, EngineListener listener, BooleanSupplier explained) {
    RoutingEngine created =
        new RoutingEngine(
            fleet,
            captures.around(observed),
            config.engine(),
            new WatchfulListener(listener, prober, explained, refusals),
            ticker,
            random);
    routing = created;
    return created;
  }

  /**
   * Sets the receivers of names that discovery finds. Call before the start.
   *
   * @param expected receives models that may have no worker, all each time
   * @param aliases receives the models by alias, all each time
   */
  void onNames(Consumer<Set<String>> expected, Consumer<Map<String, String>> aliases) {
    onExpected = expected;
    onAliases = aliases;
  }

  private void expect(Set<String> models) {
    RoutingEngine engine = routing;
    if (engine != null) {
      engine.expect(models);
    }
    onExpected.accept(models);
  }

  /**
   * Starts queries for token ids, if they are configured.
   *
   * @param measure receives the metrics before the first query
   * @return the listener for prompts that are sent
   */
  PromptListener prompts(BiConsumer<TokenTally, Supplier<@Nullable KnownTexts>> measure) {
    opened.push(tokens);
    tokens.measure(measure);
    tokens.use(KvNeeds.tokens(config));
    return tokens;
  }

  /** Creates external leases, which expire by themselves. */
  Choices choices(RoutingEngine engine, ExternalLeaseSettings limits) {
    Choices made = new Choices(engine, limits, ticker, new SecureRandomSource());
    choices = made;
    opened.push(Rounds.start("external-leases", LEASE_LOOK, made::expireDue));
    return made;
  }

  /**
   * Starts the receivers of engines' messages.
   *
   * @param measure receives the metrics of KV events before the first subscription
   * @throws IOException if an address cannot be bound
   */
  void listen(BiConsumer<KvEvents, KvEventTally> measure) throws IOException {
    BootstrapServers servers = new BootstrapServers(fleet, two.peers(), ticker);
    bootstrap = servers;
    opened.push(servers);
    askBootstrapServers();
    PeerListeners listening = new PeerListeners(two, fleet, fleet.slots(), origins, ticker);
    opened.push(listening);
    listening.open(config.peers());
    peers = listening;
    KvSubscriptions opening =
        new KvSubscriptions(fleet, knowledge.index(), client, origins::inNetworks, ticker, measure);
    subscriptions = opening;
    opened.push(opening);
    KvNeeds.warnOfUnused(null, config);
    opening.use(KvNeeds.events(config));
  }

  private void lookAtFallbacks() {
    FallbackJournal journal = fallbacks;
    if (journal != null) {
      journal.look();
    }
  }

  /** Uses rebuilt policies for the reports about policies, and their needs. */
  void use(RolePolicies.Built next, PointsmanConfig by) {
    policies = next.policies();
    modelPolicies = next.names();
    builder.use(next, by);
    fallbacks = new FallbackJournal(insights());
    present = by;
    capacities.learnMissing();
    askBootstrapServers();
  }

  private void askBootstrapServers() {
    BootstrapServers servers = bootstrap;
    if (servers != null) {
      servers.use(two.asksBootstrapServers());
    }
  }

  private void changeLoads(Duration before, Duration next) {
    if (!next.equals(before)) {
      askLoads(next);
    }
  }

  /** Asks engines for their load at this interval; 0: never. */
  private void askLoads(Duration interval) {
    if (interval.isPositive()) {
      loads.begin();
    }
    loadRounds.every(interval);
    if (!interval.isPositive()) {
      loads.forget();
    }
  }

  private void lookAtNames(Duration ttl) {
    nameRounds.every(ttl.compareTo(LOOK) < 0 ? LOOK : ttl);
  }

  /** Learners of earlier policies that a later policy may take over. */
  List<Learner> keptLearners() {
    return builder.learners();
  }

  /** Starts probes, stall checks, logs of state changes, and discovery. */
  void watch() {
    List<Insight> insights = insights();
    fallbacks = new FallbackJournal(insights);
    opened.push(Rounds.start("cost-fallback", LOOK, this::lookAtFallbacks));
    opened.push(prober.start());
    opened.push(Rounds.start("fleet-journal", LOOK, new FleetJournal(fleet)::look));
    opened.push(Rounds.start("background-responses", LOOK, background::look));
    opened.push(nameRounds);
    lookAtNames(config.proxy().upstream().nameTtl());
    opened.push(Rounds.start("engine-tls-files", FILES_PAUSE, tls::refresh));
    askLoads(config.engineLoad());
    opened.push(() -> askLoads(Duration.ZERO));
    opened.push(otherSources);
    otherSources.use(config.discovery(), config.disagg());
    opened.push(cluster);
    cluster.use(config.kubernetes(), cluster.prepared(config.kubernetes()));
  }
}
