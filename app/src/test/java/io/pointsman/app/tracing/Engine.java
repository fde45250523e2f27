package io.pointsman.app.tracing;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * A worker that keeps the headers of the requests it was sent, and answers each with one status.
 */
final class Engine implements AutoCloseable {
  private final List<Headers> requests = new CopyOnWriteArrayList<>();
  private final HttpServer server;
  private final int status;

  Engine(int status) throws IOException {
    this.status = status;
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
    server.createContext("/", this::handle);
    server.start();
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      exchange.getRequestBody().readAllBytes();
      switch (exchange.getRequestURI().getPath()) {
        case "/health" -> exchange.sendResponseHeaders(200, -1);
        case "/v1/models" -> answer(exchange, 200, "{\"data\":[{\"id\":\"m\"}]}");
        default -> {
          requests.add(exchange.getRequestHeaders());
          answer(exchange, status, "{}");
        }
      }
    }
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

  /** The headers of all requests but probes. */
  List<Headers> requests() {
    return requests;
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
