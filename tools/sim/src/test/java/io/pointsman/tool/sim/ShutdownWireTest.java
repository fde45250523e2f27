package io.pointsman.tool.sim;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.testkit.Await;
import io.pointsman.tool.sim.failure.Fault;
import io.pointsman.tool.sim.http.SimJson;
import java.io.IOException;
import java.net.Socket;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The end of an engine, as vLLM 0.32 shows it to its clients. */
class ShutdownWireTest {
  private static final String CHAT = "\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]";
  private static final String LONG = "\"max_tokens\":100000";
  private final SimEngine engine =
      SimEngine.start(
          SimConfig.instant()
              .withModels("sim")
              .withLinearLatency(0, 5)
              .withScaleOut(true)
              .withMaxRunning(6));

  @AfterEach
  void close() {
    engine.close();
  }

  private void underWay(int requests) {
    Await.until("under way", () -> engine.state().requests().inFlight() == requests);
    Await.until("tokens", () -> engine.state().sequences().running() > 0);
  }

  private static CompletableFuture<HttpResponse<String>> ask(String url, String body) {
    return CompletableFuture.supplyAsync(
        () -> {
          try {
            return SimWireClient.post(url, body);
          } catch (IOException e) {
            throw new IllegalStateException(e);
          }
        });
  }

  @Test
  void requestsInProgressEndWithTheirTokensSoFar() throws IOException {
    Map<String, CompletableFuture<HttpResponse<String>>> answers = new TreeMap<>();
    Map<String, String> bodies =
        Map.of(
            "/v1/chat/completions", "{" + CHAT + "," + LONG + "}",
            "/v1/completions", "{\"prompt\":\"a\"," + LONG + "}",
            "/v1/responses", "{\"input\":\"a\",\"max_output_tokens\":100000}",
            "/v1/messages", "{" + CHAT + "," + LONG + "}",
            "/inference/v1/generate", "{\"token_ids\":[1,2],\"sampling_params\":{" + LONG + "}}");
    bodies.forEach((path, body) -> answers.put(path, ask(engine.url() + path, body)));
    underWay(5);
    engine.terminate(0);

    ObjectNode documents = SimJson.object();
    for (var answer : answers.entrySet()) {
      assertThat(answer.getValue().join().statusCode()).isEqualTo(200);
      documents.set(answer.getKey(), SimWireClient.json(answer.getValue().join().body()));
    }
    for (String path :
        new String[] {"/v1/chat/completions", "/v1/completions", "/inference/v1/generate"}) {
      assertThat(documents.path(path).at("/choices/0/finish_reason").asText()).isEqualTo("abort");
    }
    assertThat(documents.path("/v1/messages").has("stop_reason")).isFalse();
    assertThat(documents.path("/v1/responses").path("status").asText()).isEqualTo("completed");
  }

  @Test
  void aStreamEndsWithAnAbortAndOneWithoutTokensStaysOpen() throws IOException {
    String body = "{\"prompt\":\"a\",\"stream\":true," + LONG + "}";
    SimEngine one = SimEngine.start(SimConfig.instant().withLinearLatency(0, 5).withMaxRunning(1));
    try (one;
        Socket first = SimWireClient.open(one.port(), "/v1/completions", body)) {
      SimWireClient.readUntil(first.getInputStream(), "\"text\":");
      try (Socket waiting = SimWireClient.open(one.port(), "/v1/completions", body)) {
        SimWireClient.readUntil(waiting.getInputStream(), "\r\n\r\n");
        one.terminate(0);

        SimWireClient.readUntil(first.getInputStream(), "\"finish_reason\":\"abort\"");
        SimWireClient.readUntil(first.getInputStream(), "[DONE]");
        assertThatThrownBy(() -> SimWireClient.get(one.url() + "/health"))
            .isInstanceOf(IOException.class);
        assertThat(waiting.getInputStream().available()).isZero();
        assertThat(one.state().requests().inFlight()).isEqualTo(1);
      }
    }
  }

  @Test
  void laterRequestsGet500WhileTheServerStillListens() throws IOException {
    engine.terminate(60_000);
    String chat = engine.url() + "/v1/chat/completions";
    HttpResponse<String> refused = SimWireClient.post(chat, "{" + CHAT + "}");

    assertThat(refused.statusCode()).isEqualTo(500);
    assertThat(refused.body()).contains("cannot schedule new futures after shutdown");
    assertThat(SimWireClient.get(engine.url() + "/health").statusCode()).isEqualTo(200);
    engine.stop();
    engine.restart();
    assertThat(SimWireClient.post(chat, "{" + CHAT + "}").statusCode()).isEqualTo(200);
  }

  @Test
  void aPoisonRequestEndsTheEngine() throws IOException {
    engine.failures().always(new Fault.Poison("skull"));
    CompletableFuture<HttpResponse<String>> whole =
        ask(engine.url() + "/v1/completions", "{\"prompt\":\"a\"," + LONG + "}");
    CompletableFuture<HttpResponse<String>> stream =
        ask(engine.url() + "/v1/completions", "{\"prompt\":\"a\",\"stream\":true," + LONG + "}");
    underWay(2);
    Await.until("both", () -> engine.state().sequences().running() == 2);
    HttpResponse<String> poison =
        SimWireClient.post(engine.url() + "/v1/completions", "{\"prompt\":\"a skull\"}");

    assertThat(poison.statusCode()).isEqualTo(500);
    assertThat(poison.body()).contains("EngineCore encountered an issue");
    assertThat(whole.join().statusCode()).isEqualTo(500);
    assertThat(stream.join().body()).contains("data: {\"error\":").contains("\"code\":500");
    Await.until(
        "nobody listens",
        () -> {
          try {
            return SimWireClient.get(engine.url() + "/health").statusCode() == 0;
          } catch (IOException _) {
            return true;
          }
        });
  }

  @Test
  void messagesHaveErrorsInAnthropicsFormAfterTheirSchemaIsChecked() throws IOException {
    String url = engine.url() + "/v1/messages";
    JsonNode unknown = SimWireClient.postJson(url, "{\"model\":\"x\"," + CHAT + "}");
    JsonNode malformed = SimWireClient.postJson(url, "{}");

    assertThat(unknown.path("type").asText()).isEqualTo("error");
    assertThat(unknown.at("/error/type").asText()).isEqualTo("NotFoundError");
    assertThat(unknown.path("error").has("code")).isFalse();
    assertThat(malformed.has("type")).isFalse();
    assertThat(malformed.at("/error/code").asInt()).isEqualTo(400);
  }

  @Test
  void tokenGenerationHasItsUsageBeforeItsChoices() throws IOException {
    String answer =
        SimWireClient.post(engine.url() + "/inference/v1/generate", "{\"token_ids\":[1,2]}").body();

    assertThat(answer.indexOf("\"usage\":{"))
        .isPositive()
        .isLessThan(answer.indexOf("\"choices\""));
  }
}
