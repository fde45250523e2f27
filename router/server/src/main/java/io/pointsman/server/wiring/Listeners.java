package io.pointsman.server.wiring;

import io.pointsman.api.admin.HealthApi;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.settings.AccessSettings;
import io.pointsman.config.settings.MetricsSettings;
import io.pointsman.observe.metrics.MetricsServer;
import io.pointsman.observe.metrics.RouterMetrics;
import io.pointsman.proxy.ListenSettings;
import io.pointsman.proxy.ProxyServer;
import io.pointsman.proxy.tls.ServerTls;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The listeners, whose addresses may change. The new one is open before the old one closes, and
 * accepts connections after the change is complete. Connections of the old one go on, except those
 * of the metrics, which close.
 */
final class Listeners implements AutoCloseable {
  private final RouterMetrics metrics;
  private final HealthApi health;

  /** TLS of the metrics port; null in clear text. */
  private final @Nullable ServerTls tls;

  private final Supplier<List<String>> hostNames;

  /** Null while the proxy is not open. */
  private volatile @Nullable ProxyServer proxy;

  /** Null without metrics. */
  private volatile @Nullable MetricsServer ofMetrics;

  /** Listeners at other addresses, before they are in use; null: the address stays. */
  record Change(
      ProxyServer.@Nullable Opened clients,
      ProxyServer.@Nullable Opened admin,
      @Nullable MetricsServer metrics) {
    /** Closes the listeners, because they do not come into use. */
    void drop() {
      if (clients != null) {
        clients.drop();
      }
      if (admin != null) {
        admin.drop();
      }
      if (metrics != null) {
        metrics.close();
      }
    }
  }

  /**
   * @param tls TLS of the metrics port; null in clear text
   * @param hostNames names in {@code Host} at present
   */
  Listeners(
      RouterMetrics metrics,
      HealthApi health,
      @Nullable ServerTls tls,
      Supplier<List<String>> hostNames) {
    this.hostNames = hostNames;
    this.metrics = metrics;
    this.health = health;
    this.tls = tls;
  }

  /** Sets the listeners for clients and administrators, which are open. */
  void follow(ProxyServer server) {
    proxy = server;
  }

  /**
   * Opens the port of the metrics, if they are enabled.
   *
   * @throws IOException if it cannot be bound
   */
  void openMetrics(MetricsSettings settings) throws IOException {
    if (settings.enabled()) {
      ofMetrics = opened(settings);
    }
  }

  private MetricsServer opened(MetricsSettings settings) throws IOException {
    String host = settings.host();
    int port = settings.port();
    try {
      return MetricsServer.open(
          metrics,
          health::ready,
          health::readiness,
          new InetSocketAddress(host, port),
          tls,
          hostNames);
    } catch (IOException e) {
      throw new IOException("metrics: " + host + ":" + port + " (expected: a free port)", e);
    }
  }

  /** The port of the metrics; -1 without. */
  int metricsPort() {
    MetricsServer present = ofMetrics;
    return present == null ? -1 : present.port();
  }

  /**
   * Opens the listeners that get other addresses. They accept nothing yet, except that of the
   * metrics, which nothing else changes.
   *
   * @throws IllegalArgumentException if a port cannot be bound; none stays open
   */
  Change prepared(PointsmanConfig before, PointsmanConfig next) {
    ProxyServer.Opened clients = null;
    ProxyServer.Opened admin = null;
    try {
      clients = clients(before.proxy().listen(), next.proxy().listen());
      admin = admin(before.access(), next.access());
      return new Change(clients, admin, metrics(before.metrics(), next.metrics()));
    } catch (IOException | RuntimeException e) {
      new Change(clients, admin, null).drop();
      throw e instanceof RuntimeException unchecked
          ? unchecked
          : new IllegalArgumentException(String.valueOf(e.getMessage()), e);
    }
  }

  private ProxyServer.@Nullable Opened clients(ListenSettings before, ListenSettings next)
      throws IOException {
    ProxyServer server = proxy;
    boolean same = next.host().equals(before.host()) && next.port() == before.port();
    return same || server == null ? null : server.open(next.host(), next.port());
  }

  private ProxyServer.@Nullable Opened admin(AccessSettings before, AccessSettings next)
      throws IOException {
    ProxyServer server = proxy;
    boolean same = next.host().equals(before.host()) && next.port() == before.port();
    return same || server == null ? null : server.openForAdmin(next.host(), next.port());
  }

  private @Nullable MetricsServer metrics(MetricsSettings before, MetricsSettings next)
      throws IOException {
    boolean same = next.host().equals(before.host()) && next.port() == before.port();
    return same || !next.enabled() ? null : opened(next);
  }

  /** Uses the listeners. Call it after everything else has changed. */
  void use(Change change) {
    if (change.admin != null) {
      change.admin.useForAdmin();
    }
    if (change.clients != null) {
      change.clients.useForClients();
    }
    MetricsServer next = change.metrics;
    if (next != null) {
      MetricsServer before = ofMetrics;
      ofMetrics = next;
      if (before != null) {
        before.close();
      }
    }
  }

  @Override
  public void close() {
    MetricsServer last = ofMetrics;
    if (last != null) {
      last.close();
    }
  }
}
