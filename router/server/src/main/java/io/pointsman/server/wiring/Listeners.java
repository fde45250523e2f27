package io.pointsman.server.wiring;

import io.pointsman.api.admin.HealthApi;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.settings.AccessSettings;
import io.pointsman.config.settings.MetricsSettings;
import io.pointsman.engine.env.BindProblem;
import io.pointsman.observe.metrics.MetricsServer;
import io.pointsman.observe.metrics.RouterMetrics;
import io.pointsman.proxy.ListenSettings;
import io.pointsman.proxy.OpenedPort;
import io.pointsman.proxy.ProxyServer;
import io.pointsman.proxy.tls.ListenerTls;
import io.pointsman.proxy.tls.ServerTlsSettings;
import io.pointsman.proxy.tls.TlsProvider;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The listeners, with addresses that may change. The new one is open before the old one closes, and
 * accepts connections after the change is complete. Connections of the old one go on, except on the
 * metrics port.
 */
final class Listeners implements AutoCloseable {
  /** Pause between two looks at files that may change. */
  private static final Duration FILES_PAUSE = Duration.ofSeconds(1);

  private final RouterMetrics metrics;
  private final HealthApi health;

  /** TLS of the metrics port. */
  private final ListenerTls tls;

  /** The looks at the files of TLS of all listeners. */
  private final ChangingRounds looks = new ChangingRounds("tls-files", this::refresh);

  private final Supplier<List<String>> hostNames;

  /** Null while the proxy is not open. */
  private volatile @Nullable ProxyServer proxy;

  /** Null without metrics. */
  private volatile @Nullable MetricsServer ofMetrics;

  /**
   * Listeners at other addresses, before they are in use; null: the address stays.
   *
   * @param metricsEnd true if the port of the metrics closes
   */
  record Addresses(
      @Nullable OpenedPort clients,
      @Nullable OpenedPort admin,
      @Nullable MetricsServer metrics,
      boolean metricsEnd) {
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
   * @param tls TLS of the metrics port
   * @param hostNames names in {@code Host} at present
   */
  Listeners(
      RouterMetrics metrics, HealthApi health, ListenerTls tls, Supplier<List<String>> hostNames) {
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
      MetricsServer opened = bound(settings);
      opened.accept();
      ofMetrics = opened;
      tls.announce();
    }
  }

  private MetricsServer bound(MetricsSettings settings) throws IOException {
    String host = settings.host();
    int port = settings.port();
    try {
      return MetricsServer.bound(
          metrics,
          health::ready,
          health::readiness,
          new InetSocketAddress(host, port),
          tls,
          hostNames);
    } catch (IOException e) {
      throw new IOException(BindProblem.of("metrics: " + host + ":" + port, e), e);
    }
  }

  /** The port of the metrics; -1 without. */
  int metricsPort() {
    MetricsServer present = ofMetrics;
    return present == null ? -1 : present.port();
  }

  /**
   * Opens the listeners that get other addresses. They accept nothing yet.
   *
   * @throws IllegalArgumentException if a port cannot be bound; none stays open
   */
  Addresses prepared(PointsmanConfig before, PointsmanConfig next) {
    OpenedPort clients = null;
    OpenedPort admin = null;
    try {
      clients = clients(before.proxy().listen(), next.proxy().listen());
      admin = admin(before.access(), next.access());
      boolean end = before.metrics().enabled() && !next.metrics().enabled();
      return new Addresses(clients, admin, metrics(before.metrics(), next.metrics()), end);
    } catch (IOException | RuntimeException e) {
      new Addresses(clients, admin, null, false).drop();
      throw e instanceof RuntimeException unchecked
          ? unchecked
          : new IllegalArgumentException(String.valueOf(e.getMessage()), e);
    }
  }

  private @Nullable OpenedPort clients(ListenSettings before, ListenSettings next)
      throws IOException {
    ProxyServer server = proxy;
    boolean same = next.host().equals(before.host()) && next.port() == before.port();
    return same || server == null ? null : server.open(next.host(), next.port());
  }

