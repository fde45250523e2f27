package io.pointsman.server.wiring;

import static java.util.Objects.requireNonNull;

import io.pointsman.api.admin.ReloadApi;
import io.pointsman.batch.BatchService;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.settings.AccessSettings;
import io.pointsman.config.settings.MetricsSettings;
import io.pointsman.control.names.NameWorkers;
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
  private final Deque<AutoCloseable> control;
  private final AtomicBoolean draining;
  private final NameWorkers nameWorkers;
  private final BodyChanges changes;
  private final AtomicReference<List<WorkerSpec>> configured;
  private final AtomicReference<Map<String, String>> dynamicConfig;

  private final RouterAssembly assembly;

  /** Null without files and batches. */
  private final @Nullable BatchService batches;

  private Router(RouterAssembly assembly, ProxyServer server) {
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
          router.startBatches();
          return router;
        });
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
    return url(scheme(), assembly.config.proxy().listen().host(), server.port());
  }

  private String scheme() {
    return scheme(config.proxy().listen().tls());
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
   * @throws IllegalStateException if there is no room for all workers, or if the router stops
   */
  public synchronized void change(PointsmanConfig before, PointsmanConfig next) {
    if (draining.get()) {
      throw new IllegalStateException("the router stops");
    }
    if (!before.canBecome(next)) {
      throw new IllegalArgumentException("configuration: needs a restart");
    }
    boolean samePolicies = RolePolicies.same(before, next);
    RouterAssembly.Prepared change = assembly.prepared(next, samePolicies);
    try {
      // Before the workers, because a new worker may accept only the new key or certificate.
      change.core().tls().apply();
      assembly.useEngineKeys(next, server);
      configureWorkers(before.workers(), next.workers());
    } catch (RuntimeException e) {
      takeBack(before, change, e);
      throw e;
    }
    String addresses = addresses();
    assembly.use(next, change, server);
    if (!addresses().equals(addresses)) {
      log.info("the router listens on {}", addresses());
    }
  }

  private void takeBack(
      PointsmanConfig before, RouterAssembly.Prepared change, RuntimeException reason) {
    try {
      assembly.useEngineKeys(before, server);
    } catch (RuntimeException e) {
      reason.addSuppressed(e);
    } finally {
      assembly.drop(change);
    }
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
   * requests get the drain timeout to end. Then everything is closed. A change of the configuration
   * ends before, and later ones are refused.
   */
  @Override
  public void close() {
    if (drains()) {
      // Beside the drain, because a batch may take seconds to stop.
      Thread batchesStop = Thread.ofPlatform().name("stop-batches").start(this::stopBatches);
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
