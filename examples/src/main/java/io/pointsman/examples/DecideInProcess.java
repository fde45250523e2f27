package io.pointsman.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.engine.choice.Choice;
import io.pointsman.engine.choice.TokenCounts;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.server.embed.Pointsman;
import io.pointsman.server.wiring.EmbeddedEngine;
import java.io.IOException;
import java.io.PrintStream;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** Example: a program that sends chats to the workers that the embedded engine chooses. */
public final class DecideInProcess {
  private static final String PATH = "/v1/chat/completions";
  private static final Duration TTL = Duration.ofSeconds(30);

  private final EmbeddedEngine engine;
  private final HttpClient http;

  private DecideInProcess(EmbeddedEngine engine, HttpClient http) {
    this.engine = engine;
    this.http = http;
  }

  /**
   * Sends three chats of one session.
   *
   * @param args URLs of engines, {@code http://host:port}
   */
  public static void main(String... args) throws Exception {
    run(List.of(args), System.out);
  }

  static void run(List<String> urls, PrintStream out) throws Exception {
    Pointsman.Builder builder = Pointsman.builder().policy("cache_aware");
    urls.forEach(builder::worker);
    try (EmbeddedEngine engine = builder.startEngine();
        HttpClient http = HttpClient.newHttpClient()) {
      while (engine.fleet().snapshot().workers().stream().noneMatch(w -> w.health().healthy())) {
        Thread.sleep(Duration.ofMillis(10));
      }
      DecideInProcess plane = new DecideInProcess(engine, http);
      for (int turn = 0; turn < 3; turn++) {
        out.println(plane.chat("Tell me of the sea. ".repeat(50) + turn));
      }
    }
  }

  private String chat(String text) throws IOException, InterruptedException {
    String model = engine.fleet().snapshot().modelNames().stream().findFirst().orElse("");
    String body =
        """
        {"model": "%s", "max_tokens": 8, "messages": [{"role": "user", "content": "%s"}]}\
        """
            .formatted(model, text);
    RoutingRequest request = engine.read("POST", PATH, Map.of(), body.getBytes(UTF_8));
    return switch (engine.choices().choose(request, TTL)) {
      case Choice.Leased(Worker worker, String lease, _) -> {
        Outcome outcome = send(worker, body);
        engine.choices().settle(lease, outcome, TokenCounts.NONE);
        yield worker.id() + ", " + request.result().reason() + ": " + outcome;
      }
      case Choice.Refused(var rejection) -> "nobody: " + rejection.reason();
      case Choice.TooManyLeases _ -> "too many leases";
      case Choice.IdTaken taken -> throw new IllegalStateException("no id was given: " + taken);
      case Choice.Pointed(Worker worker) -> throw new IllegalStateException("not held: " + worker);
    };
  }

  private Outcome send(Worker worker, String body) throws InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(worker.spec().url() + PATH))
            .header("content-type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
    try {
      int status = http.send(request, HttpResponse.BodyHandlers.ofString()).statusCode();
      return status < 500 ? Outcome.SUCCEEDED : new Outcome.Failed(Failure.ERROR);
    } catch (ConnectException e) {
      return new Outcome.Failed(Failure.CONNECT);
    } catch (IOException e) {
      return new Outcome.Failed(Failure.ERROR);
    }
  }
}
