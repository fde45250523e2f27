package io.pointsman.server.tracing;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;

/** An OTLP collector over HTTP at {@code /v1/traces}. */
final class HttpCollector implements AutoCloseable {
  private final Received received = new Received();
  private final HttpServer server;

  HttpCollector() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
    server.createContext(
        "/v1/traces",
        exchange -> {
          received.take(exchange.getRequestBody().readAllBytes());
          exchange.getResponseHeaders().set("content-type", "application/x-protobuf");
          exchange.sendResponseHeaders(200, -1);
          exchange.close();
        });
    server.start();
  }

  String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  Received received() {
    return received;
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
