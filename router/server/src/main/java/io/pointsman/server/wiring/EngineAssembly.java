package io.pointsman.server.wiring;

import static java.util.Objects.requireNonNull;

import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.settings.WorkerNetworks;
import io.pointsman.control.discovery.DiscoveryTally;
import io.pointsman.control.env.SecureRandomSource;
import io.pointsman.control.env.SystemTicker;
import io.pointsman.control.env.ThreadRandomSource;
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
import io.pointsman.engine.env.RandomSource;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
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
import io.pointsman.observe.capture.TraceCapture;
import io.pointsman.observe.decisions.FallbackJournal;
import io.pointsman.proxy.telemetry.PromptListener;
import io.pointsman.proxy.upstream.EngineTls;
import io.pointsman.proxy.upstream.NameTable;
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
 * parts, and {@link #listen} and {@link #watch} start them.
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

  /** Null before {@link #listen}, and without prefill and decode workers. */
  private @Nullable BootstrapServers bootstrap;

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

  /** The questions to engines for their load. */
  private final ChangingRounds loadRounds;

  /** The looks at the addresses of names. */
  private final ChangingRounds nameRounds;

  /** Prefill and decode on separate workers; null if disabled. */
  final @Nullable Disaggregation two;

  /** The capture of traffic. */
  final Captures captures;

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
    int maxWorkers = config.fleet().maxWorkers();
    fleet = new Fleet(config.fleet(), ticker);
    sources = new WorkerSources(fleet);
    addWorkers(maxWorkers);
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
    client = new EngineClient(config.controlKeys(), ticker, names::await, tls);
    prober = new Prober(fleet, config.probes(), client, ticker, random);
    loads =
        new EngineLoads(
            fleet, client::send, () -> present.probes().timeout(), Thread::startVirtualThread);
    loadRounds = new ChangingRounds("engine-loads", loads::look);
    nameRounds = new ChangingRounds("names", nameWorkers::look);
    KvCapacity capacity = new KvCapacity(client, () -> present.probes().timeout());
    capacities = new Capacities(fleet, capacity, () -> present);
    onModels((_, _) -> {});
    long kvBytes = config.policies().kvAware().maxIndexBytes();
    KvIndex index = new KvIndex(kvBytes, maxWorkers, ticker);
    tokens = new TextTokens(fleet, client, ticker, index, () -> new Readers(present.affinity()));
    knowledge = new KvKnowledge(index, tokens);
    parts =
        new PolicyParts(
            ticker, random, maxWorkers, config.policies(), knowledge, scheduling.largePages());
    classes = new PolicyClasses(config.pluginDirectory(), opened);
    two =
        config.disagg().enabled()
            ? new Disaggregation(config.disagg(), fleet, maxWorkers, ticker)
            : null;
    builder = new RolePolicies(classes, parts, new PreferredWorkers(fleet, random), two);
    RolePolicies.Built first = builder.first(config);
    modelPolicies = first.names();
    policies = first.policies();
    captures = new Captures(ticker);
    opened.push(captures);
    captures.use(config.capture(), captures.prepared(config.capture()));
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
   * Prepares a change. Changes nothing that is in use.
   *
   * @throws IllegalArgumentException if a policy cannot be created, or a cluster or a file for TLS
   *     cannot be used
   */
  EngineChange prepared(PointsmanConfig next, boolean samePolicies) {
    RolePolicies.Built rebuilt = samePolicies ? null : builder.rebuilt(next);
    EngineTls.Change files = tls.prepared(next.engineTls(), next.workers());
    TraceCapture capture = null;
    try {
      capture = captures.prepared(next.capture());
      return new EngineChange(rebuilt, cluster.prepared(next.kubernetes()), files, capture);
    } catch (IOException | RuntimeException e) {
      files.undo();
      if (capture != null) {
        capture.close();
      }
      throw e instanceof RuntimeException unchecked
          ? unchecked
          : new IllegalArgumentException(String.valueOf(e.getMessage()), e);
    }
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
            new WatchfulListener(listener, prober, explained),
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
  Choices choices(RoutingEngine engine) {
    Choices made = new Choices(engine, config.decide().hold(), ticker, new SecureRandomSource());
    choices = made;
    opened.push(Rounds.start("held-leases", LEASE_LOOK, made::expireDue));
    return made;
  }

  /**
   * Starts the receivers of engines' messages.
   *
   * @param measure receives the metrics of KV events before the first subscription
   * @throws IOException if an address cannot be bound
   */
  void listen(BiConsumer<KvEvents, KvEventTally> measure) throws IOException {
    if (two != null) {
      BootstrapServers servers = new BootstrapServers(fleet, two.peers(), ticker);
      bootstrap = servers;
      opened.push(servers);
      askBootstrapServers();
      PeerListeners.open(
          config.peers(), two, fleet, config.fleet().maxWorkers(), ticker, origins, opened);
    }
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
    if (servers != null && two != null) {
      servers.use(two.asksBootstrapServers());
    }
  }

  /** Takes over the parts of a changed configuration that do not belong to policies. */
  void follow(PointsmanConfig next, EngineChange change) {
    PointsmanConfig before = present;
    present = next;
    if (!before.engineLoad().equals(next.engineLoad())) {
      askLoads(next.engineLoad());
    }
    Choices leases = choices;
    if (leases != null) {
      leases.use(next.decide().hold());
    }
    KvNeeds.warnOfUnused(before, next);
    requireNonNull(subscriptions).use(KvNeeds.events(next));
    tokens.use(KvNeeds.tokens(next));
    lookAtNames(next.proxy().upstream().nameTtl());
    otherSources.use(next.discovery());
    cluster.use(next.kubernetes(), change.pods());
    change.tls().finish();
    captures.use(next.capture(), change.capture());
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
    opened.push(nameRounds);
    lookAtNames(config.proxy().upstream().nameTtl());
    opened.push(Rounds.start("engine-tls-files", FILES_PAUSE, tls::refresh));
    askLoads(config.engineLoad());
    opened.push(() -> askLoads(Duration.ZERO));
    opened.push(otherSources);
    otherSources.use(config.discovery());
    opened.push(cluster);
    cluster.use(config.kubernetes(), cluster.prepared(config.kubernetes()));
  }
}
