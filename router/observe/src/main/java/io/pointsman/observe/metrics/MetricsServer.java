package io.pointsman.observe.metrics;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.QueryStringDecoder;
import io.pointsman.proxy.local.AllowedHosts;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.proxy.tls.ListenerTls;
import io.prometheus.metrics.expositionformats.ExpositionFormatWriter;
import io.prometheus.metrics.expositionformats.ExpositionFormats;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves {@code GET /metrics} and {@code GET /health} on a separate port. Scrapes then do not
 * compete with requests, and clients need no access to metrics. Answers on virtual threads.
 */
public final class MetricsServer implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(MetricsServer.class);
  private static final String TYPE = "content-type";

  private final PrometheusRegistry registry;
  private final ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
  private final MetricsListener listener;

  private final Supplier<LocalResponse> ready;
  private final Supplier<LocalResponse> readiness;
  private final Supplier<AllowedHosts> hosts;

  private MetricsServer(
      PrometheusRegistry registry,
      Supplier<LocalResponse> ready,
      Supplier<LocalResponse> readiness,
      Supplier<AllowedHosts> hosts,
      InetSocketAddress address,
      ListenerTls tls)
      throws IOException {
    this.registry = registry;
    this.ready = ready;
    this.readiness = readiness;
    this.hosts = hosts;
    try {
      listener = new MetricsListener(address, tls, executor, this::answer, MetricsListener.IDLE);
    } catch (IOException | RuntimeException e) {
      executor.shutdownNow();
      throw e;
    }
  }

  /** Opens the listener in clear text. */
  public static MetricsServer open(
      RouterMetrics metrics,
      Supplier<LocalResponse> ready,
      Supplier<LocalResponse> readiness,
      InetSocketAddress address)
      throws IOException {
    return open(metrics, ready, readiness, address, ListenerTls.off());
  }

  /**
   * Opens the listener.
   *
   * @param ready the answer to {@code GET /readyz}
   * @param readiness the answer to {@code GET /readiness}
   * @param address address of the listener; port 0: any free port
   * @param tls TLS of its connections
   * @throws IOException if the address cannot be bound
   */
  public static MetricsServer open(
      RouterMetrics metrics,
      Supplier<LocalResponse> ready,
      Supplier<LocalResponse> readiness,
      InetSocketAddress address,
      ListenerTls tls)
      throws IOException {
    MetricsServer opened = bound(metrics, ready, readiness, address, tls, List::of);
    opened.accept();
    return opened;
  }

  /**
   * Opens the listener. It accepts nothing before {@link #accept}.
   *
   * @param hostNames names in {@code Host} at present, see {@link AllowedHosts}
   */
  public static MetricsServer bound(
      RouterMetrics metrics,
      Supplier<LocalResponse> ready,
      Supplier<LocalResponse> readiness,
      InetSocketAddress address,
      ListenerTls tls,
      Supplier<List<String>> hostNames)
      throws IOException {
    InetAddress bound = address.getAddress();
    boolean loopback = bound != null && bound.isLoopbackAddress();
    Supplier<AllowedHosts> hosts = () -> new AllowedHosts(hostNames.get(), loopback);
    return new MetricsServer(metrics.registry(), ready, readiness, hosts, address, tls);
  }

  /** Accepts connections from here on. */
  public void accept() {
    listener.accept();
  }

  /** Accepts no connections until {@link #accept}. */
  public void pause() {
    listener.pause();
  }

  public int port() {
    return listener.port();
  }

  /** Closes the connections with outdated TLS, after their answers. */
  public void closeOutdated() {
    listener.closeOutdated();
  }

  @Override
  public void close() {
    listener.close();
    executor.shutdownNow();
  }

  private LocalResponse answer(String method, String uri, HttpHeaders headers, int port) {
    String problem = hosts.get().problem(headers.get("host"), false, port);
    if (problem != null) {
      return LocalResponse.text(ProxyError.ADMIN_CALL_REFUSED, problem + "\n");
    }
    if (!method.equals("GET") && !method.equals("HEAD")) {
      return LocalResponse.text(
          ProxyError.METHOD_NOT_ALLOWED, "method: " + method + " (expected: GET)\n");
    }
    return switch (path(uri)) {
      case "/metrics" -> page(registry, headers.get("accept"));
      case "/health", "/livez", "/liveness" -> LocalResponse.text(200, "OK\n");
      case "/readyz" -> ready.get();
      case "/readiness" -> readiness.get();
      case String path ->
          LocalResponse.text(ProxyError.NOT_FOUND, "path: " + path + " (expected: /metrics)\n");
    };
  }

  private static String path(String uri) {
    try {
      return new QueryStringDecoder(uri).path();
    } catch (IllegalArgumentException e) {
      return uri;
    }
  }

  /**
   * The response to a scrape.
   *
   * @param accept the scraper's Accept header
   */
  static LocalResponse page(PrometheusRegistry registry, @Nullable String accept) {
    ExpositionFormatWriter writer = Formats.ALL.findWriter(accept);
    ByteArrayOutputStream page = new ByteArrayOutputStream(16_384);
    try {
      writer.write(page, registry.scrape());
    } catch (IOException | RuntimeException e) {
      log.error("the metrics cannot be written", e);
      return LocalResponse.text(ProxyError.INTERNAL, "the metrics cannot be written: " + e + "\n");
    }
    return new LocalResponse(200, Map.of(TYPE, writer.getContentType()), page.toByteArray());
  }

  /**
   * Created at the first scrape, because the search for optional formats opens every jar and would
   * delay the start.
   */
  private static final class Formats {
    static final ExpositionFormats ALL = ExpositionFormats.init();
  }
}
