package io.pointsman.control.health;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import com.sun.net.httpserver.HttpServer;
import io.pointsman.config.settings.HealthRequestLabel;
import io.pointsman.config.settings.HealthRequestLabel.Kind;
import io.pointsman.config.settings.ProbeSettings;
import io.pointsman.control.env.SystemTicker;
import io.pointsman.control.env.ThreadRandomSource;
import io.pointsman.engine.env.Ticker;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.HealthState;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.upstream.EngineKeys;
import io.pointsman.testkit.Await;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Probes by real requests. */
@Timeout(60)
class HealthRequestTest {
  private static final ProbeSettings OFTEN =
      new ProbeSettings(
          "/health",
          List.of(),
          Duration.ofMillis(20),
          Duration.ofSeconds(10),
          Duration.ofMillis(10),
          Duration.ofMillis(20),
          8,
          Duration.ZERO);

  private static WorkerSpec worker(String label, String... models) {
    return WorkerSpec.of("http://a:1")
        .withModels(Set.of(models))
        .withLabels(Map.of(HealthRequestLabel.NAME, label));
  }

  @ParameterizedTest
  @CsvSource({
    "CHAT, /v1/chat/completions, messages",
    "COMPLETION, /v1/completions, prompt",
    "EMBEDDINGS, /v1/embeddings, input",
    "RERANK, /v1/rerank, documents",
    "SCORE, /v1/score, text_2",
    "VISION, /v1/chat/completions, image_url",
    "MESSAGES, /v1/messages, max_tokens"
  })
  void eachKindHasItsPath(Kind kind, String path, String member) throws Exception {
    HealthRequest request = HealthRequest.of(kind, "a \"b\"");
    String body = new String(request.body(), UTF_8);
    assertThat(request.path()).isEqualTo(path);
    assertThat(ModelInBody.model(request.body())).isEqualTo("a \"b\"");
    assertThat(body).contains('"' + member + '"');
  }

  @Test
  void aTranscriptionIsAFormWithARecording() {
    HealthRequest request = HealthRequest.of(Kind.TRANSCRIPTION, "whisper");
    String form = new String(request.body(), ISO_8859_1);
    assertThat(request.contentType()).isEqualTo("multipart/form-data; boundary=pointsman-health");
    assertThat(form)
        .contains("name=\"model\"\r\n\r\nwhisper\r\n", "RIFF", "WAVEfmt ")
        .endsWith("\r\n--pointsman-health--\r\n");
  }

  @ParameterizedTest
  @EnumSource(Kind.class)
  void onlyAGoodResponseInJsonShowsThatTheModelIsServed(Kind kind) {
    HealthRequest request = HealthRequest.of(kind, "m");
    assertThat(request.served(answer(200, "{\"a\":[1]}"))).isTrue();
    assertThat(request.served(answer(500, "{}"))).isFalse();
    assertThat(request.served(answer(200, "<html>"))).isEqualTo(kind == Kind.TRANSCRIPTION);
  }

  private static EngineClient.Answer answer(int status, String body) {
    return new EngineClient.Answer(status, body.getBytes(UTF_8));
  }

  @Test
  void theLabelNamesKindsForAllOrForSingleModels() {
    assertThat(HealthRequestLabel.of(worker("chat", "m", "n")).keySet()).containsOnly("m", "n");
    assertThat(HealthRequestLabel.of(worker("chat:m,embeddings:n:8b", "m", "n:8b")))
        .isEqualTo(Map.of("m", Set.of(Kind.CHAT), "n:8b", Set.of(Kind.EMBEDDINGS)));
    assertThat(HealthRequestLabel.of(WorkerSpec.of("http://a:1"))).isEmpty();
    assertThat(HealthRequestLabel.value(Map.of("n", Set.of("chat"), "m", Set.of("score", "chat"))))
        .isEqualTo("chat:m,score:m,chat:n");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> HealthRequestLabel.of(worker("talk", "m")))
        .withMessageStartingWith("health-request: talk (expected: one of chat, completion,");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> HealthRequestLabel.of(worker("chat:x", "m")))
        .withMessageStartingWith("health-request: chat:x (expected: a model of the worker");
  }

  @Test
  void aModelThatFailsItsRequestLeavesTheWorkerUntilItSucceeds() throws Exception {
    Map<String, Integer> statuses = new ConcurrentHashMap<>(Map.of("m", 500, "n", 500));
    HttpServer engine =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    engine.createContext(
        "/",
        exchange -> {
          byte[] body = exchange.getRequestBody().readAllBytes();
          String model = body.length == 0 ? "" : ModelInBody.model(body);
          boolean known = !exchange.getRequestURI().getPath().startsWith("/v1/v1/");
          exchange.sendResponseHeaders(known ? statuses.getOrDefault(model, 200) : 404, 2);
          exchange.getResponseBody().write("{}".getBytes(UTF_8));
          exchange.close();
        });
    engine.start();
    Ticker ticker = new SystemTicker();
    Fleet fleet = new Fleet(FleetSettings.DEFAULTS, ticker);
    EngineClient client = new EngineClient(EngineKeys.NONE, ticker);
    try (Prober _ = new Prober(fleet, OFTEN, client, ticker, new ThreadRandomSource()).start()) {
      Worker worker =
          fleet.add(
              WorkerSpec.of("http://127.0.0.1:" + engine.getAddress().getPort() + "/v1")
                  .withModels(Set.of("m", "n"))
                  .withLabels(Map.of(HealthRequestLabel.NAME, "chat:m,completion:n")));
      Await.until(
          "it is unhealthy", () -> worker.health().status() == HealthState.Status.UNHEALTHY);
      statuses.put("n", 200);
      Await.until("it serves one", () -> worker.health().healthy());
      assertThat(worker.models()).isEqualTo(Set.of("n"));
      statuses.put("m", 200);
      Await.until("it serves both", () -> worker.models().equals(Set.of("m", "n")));
      statuses.put("n", 503);
      Await.until("it serves the other", () -> worker.models().equals(Set.of("m")));
      assertThat(worker.health().healthy()).isTrue();
    } finally {
      engine.stop(0);
    }
  }
}