  private @Nullable OpenedPort admin(AccessSettings before, AccessSettings next)
      throws IOException {
    ProxyServer server = proxy;
    boolean same = next.host().equals(before.host()) && next.port() == before.port();
    return same || server == null ? null : server.openForAdmin(next.host(), next.port());
  }

  private @Nullable MetricsServer metrics(MetricsSettings before, MetricsSettings next)
      throws IOException {
    boolean same =
        before.enabled() && next.host().equals(before.host()) && next.port() == before.port();
    return same || !next.enabled() ? null : bound(next);
  }

  /** Uses the listeners. Call it after everything else has changed. */
  void use(Addresses change) {
    if (change.admin != null) {
      change.admin.use();
    }
    if (change.clients != null) {
      change.clients.use();
    }
    MetricsServer next = change.metrics;
    if (next != null || change.metricsEnd) {
      MetricsServer before = ofMetrics;
      ofMetrics = next;
      if (next != null) {
        next.accept();
      }
      if (before != null) {
        before.close();
      }
    }
  }

  /**
   * TLS of the listeners, before and while it is in use.
   *
   * @param ending the port of the metrics, if it closes; it has no TLS after the change
   */
  record Tls(
      ProxyServer.@Nullable TlsChange ofProxy,
      ListenerTls.Change ofMetrics,
      @Nullable MetricsServer ending) {
    void apply() {
      if (ending != null) {
        ending.pause();
      }
      if (ofProxy != null) {
        ofProxy.apply();
      }
      ofMetrics.apply();
    }

    void drop() {
      if (ofProxy != null) {
        ofProxy.drop();
      }
      ofMetrics.drop();
    }
  }

  /**
   * Reads the files of TLS of all listeners. Changes nothing that is in use.
   *
   * @throws IllegalArgumentException if a file cannot be used
   */
  Tls preparedTls(PointsmanConfig next) {
    ProxyServer server = proxy;
    ListenerTls.Change change = tls.prepared(ofMetrics(next), false, TlsProvider.JDK);
    try {
      return new Tls(
          server == null ? null : server.preparedTls(next.proxy().listen(), next.access().tls()),
          change,
          next.metrics().enabled() ? null : ofMetrics);
    } catch (RuntimeException e) {
      change.drop();
      throw e;
    }
  }

  /** The settings of the metrics port. Their files are not read without the port. */
  static ServerTlsSettings ofMetrics(PointsmanConfig config) {
    return config.metrics().enabled() ? config.metrics().tls() : ServerTlsSettings.OFF;
  }

  /** Releases the earlier TLS, and ends connections that could not connect any longer. */
  void finish(Tls change) {
    if (change.ofProxy != null) {
      change.ofProxy.finish();
    }
    change.ofMetrics.finish();
    if (change.ofMetrics.outdates()) {
      closeOutdatedOfMetrics();
    }
    look();
  }

  /** Uses the earlier TLS again, and ends connections that were accepted in between. */
  void undo(Tls change) {
    if (change.ofProxy != null) {
      change.ofProxy.undo();
    }
    change.ofMetrics.undo();
    if (change.ofMetrics.outdates()) {
      closeOutdatedOfMetrics();
    }
    if (change.ending != null) {
      change.ending.accept();
    }
  }

  private void closeOutdatedOfMetrics() {
    MetricsServer open = ofMetrics;
    if (open != null) {
      open.closeOutdated();
    }
  }

  /** Looks at the files of TLS from here on, if a listener uses it. */
  void look() {
    ProxyServer server = proxy;
    boolean used = tls.enabled() || (server != null && server.usesTls());
    looks.every(used ? FILES_PAUSE : Duration.ZERO);
  }

  private void refresh() {
    if (tls.refresh()) {
      closeOutdatedOfMetrics();
    }
    ProxyServer server = proxy;
    if (server != null) {
      server.refreshTls();
    }
  }

  @Override
  public void close() {
    looks.close();
    MetricsServer last = ofMetrics;
    if (last != null) {
      last.close();
    }
    tls.close();
  }
}
