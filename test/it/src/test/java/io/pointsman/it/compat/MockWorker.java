package io.pointsman.it.compat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A worker that answers every generation with {@code {"worker_id": ...}} and its id in {@code
 * X-Worker-Id}, and fails as configured. Its settings can change at run time.
 */
final class MockWorker implements AutoCloseable {
  private final String id;
  private final HttpServer server;
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final AtomicInteger requests = new AtomicInteger();

  /** Duration of each generation. */
  volatile int latencyMillis;

  /** The status of each generation. */
  volatile int status = 200;

  /** Number of next generations that are answered with 500. */
  final AtomicInteger failures = new AtomicInteger();

  /** The required bearer token; null: none. */
  volatile @Nullable String apiKey;

  /** True if the list of models requires the token too; {@code /health} is then missing. */
  volatile boolean modelsWantKey;

  /** True if the next generation stops the whole worker. */
  volatile boolean crashes;

  private MockWorker(String id, HttpServer server) {
    this.id = id;
    this.server = server;
  }

  static MockWorker start(String id) throws IOException {
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 128);
    MockWorker worker = new MockWorker(id, server);
    server.setExecutor(worker.threads);
    server.createContext("/", worker::handle);
    server.start();
    return worker;
  }

  String id() {
    return id;
  }

  String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  /** Number of generations requested. */
  int requests() {
    return requests.get();
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      byte[] body = exchange.getRequestBody().readAllBytes();
      if (exchange.getRequestMethod().equals("GET")) {
        info(exchange);
      } else {
        generate(exchange, body.length);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void check(HttpExchange exchange) throws IOException {
    String authorization = exchange.getRequestHeaders().getFirst("Authorization");
    answer(exchange, ("Bearer " + apiKey).equals(authorization) ? 200 : 403, "{}");
  }

  private void info(HttpExchange exchange) throws IOException {
    if (modelsWantKey
        && !("Bearer " + apiKey).equals(exchange.getRequestHeaders().getFirst("Authorization"))) {
      answer(exchange, 401, "{}");
      return;
    }
    switch (exchange.getRequestURI().getPath()) {
      case "/health", "/health_generate" -> answer(exchange, 200, "ok");
      case "/v1/models" ->
          answer(exchange, 200, "{\"data\":[{\"id\":\"mock\",\"object\":\"model\"}]}");
      case "/check" -> check(exchange);
      case "/get_server_info" -> answer(exchange, 200, "{\"dp_size\":1}");
      default -> answer(exchange, 404, "{}");
    }
  }

  private void generate(HttpExchange exchange, int bytes) throws IOException, InterruptedException {
    if (exchange.getRequestURI().getPath().equals("/flush_cache")) {
      answer(exchange, 200, "ok");
      return;
    }
    requests.incrementAndGet();
    if (crashes) {
      close();
      return;
    }
    String authorization = exchange.getRequestHeaders().getFirst("Authorization");
    if (apiKey != null && !("Bearer " + apiKey).equals(authorization)) {
      answer(exchange, 401, "{\"detail\":\"Unauthorized\"}");
      return;
    }
    Thread.sleep(latencyMillis);
    exchange.getResponseHeaders().set("X-Worker-Id", id);
    boolean fails = failures.getAndUpdate(left -> Math.max(0, left - 1)) > 0;
    answer(
        exchange,
        fails ? 500 : status,
        "{\"worker_id\":\"" + id + "\",\"received\":" + bytes + "}");
  }

  private static void answer(HttpExchange exchange, int status, String body) throws IOException {
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    exchange.sendResponseHeaders(status, bytes.length);
    exchange.getResponseBody().write(bytes);
  }
}
