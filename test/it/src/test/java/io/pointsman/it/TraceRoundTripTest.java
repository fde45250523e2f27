package io.pointsman.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.OperationKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.server.wiring.Router;
import io.pointsman.testkit.Await;
import io.pointsman.tool.replay.ReplayCommand;
import io.pointsman.tool.sim.SimConfig;
import io.pointsman.tool.sim.SimEngine;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** Captures traffic through the router and replays it. */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(180)
class TraceRoundTripTest {
  private static final int CONVERSATIONS = 6;
  private static final int TURNS = 10;
  private static final String SECRET = "nightingale";

  @TempDir private Path directory;
  private final ObjectMapper json = new ObjectMapper();

  private static Router router(Path file, SimEngine... engines) {
    ConfigValues values =
        new ConfigValues()
            .set(FrontKeys.PORT, 0)
            .set(OperationKeys.METRICS_ENABLED, false)
            .set(FleetKeys.HEALTH_FIRST_RETRY, Duration.ofMillis(10))
            .set(RoutingKeys.POLICY, "cost")
            .set(OperationKeys.CAPTURE_FILE, file.toString())
            .set(
                RoutingKeys.WORKERS,
                List.of(engines).stream().map(e -> WorkerSpec.of(e.url())).toList());
    return Router.start(PointsmanConfig.from(values), "test");
  }

  /** The body of a turn; conversations grow by 200 token ids per turn. */
  private static String body(int conversation, int turn) {
    String ids =
        IntStream.range(0, (turn + 1) * 200)
            .mapToObj(i -> Integer.toString((conversation + 1) * 10_000 + i))
            .collect(Collectors.joining(","));
    return "{\"model\":\"m\",\"max_tokens\":4,\"prompt\":[" + ids + "]}";
  }

  private static int post(HttpClient http, Router router, String path, String body)
      throws Exception {
    return http.send(
            HttpRequest.newBuilder(URI.create(router.url() + path))
                .header("content-type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString(body))
                .build(),
            BodyHandlers.ofString())
        .statusCode();
  }

  private JsonNode replayed(Path file) throws Exception {
    StringWriter out = new StringWriter();
    CommandLine command = new CommandLine(new ReplayCommand(() -> 0));
    command.setOut(new PrintWriter(out));
    int code =
        command.execute(
            file.toString(), "--workers", "2", "--rate", "5", "--policy", "cost", "--json");
    assertThat(code).isZero();
    return json.readTree(out.toString()).get(0);
  }

  @Test
  void replayServesTheSameRequestsWithSimilarHits() throws Exception {
    Path file = directory.resolve("traffic.jsonl");
    SimConfig engine = SimConfig.instant().withModels("m");
    try (SimEngine first = SimEngine.start(engine);
        SimEngine second = SimEngine.start(engine);
        HttpClient http = HttpClient.newHttpClient()) {
      try (Router router = router(file, first, second)) {
        Await.until(
            "workers are up",
            () -> router.fleet().snapshot().workers().stream().allMatch(w -> w.health().healthy()));
        for (int turn = 0; turn < TURNS; turn++) {
          for (int conversation = 0; conversation < CONVERSATIONS; conversation++) {
            int status = post(http, router, "/v1/completions", body(conversation, turn));
            assertThat(status).isEqualTo(200);
          }
        }
      }
    }
    long prompt = 0;
    long cached = 0;
    List<String> lines = Files.readAllLines(file);
    for (String line : lines) {
      JsonNode read = json.readTree(line);
      assertThat(read.path("block_tokens").asDouble()).isEqualTo(64);
      prompt += read.path("input_length").asLong();
      cached += read.path("cached_tokens").asLong();
    }
    JsonNode row = replayed(file);

    assertThat(lines).hasSize(CONVERSATIONS * TURNS);
    assertThat(row.path("requests").asInt()).isEqualTo(CONVERSATIONS * TURNS);
    // Each turn finds the previous one, 45 of 55 parts of all prompts, unless it went to another
    // worker.
    assertThat((double) cached / prompt).isBetween(0.5, 0.82);
    assertThat(row.path("hit").asDouble()).isCloseTo((double) cached / prompt, within(0.15));
  }

  @Test
  void tokenCountRequestIsNeitherExpectedNorCaptured() throws Exception {
    Path file = directory.resolve("traffic.jsonl");
    SimConfig engine = SimConfig.instant().withModels("m");
    String message =
        "{\"model\":\"m\",\"max_tokens\":4,\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}]}"
            .formatted("four ".repeat(4000));
    try (SimEngine first = SimEngine.start(engine);
        SimEngine second = SimEngine.start(engine);
        HttpClient http = HttpClient.newHttpClient();
        Router router = router(file, first, second)) {
      Await.until(
          "workers are up",
          () -> router.fleet().snapshot().workers().stream().allMatch(w -> w.health().healthy()));
      assertThat(post(http, router, "/v1/messages/count_tokens", message)).isEqualTo(200);
      assertThat(post(http, router, "/v1/messages", message)).isEqualTo(200);
    }

    List<String> lines = Files.readAllLines(file);
    assertThat(lines).hasSize(1);
    assertThat(json.readTree(lines.getFirst()).path("matched_blocks").asInt()).isZero();
  }

  @Test
  void textIsNotCaptured() throws Exception {
    Path file = directory.resolve("traffic.jsonl");
    try (SimEngine engine = SimEngine.start(SimConfig.instant().withModels("m"));
        HttpClient http = HttpClient.newHttpClient()) {
      try (Router router = router(file, engine)) {
        Await.until(
            "the worker is up",
            () -> router.fleet().snapshot().workers().stream().allMatch(w -> w.health().healthy()));
        String chat =
            "{\"model\":\"m\",\"max_tokens\":4,\"user\":\"SECRET\",\"messages\":[{\"role\":\"user\",\"content\":\"SECRET\"}]}";
        int status = post(http, router, "/v1/chat/completions", chat.replace("SECRET", SECRET));
        assertThat(status).isEqualTo(200);
      }
    }

    assertThat(Files.readAllLines(file)).hasSize(1);
    assertThat(Files.readString(file)).doesNotContain(SECRET);
  }
}
