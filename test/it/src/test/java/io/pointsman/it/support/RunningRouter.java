package io.pointsman.it.support;

import io.pointsman.compat.rayserve.RayServeFile;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import io.pointsman.config.key.AccessKeys;
import io.pointsman.config.key.AdminKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.engine.fleet.Pool;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.server.wiring.Router;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** A router in this process, started from the text of a configuration file. */
public final class RunningRouter implements AutoCloseable {
  private final Router router;
  private final int port;
  private final int metricsPort;

  private RunningRouter(Router router) {
    this.router = router;
    port = URI.create(router.url()).getPort();
    metricsPort = URI.create(String.valueOf(router.metricsUrl())).getPort();
  }

  /**
   * Starts a router with free ports. Unless the configuration differs or clients have keys, the
   * client port serves the admin paths too.
   */
  public static RunningRouter start(String yaml) {
    return of(PointsmanConfig.from(open(YamlConfig.parse("cluster", yaml))));
  }

  private static ConfigValues open(ConfigValues values) {
    if (!values.has(AccessKeys.PORT)) {
      values.set(AccessKeys.PORT, 0);
    }
    boolean keys = !values.get(AdminKeys.VALIDATION_URLS).isEmpty();
    if (!values.has(AccessKeys.ON_CLIENT_PORT) && !keys) {
      values.set(AccessKeys.ON_CLIENT_PORT, true);
    }
    return values;
  }

  /** The URL of the admin listener. */
  public String adminUrl() {
    return router.adminUrl();
  }

  /** The URL of the metrics. */
  public String metricsUrl() {
    return String.valueOf(router.metricsUrl());
  }

  /** The port of the admin listener. */
  public int adminPort() {
    return URI.create(router.adminUrl()).getPort();
  }

  /** Starts a router with a configuration that has a port for metrics. */
  public static RunningRouter of(PointsmanConfig config) {
    return new RunningRouter(Router.start(config, "test"));
  }

  /** Starts a router from a Ray Serve file, with a free port for metrics. */
  public static RunningRouter rayServe(Path file) {
    ConfigValues values = RayServeFile.read(file, Map.of(), new ConfigValues()).values();
    values.set(OperationKeys.METRICS_PORT, 0);
    values.set(AccessKeys.PORT, 0);
    return new RunningRouter(Router.start(PointsmanConfig.from(values), "test"));
  }

  public List<Worker> workers() {
    return router.fleet().snapshot().workers();
  }

  /** Whether the router sees every worker as healthy. */
  public boolean allHealthy() {
    return workers().stream().allMatch(worker -> worker.health().healthy());
  }

  /** Number of workers of a role that the fleet would use for a model. */
  public int serving(Role role, String model) {
    Pool pool = router.fleet().snapshot().pool(role, model);
    return pool == null ? 0 : pool.size();
  }

  /** The port for clients. */
  public int port() {
    return port;
  }

  /** The port of the metrics. */
  public int metricsPort() {
    return metricsPort;
  }

  /** Client requests for workers that are under way, queued ones included. */
  public int running() {
    return router.running();
  }

  /** Number of requests that wait for admission. */
  public int queued() {
    return router.queued();
  }

  /**
   * The sum of a metric's scraped values; 0 if it has none.
   *
   * @param label part of the labels of the values to add, for example {@code reason="connect"}
   */
  public double metric(String name, String label) {
    double sum = 0;
    for (String line : scrape().lines().toList()) {
      boolean named = line.startsWith(name + " ") || line.startsWith(name + "{");
      if (named && line.contains(label)) {
        sum += Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1));
      }
    }
    return sum;
  }

  /** The value of a metric that must be present; fails if it is missing. */
  public double gauge(String name) {
    for (String line : scrape().lines().toList()) {
      if (line.startsWith(name + " ")) {
        return Double.parseDouble(line.substring(name.length() + 1));
      }
    }
    throw new AssertionError(name + ": missing (expected: a metric without labels)");
  }

  /** The page of metrics as a scraper gets it. */
  public String scrape() {
    try {
      return RawClient.call(metricsPort, "GET", "/metrics", "").text();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    router.close();
  }
}
