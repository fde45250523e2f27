package io.pointsman.server.tracing;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;

/** A worker that records the headers of its requests. */
final class HeaderRecorder implements AutoCloseable {
  private final List<Headers> requests = new CopyOnWriteArrayList<>();
  private final HttpServer server;
  private final List<Integer> statuses;
  private final CountDownLatch answers;
  private volatile String body = "{}";

  /** Answers all requests with one status. */
  HeaderRecorder(int status) throws IOException {
    this(List.of(status), new CountDownLatch(0));
  }

  /**
   * @param statuses statuses of the responses; the last one repeats
   * @param answers latch that the responses wait for
   */
  HeaderRecorder(List<Integer> statuses, CountDownLatch answers) throws IOException {
    this.statuses = statuses;
    this.answers = answers;
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
    server.setExecutor(Thread::startVirtualThread);
    server.createContext("/", this::handle);
    server.start();
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      exchange.getRequestBody().readAllBytes();
      switch (exchange.getRequestURI().getPath()) {
        case "/health" -> exchange.sendResponseHeaders(200, -1);
        case "/is_sleeping", "/is_paused" -> exchange.sendResponseHeaders(404, -1);
        case "/v1/models" -> answer(exchange, 200, "{\"data\":[{\"id\":\"m\"}]}");
        default -> {
          requests.add(exchange.getRequestHeaders());
          int nth = Math.min(requests.size(), statuses.size());
          answers.await();
          answer(exchange, statuses.get(nth - 1), body);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Sets the body of the next responses. */
  HeaderRecorder saying(String body) {
    this.body = body;
    return this;
  }

  private static void answer(HttpExchange exchange, int status, String body) throws IOException {
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(status, bytes.length);
    exchange.getResponseBody().write(bytes);
  }

  String url() {
    return "http://" + id();
  }

  String id() {
    return "127.0.0.1:" + server.getAddress().getPort();
  }

  /** The headers of all requests except probes. */
  List<Headers> requests() {
    return requests;
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
