package io.pointsman.server.training;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** An engine on the loopback that gives the same answer to every chat. */
final class FixedEngine implements AutoCloseable {
  static final String MODEL = "training";

  private static final String USAGE =
      "\"usage\":{\"prompt_tokens\":40,\"completion_tokens\":2,\"total_tokens\":42,"
          + "\"prompt_tokens_details\":{\"cached_tokens\":16}}";
  private static final String WHOLE =
      "{\"id\":\"1\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"training\","
          + "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"Hi.\"},"
          + "\"finish_reason\":\"stop\"}],"
          + USAGE
          + "}";
  private static final String CHUNK =
      "{\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"training\","
          + "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi.\"},\"finish_reason\":null}]}";
  private static final String LAST_CHUNK =
      "{\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"training\","
          + "\"choices\":[],"
          + USAGE
          + "}";
  private static final String MODELS =
      "{\"object\":\"list\",\"data\":[{\"id\":\"training\",\"object\":\"model\","
          + "\"created\":1,\"owned_by\":\"vllm\",\"max_model_len\":4096}]}";

  private final HttpServer server;
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

  private FixedEngine(HttpServer server) {
    this.server = server;
    server.setExecutor(threads);
    server.createContext("/health", exchange -> reply(exchange, 200, ""));
    server.createContext("/v1/models", exchange -> reply(exchange, 200, MODELS));
    server.createContext("/v1/chat/completions", FixedEngine::chat);
    server.createContext("/", exchange -> reply(exchange, 404, "{}"));
    server.start();
  }

  /** Starts an engine on a free port. */
  static FixedEngine start() throws IOException {
    return new FixedEngine(
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0));
  }

  String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  private static void chat(HttpExchange exchange) throws IOException {
    String body = new String(exchange.getRequestBody().readAllBytes(), UTF_8);
    if (!body.contains("\"stream\":true")) {
      reply(exchange, 200, WHOLE);
      return;
    }
    exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
    exchange.sendResponseHeaders(200, 0);
    try (OutputStream out = exchange.getResponseBody()) {
      for (String event : new String[] {CHUNK, CHUNK, LAST_CHUNK, "[DONE]"}) {
        out.write(("data: " + event + "\n\n").getBytes(UTF_8));
        out.flush();
      }
    }
  }

  private static void reply(HttpExchange exchange, int status, String text) throws IOException {
    exchange.getRequestBody().readAllBytes();
    byte[] body = text.getBytes(UTF_8);
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }

  @Override
  public void close() {
    server.stop(0);
    threads.close();
  }
}
