package io.pointsman.server.wiring;

import static java.util.Objects.requireNonNull;

import io.pointsman.api.admin.ReloadApi;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.settings.AccessSettings;
import io.pointsman.config.settings.MetricsSettings;
import io.pointsman.control.names.NameWorkers;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.ProxyServer;
import io.pointsman.proxy.tls.ServerTlsSettings;
import io.pointsman.proxy.upstream.EngineTls;
import java.net.URI;
import java.time.Duration;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
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

  private final Fleet fleet;
  private final EngineTls tls;
  private final ProxyServer server;
  private final Deque<AutoCloseable> control;
  private final AtomicBoolean draining;
  private final NameWorkers nameWorkers;
  private final BodyChanges changes;
  private final AtomicReference<List<WorkerSpec>> configured;
  private final AtomicReference<Map<String, String>> dynamicConfig;

  private final RouterAssembly assembly;

  private final Batches batches;

  private Router(RouterAssembly assembly, ProxyServer server) {
    this.assembly = assembly;
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
          RouterAssembly assembly = new RouterAssembly(config, version, control);
          ProxyServer server = assembly.openProxy();
          assembly.openMetrics();
          assembly.core.watch();
          control.remove(server);
          Router router = new Router(assembly, server);
          router.runBatches();
          return router;
        });
  }

  /** Runs batches, with requests to the present address. */
  private void runBatches() {
    batches.runAt(ownAddress(), ownCertificate());
  }

  private URI ownAddress() {
    String host = local(assembly.config.proxy().listen().host());
    return URI.create(url(scheme(), host, server.port()));
  }

  private String ownCertificate() {
    return assembly.config.proxy().listen().tls().certificateFile();
  }

  /** A host at which this machine reaches a port that listens on {@code host}. */
  private static String local(String host) {
    return switch (host) {
      case "0.0.0.0" -> "127.0.0.1";
      case "::", "[::]" -> "::1";
      default -> host;
    };
  }

  /** The base URL for clients. */
  public String url() {
    return url(scheme(), assembly.config.proxy().listen().host(), server.port());
  }

  private String scheme() {
    return scheme(assembly.config.proxy().listen().tls());
  }

  private static String scheme(ServerTlsSettings tls) {
    return tls.enabled() ? "https" : "http";
  }

  /** The base URL of the admin listener. */
  public String adminUrl() {
    AccessSettings access = assembly.config.access();
    return url(scheme(access.tls()), access.host(), server.adminPort());
  }

  private static String url(String scheme, String host, int port) {
    return scheme + "://" + (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
  }

  /** The URL of the metrics; null if they are disabled. */
  public @Nullable String metricsUrl() {
    MetricsSettings metrics = assembly.config.metrics();
    int port = requireNonNull(assembly.listeners).metricsPort();
    return port < 0 ? null : url(scheme(metrics.tls()), metrics.host(), port) + "/metrics";
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
   * @throws ReloadFailedException if a part fails, for example because there is no room for all
   *     workers, or if the router stops
   */
  public void change(PointsmanConfig before, PointsmanConfig next) {
    change(before, next, List.of());
  }

  /**
   * Changes to another configuration at run time, together with parts outside of the router.
   *
   * @param others come into force with the router's parts, or are dropped
   */
  public void change(PointsmanConfig before, PointsmanConfig next, List<ChangePart> others) {
    change(before, next, others, part -> part);
  }

  /**
   * Changes to another configuration at run time.
   *
   * @param around gives the part to use in place of each part
   */
  synchronized void change(
      PointsmanConfig before,
      PointsmanConfig next,
      List<ChangePart> others,
      UnaryOperator<ChangePart> around) {
    String addresses = addresses();
    ConfigChange change =
        ConfigChange.prepared(
            around,
            made -> {
              others.forEach(made::add);
              refuse(before, next);
              assembly.prepare(made, next, server);
              prepareWorkers(made, before, next);
              assembly.core.prepareSources(made, before, next);
              assembly.prepareListeners(made, next);
              assembly.core.prepareIndex(made, next);
              made.add(ChangePart.last("requests of batches", () -> {}, this::runBatches));
              made.add(ChangePart.last("earlier batches", () -> {}, batches::awaitRelease));
            });
    RoutingEngine engine = assembly.routing();
    engine.anyServesWhole(before.disagg().enabled() && !next.disagg().enabled());
    try {
      change.apply();
    } finally {
      engine.anyServesWhole(false);
    }
    if (!addresses().equals(addresses)) {
      log.info("the router listens on {}", addresses());
    }
  }

  /**
   * Copy with the maximum number of workers that this router has room for. A router that started
   * with a higher maximum than now can raise it again.
   */
  public PointsmanConfig withSlots(PointsmanConfig config) {
    return config.withFleet(config.fleet().withMaxWorkers(fleet.slots()));
  }

  private void refuse(PointsmanConfig before, PointsmanConfig next) {
    if (draining.get()) {
      throw new IllegalStateException("the router stops");
    }
    if (!withSlots(before).canBecome(next)) {
      throw new IllegalArgumentException("configuration: needs a restart");
    }
  }

  /** After the keys and certificates, because a new worker may accept only the new ones. */
  private void prepareWorkers(ConfigChange change, PointsmanConfig before, PointsmanConfig next) {
    ConfiguredWorkers workers = new ConfiguredWorkers(fleet, assembly.core.sources);
    change.add(
        "workers",
        () -> configureWorkers(workers, before.workers(), next.workers()),
        () -> {
          workers.undo();
          configured.set(List.copyOf(before.workers()));
          nameWorkers.configure(before.workers());
        });
  }

  private String addresses() {
    String ofMetrics = metricsUrl();
    String withoutMetrics = url() + ", admin on " + adminUrl();
    return ofMetrics == null ? withoutMetrics : withoutMetrics + ", metrics on " + ofMetrics;
  }

  /** Answers calls of the admin API for a reload. */
  public void onReload(Supplier<ReloadApi.ReloadOutcome> action) {
    assembly.reloads.action(action);
  }

  /**
   * Replaces the configured workers {@code before} by {@code next} at run time. A worker that was
   * removed through the API is added again; it gets traffic after its first good probe. One with
   * other settings is replaced, and gets traffic at once if its engine served before. Workers added
   * by others stay; requests on removed workers continue to their end.
   *
   * @throws IllegalStateException if there is no room for all; nothing is changed in this case
   * @throws IllegalArgumentException if a file for TLS cannot be used; nothing is changed
   */
  public void configureWorkers(List<WorkerSpec> before, List<WorkerSpec> next) {
    configureWorkers(new ConfiguredWorkers(fleet, assembly.core.sources), before, next);
  }

  private void configureWorkers(
      ConfiguredWorkers workers, List<WorkerSpec> before, List<WorkerSpec> next) {
    tls.prepare(next);
    workers.change(NameWorkers.single(before), NameWorkers.single(next));
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
   * requests get the drain timeout to end. Then everything is closed. A change of the configuration
   * ends before, and later ones are refused.
   */
  @Override
  public void close() {
    if (drains()) {
      // Beside the drain, because a batch may take seconds to stop.
      Thread batchesStop = Thread.ofPlatform().name("stop-batches").start(batches::stop);
      server.close();
      join(batchesStop);
      OpenedParts.closeAll(control);
    }
  }

  /** True for the first call. A change of the configuration holds the same lock. */
  private synchronized boolean drains() {
    return draining.compareAndSet(false, true);
  }

  private static void join(Thread thread) {
    try {
      thread.join(BATCHES_STOP);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
