package io.pointsman.observe.metrics;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import io.pointsman.proxy.local.HostNames;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.tls.ServerTls;
import io.prometheus.metrics.expositionformats.ExpositionFormatWriter;
import io.prometheus.metrics.expositionformats.ExpositionFormats;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;
import javax.net.ssl.SSLParameters;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Serves {@code GET /metrics} and {@code GET /health} on a separate port. Scrapes then do not
 * compete with requests, and clients need no access to metrics. Uses virtual threads.
 */
public final class MetricsServer implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(MetricsServer.class);
  private static final int BACKLOG = 16;
  private static final String TYPE = "content-type";

  // Limits for all JDK HTTP servers of this process, in seconds and connections. By default they
  // have none and read these properties once. Incomplete requests must not keep descriptors that
  // client requests need.
  static {
    limit("sun.net.httpserver.maxReqTime", 5);
    limit("sun.net.httpserver.maxRspTime", 30);
    limit("jdk.httpserver.maxConnections", 256);
  }

  private final PrometheusRegistry registry;
  private final ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
  private final HttpServer server;

  private final Supplier<LocalResponse> ready;
  private final Supplier<LocalResponse> readiness;
  private final HostNames hosts;

  private MetricsServer(
      PrometheusRegistry registry,
      Supplier<LocalResponse> ready,
      Supplier<LocalResponse> readiness,
      HostNames hosts,
      HttpServer server) {
    this.registry = registry;
    this.ready = ready;
    this.readiness = readiness;
    this.hosts = hosts;
    this.server = server;
  }

  /** Opens the listener in clear text. */
  public static MetricsServer open(
      RouterMetrics metrics,
      Supplier<LocalResponse> ready,
      Supplier<LocalResponse> readiness,
      InetSocketAddress address)
      throws IOException {
    return open(metrics, ready, readiness, address, null);
  }

  /**
   * Opens the listener.
   *
   * @param ready the answer to {@code GET /readyz}
   * @param readiness the answer to {@code GET /readiness}
   * @param address address of the listener; port 0: any free port
   * @param tls TLS of its connections; null: clear text
   * @throws IOException if the address cannot be bound
   */
  public static MetricsServer open(
      RouterMetrics metrics,
      Supplier<LocalResponse> ready,
      Supplier<LocalResponse> readiness,
      InetSocketAddress address,
      @Nullable ServerTls tls)
      throws IOException {
    return open(metrics, ready, readiness, address, tls, List.of());
  }

  /**
   * Opens the listener.
   *
   * @param hostNames names in {@code Host}, see {@link HostNames}
   */
  public static MetricsServer open(
      RouterMetrics metrics,
      Supplier<LocalResponse> ready,
      Supplier<LocalResponse> readiness,
      InetSocketAddress address,
      @Nullable ServerTls tls,
      List<String> hostNames)
      throws IOException {
    InetAddress bound = address.getAddress();
    HostNames hosts = new HostNames(hostNames, bound != null && bound.isLoopbackAddress());
    HttpServer http = tls == null ? HttpServer.create(address, BACKLOG) : secure(address, tls);
    MetricsServer server = new MetricsServer(metrics.registry(), ready, readiness, hosts, http);
    http.setExecutor(server.executor);
    http.createContext("/", server::handle);
    http.start();
    return server;
  }

  private static HttpServer secure(InetSocketAddress address, ServerTls tls) throws IOException {
    HttpsServer server = HttpsServer.create(address, BACKLOG);
    SSLParameters same = tls.parameters();
    server.setHttpsConfigurator(
        new HttpsConfigurator(tls.context()) {
          @Override
          public void configure(HttpsParameters parameters) {
            parameters.setSSLParameters(same);
          }
        });
    return server;
  }

  public int port() {
    return server.getAddress().getPort();
  }

  @Override
  public void close() {
    server.stop(0);
    executor.shutdownNow();
  }

  private static void limit(String name, int value) {
    if (System.getProperty(name) == null) {
      System.setProperty(name, Integer.toString(value));
    }
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      String method = exchange.getRequestMethod();
      String problem = hosts.problem(exchange.getRequestHeaders().getFirst("Host"), false, port());
      if (problem != null) {
        answer(exchange, 403, "text/plain", bytes(problem + "\n"));
        return;
      }
      if (!method.equals("GET") && !method.equals("HEAD")) {
        answer(exchange, 405, "text/plain", bytes("method: " + method + " (expected: GET)\n"));
        return;
      }
      switch (exchange.getRequestURI().getPath()) {
        case "/metrics" -> scrape(exchange);
        case "/health", "/livez", "/liveness" -> answer(exchange, 200, "text/plain", bytes("OK\n"));
        case "/readyz" -> answer(exchange, ready.get());
        case "/readiness" -> answer(exchange, readiness.get());
        case String path ->
            answer(exchange, 404, "text/plain", bytes("path: " + path + " (expected: /metrics)\n"));
      }
    }
  }

  private void scrape(HttpExchange exchange) throws IOException {
    answer(exchange, page(registry, exchange.getRequestHeaders().getFirst("Accept")));
  }

  /**
   * The response to a scrape.
   *
   * @param accept the scraper's Accept header
   */
  static LocalResponse page(PrometheusRegistry registry, @Nullable String accept)
      throws IOException {
    ExpositionFormatWriter writer = Formats.ALL.findWriter(accept);
    ByteArrayOutputStream page = new ByteArrayOutputStream(16_384);
    try {
      writer.write(page, registry.scrape());
    } catch (RuntimeException e) {
      log.error("the metrics cannot be written", e);
      return LocalResponse.text(500, "the metrics cannot be written: " + e + "\n");
    }
    return new LocalResponse(200, Map.of(TYPE, writer.getContentType()), page.toByteArray());
  }

  private static void answer(HttpExchange exchange, LocalResponse found) throws IOException {
    answer(exchange, found.status(), found.headers().getOrDefault(TYPE, ""), found.body());
  }

  private static void answer(HttpExchange exchange, int status, String type, byte[] body)
      throws IOException {
    exchange.getResponseHeaders().set("Content-Type", type);
    boolean head = exchange.getRequestMethod().equals("HEAD");
    exchange.sendResponseHeaders(status, head ? -1 : body.length);
    if (!head) {
      try (OutputStream out = exchange.getResponseBody()) {
        out.write(body);
      }
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /**
   * Created at the first scrape, because the search for optional formats opens every jar and would
   * delay the start.
   */
  private static final class Formats {
    static final ExpositionFormats ALL = ExpositionFormats.init();
  }
}
