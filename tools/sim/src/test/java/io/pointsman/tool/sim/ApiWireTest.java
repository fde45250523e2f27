package io.pointsman.tool.sim;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.testkit.Await;
import java.io.IOException;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class ApiWireTest {
  private final SimEngine engine = SimEngine.start(SimConfig.instant().withModels("m"));

  @AfterEach
  void close() {
    engine.close();
  }

  @Test
  void completionsAcceptEveryFormOfPrompt() throws IOException {
    for (String prompt : List.of("\"a b\"", "[\"a\",\"b\"]", "[1,2]", "[[1,2],[3]]")) {
      JsonNode answer =
          post("/v1/completions", "{\"n\":2,\"max_tokens\":3,\"prompt\":" + prompt + "}");
      int prompts = prompt.startsWith("[\"") || prompt.startsWith("[[") ? 2 : 1;

      assertThat(answer.at("/choices")).hasSize(2 * prompts);
      assertThat(answer.at("/usage/completion_tokens").asInt()).isEqualTo(6 * prompts);
    }
  }

  @Test
  void embeddingsDependOnTheTextAlone() throws IOException {
    String body = "{\"input\":[\"one\",\"two\",\"one\"],\"dimensions\":8}";
    JsonNode data = post("/v1/embeddings", body).at("/data");

    assertThat(data.at("/0/embedding")).hasSize(8).isEqualTo(data.at("/2/embedding"));
    assertThat(data.at("/1/embedding")).isNotEqualTo(data.at("/0/embedding"));
    assertThat(
            post("/v1/embeddings", "{\"input\":\"one\",\"encoding_format\":\"base64\"}")
                .at("/data/0/embedding")
                .asText())
        .hasSize(344);
  }

  @Test
  void rerankSortsByRelevance() throws IOException {
    for (String path : List.of("/rerank", "/v1/rerank")) {
      JsonNode results =
          post(path, "{\"query\":\"q\",\"documents\":[\"a\",\"b\",\"c\"],\"top_n\":2}")
              .at("/results");

      assertThat(results).hasSize(2);
      assertThat(results.at("/0/relevance_score").asDouble())
          .isGreaterThanOrEqualTo(results.at("/1/relevance_score").asDouble());
      assertThat(results.at("/0/document/text").asText()).isIn("a", "b", "c");
    }
  }

  @Test
  void scorePairsOneWithMany() throws IOException {
    for (String path : List.of("/score", "/v1/score")) {
      JsonNode data = post(path, "{\"text_1\":\"q\",\"text_2\":[\"a\",\"b\"]}").at("/data");

      assertThat(data).hasSize(2);
      assertThat(data.at("/0/score").asDouble()).isBetween(0.0, 1.0);
    }
  }

  @Test
  void tokenizeAndDetokenizeAreInverse() throws IOException {
    JsonNode tokens =
        post("/tokenize", "{\"prompt\":\"Hello, world!\",\"return_token_strs\":true}");
    JsonNode text = post("/detokenize", "{\"tokens\":" + tokens.at("/tokens") + "}");

    assertThat(tokens.at("/count").asInt()).isEqualTo(tokens.at("/tokens").size()).isPositive();
    assertThat(tokens.at("/token_strs")).hasSize(tokens.at("/count").asInt());
    assertThat(tokens.at("/max_model_len").asInt()).isEqualTo(131_072);
    assertThat(text.at("/prompt").asText()).isEqualTo("Hello, world!");
  }

  @Test
  void renderReturnsTheTokensOfTokenize() throws IOException {
    String chat = "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}";
    JsonNode rendered = post("/v1/chat/completions/render", chat);

    assertThat(rendered.at("/token_ids")).isEqualTo(post("/tokenize", chat).at("/tokens"));
    assertThat(rendered.at("/features").isNull()).isTrue();
    assertThat(post("/v1/completions/render", "{\"prompt\":[\"a\",\"b c\"]}")).hasSize(2);
    assertThat(post("/v1/responses/render", "{\"input\":\"Hi\"}").at("/token_ids"))
        .isEqualTo(rendered.at("/token_ids"));
    assertThat(post("/v1/messages/render", chat).at("/token_ids"))
        .isEqualTo(rendered.at("/token_ids"));
  }

  @Test
  void renderOfAnImageHasFeatures() throws IOException {
    JsonNode rendered =
        post(
            "/v1/chat/completions/render",
            "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":"
                + "{\"url\":\"x\"}}]}]}");

    assertThat(rendered.at("/features").isObject()).isTrue();
  }

  @Test
  void plainEngineServesNoScaleOutEndpoints() throws IOException {
    try (SimEngine plain = SimEngine.start(SimConfig.instant().withScaleOut(false))) {
      for (String path : List.of("/inference/v1/generate", "/v1/chat/completions/render")) {
        assertThat(SimWireClient.post(plain.url() + path, "{}").statusCode()).isEqualTo(404);
      }
      assertThat(
              SimWireClient.post(plain.url() + "/custom/generate", "{\"token_ids\":[1]}")
                  .statusCode())
          .isEqualTo(200);
    }
  }

  @Test
  void responsesAreStoredAndContinued() throws IOException {
    JsonNode first = post("/v1/responses", "{\"input\":\"Hi\",\"instructions\":\"Be brief.\"}");
    String id = first.at("/id").asText();
    JsonNode next =
        post("/v1/responses", "{\"input\":\"And?\",\"previous_response_id\":\"" + id + "\"}");
    String url = engine.url() + "/v1/responses/" + id;

    assertThat(first.at("/status").asText()).isEqualTo("completed");
    assertThat(first.at("/output/0/content/0/text").asText()).isNotEmpty();
    assertThat(next.at("/usage/input_tokens").asInt())
        .isGreaterThan(first.at("/usage/total_tokens").asInt());
    assertThat(SimWireClient.json(SimWireClient.get(url).body())).isEqualTo(first);
    assertThat(get("/v1/responses/" + id + "/input").at("/data/0/content/0/text").asText())
        .isEqualTo("Hi");
    assertThat(SimWireClient.send("DELETE", url, "").statusCode()).isEqualTo(200);
    assertThat(SimWireClient.get(url).statusCode()).isEqualTo(404);
  }

  @Test
  void backgroundResponseIsCancelled() throws IOException {
    try (SimEngine slow = SimEngine.start(SimConfig.DEFAULT.withLinearLatency(1, 1000))) {
      String url = slow.url() + "/v1/responses";
      JsonNode begun = SimWireClient.postJson(url, "{\"input\":\"Hi\",\"background\":true}");
      String one = url + "/" + begun.at("/id").asText();
      JsonNode cancelled = SimWireClient.postJson(one + "/cancel", "");

      assertThat(begun.at("/status").asText()).isIn("queued", "in_progress");
      assertThat(cancelled.at("/status").asText()).isEqualTo("cancelled");
      assertThat(slow.state().sequences().aborted()).isEqualTo(1);
    }
  }

  @Test
  void responsesAreCreatedBeforeAnythingIsComputed() throws IOException {
    try (SimEngine slow = SimEngine.start(SimConfig.DEFAULT.withLinearLatency(0.01, 1));
        Socket client =
            SimWireClient.open(
                slow.port(), "/v1/responses", "{\"input\":\"Hi\",\"stream\":true}")) {
      String begun =
          SimWireClient.readUntil(client.getInputStream(), "event: response.in_progress");

      assertThat(begun).contains("event: response.created", "\"status\":\"in_progress\"");
    }
  }

  @Test
  void responsesStreamTheirEventsInOrder() throws IOException {
    String stream =
        SimWireClient.post(
                engine.url() + "/v1/responses",
                "{\"input\":\"Hi\",\"stream\":true,\"max_output_tokens\":2}")
            .body();

    assertThat(stream.lines().filter(line -> line.startsWith("event: ")).map(l -> l.substring(7)))
        .containsExactly(
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed");
    assertThat(stream).contains("\"status\":\"incomplete\"");
  }

  @Test
  void messagesAnswerInAnthropicsForm() throws IOException {
    String body =
        "{\"model\":\"m\",\"max_tokens\":4,\"system\":\"Be brief.\","
            + "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Hi\"}]}]";
    JsonNode answer = post("/v1/messages", body + "}");
    String stream =
        SimWireClient.post(engine.url() + "/v1/messages", body + ",\"stream\":true}").body();

    assertThat(answer.at("/content/0/text").asText().split(" ", -1)).hasSize(4);
    assertThat(answer.at("/stop_reason").asText()).isEqualTo("max_tokens");
    assertThat(post("/v1/messages/count_tokens", body + "}").at("/input_tokens").asInt())
        .isEqualTo(answer.at("/usage/input_tokens").asInt());
    assertThat(stream)
        .startsWith("event: message_start\n")
        .contains("\"text_delta\"")
        .endsWith("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
  }

  @Test
  void generateAnswersInSglangsForm() throws IOException {
    String params = "\"sampling_params\":{\"max_new_tokens\":3}";
    JsonNode one = post("/generate", "{\"text\":\"Hi there\"," + params + "}");
    JsonNode batch = post("/generate", "{\"input_ids\":[[1,2],[3]]," + params + "}");
    List<String> events =
        SimWireClient.events(
            SimWireClient.post(
                    engine.url() + "/generate", "{\"text\":\"Hi\",\"stream\":true," + params + "}")
                .body());

    assertThat(one.at("/meta_info/completion_tokens").asInt()).isEqualTo(3);
    assertThat(one.at("/output_ids")).hasSize(3);
    assertThat(batch).hasSize(2);
    assertThat(events).hasSize(4);
    assertThat(SimWireClient.json(events.get(2)).at("/text").asText())
        .startsWith(SimWireClient.json(events.get(0)).at("/text").asText() + " ");
  }

  @Test
  void transcriptionTakesAForm() throws IOException {
    JsonNode answer =
        SimWireClient.json(
            SimWireClient.postForm(engine.url() + "/v1/audio/transcriptions", "m", new byte[64_000])
                .body());

    assertThat(answer.at("/text").asText()).isNotEmpty();
    assertThat(answer.at("/usage/seconds").asInt()).isEqualTo(2);
    assertThat(engine.state().tokens().cacheQueries()).isEqualTo(100);
  }

  @Test
  void streamedTokensCarryTheIds() throws IOException {
    String body = "{\"token_ids\":[1,2],\"sampling_params\":{\"max_tokens\":2,\"seed\":5}";
    JsonNode whole = post("/inference/v1/generate", body + "}").at("/choices/0/token_ids");
    List<String> events =
        SimWireClient.events(
            SimWireClient.post(engine.url() + "/inference/v1/generate", body + ",\"stream\":true}")
                .body());

    assertThat(SimWireClient.json(events.get(0)).at("/choices/0/token_ids/0"))
        .isEqualTo(whole.get(0));
    assertThat(SimWireClient.json(events.get(1)).at("/choices/0/token_ids/0"))
        .isEqualTo(whole.get(1));
    assertThat(events.getLast()).isEqualTo("[DONE]");
  }

  @Test
  void informationIsWhereRoutersLookForIt() throws IOException {
    assertThat(get("/v1/models").at("/data/0/id").asText()).isEqualTo("m");
    assertThat(get("/get_model_info").at("/model_path").asText()).isEqualTo("m");
    assertThat(get("/get_server_info").at("/kv_block_size").asInt()).isEqualTo(16);
    assertThat(get("/server_info?config_format=json").at("/vllm_config/cache_config/block_size"))
        .hasToString("16");
    assertThat(get("/load").at("/server_load").asInt(-1)).isZero();
    assertThat(get("/get_load").at("/load").asInt(-1)).isZero();
    assertThat(get("/v1/loads").at("/loads/0/num_running_reqs").asInt(-1)).isZero();
    for (String path : List.of("/health", "/health_generate", "/ping")) {
      assertThat(SimWireClient.get(engine.url() + path).statusCode()).isEqualTo(200);
    }
  }

  @Test
  void metricsCountQueriesAndHits() throws IOException {
    String body = "{\"prompt\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17],\"max_tokens\":1}";
    post("/v1/completions", body);
    post("/v1/completions", body);
    String metrics = SimWireClient.get(engine.url() + "/metrics").body();

    assertThat(metrics)
        .contains("vllm:prefix_cache_queries_total{engine=\"0\",model_name=\"m\"} 34\n")
        .contains("vllm:prefix_cache_hits_total{engine=\"0\",model_name=\"m\"} 16\n")
        .contains("vllm:time_to_first_token_seconds_count{engine=\"0\",model_name=\"m\"} 2\n")
        .contains("vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 0");
  }

  @Test
  void flushedCacheFindsNothing() throws IOException {
    String body = "{\"prompt\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17],\"max_tokens\":1}";
    for (String path : List.of("/flush_cache", "/reset_prefix_cache")) {
      post("/v1/completions", body);
      assertThat(SimWireClient.post(engine.url() + path, "").statusCode()).isEqualTo(200);

      assertThat(post("/v1/completions", body).at("/usage/prompt_tokens_details/cached_tokens"))
          .hasToString("0");
      SimWireClient.post(engine.url() + path, "");
    }
  }

  @Test
  void engineThatRestsKeepsWorkUntilItWorksAgain() throws Exception {
    for (List<String> calls :
        List.of(List.of("/sleep", "/wake_up"), List.of("/pause", "/resume"))) {
      String state = calls.getFirst().equals("/sleep") ? "is_sleeping" : "is_paused";
      post(calls.getFirst(), "");
      assertThat(SimWireClient.get(engine.url() + "/" + state).body())
          .isEqualTo("{\"" + state + "\":true}");
      FutureTask<Integer> waiting =
          new FutureTask<>(() -> status("/v1/completions", "{\"prompt\":\"a\",\"max_tokens\":1}"));
      Thread.ofVirtual().start(waiting);
      Await.until("the request waits", () -> engine.state().requests().inFlight() > 0);
      assertThat(waiting.isDone()).isFalse();
      assertThat(SimWireClient.get(engine.url() + "/health").statusCode()).isEqualTo(200);
      post(calls.getLast(), "");
      assertThat(waiting.get(60, TimeUnit.SECONDS)).isEqualTo(200);
    }
  }

  @Test
  void tokenIdsStandBehindTheCounts() throws IOException {
    String chat =
        "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"max_tokens\":2,"
            + "\"return_token_ids\":true}";
    JsonNode answer = post("/v1/chat/completions", chat);
    assertThat(answer.at("/choices/0/token_ids")).hasSize(2);
    assertThat(answer.at("/prompt_token_ids")).isNotEmpty();
    String text = SimWireClient.post(engine.url() + "/v1/chat/completions", chat).body();
    assertThat(text.indexOf("\"prompt_token_ids\"")).isGreaterThan(text.indexOf("\"usage\""));
    JsonNode completion =
        post("/v1/completions", "{\"prompt\":[5,6],\"max_tokens\":2,\"return_token_ids\":true}");
    assertThat(completion.at("/choices/0/prompt_token_ids")).hasToString("[5,6]");
    assertThat(completion.at("/choices/0/token_ids")).hasSize(2);
  }

  @Test
  void streamsHaveTokenIdsOnDemand() throws IOException {
    String stream = "\"max_tokens\":1,\"stream\":true,\"return_token_ids\":true}";
    String url = engine.url();
    assertThat(
            SimWireClient.post(
                    url + "/v1/chat/completions",
                    "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]," + stream)
                .body())
        .containsPattern("\"finish_reason\":null}],\"prompt_token_ids\":\\[\\d")
        .containsPattern("\"finish_reason\":null,\"token_ids\":\\[\\d+]}]}");
    assertThat(SimWireClient.post(url + "/v1/completions", "{\"prompt\":[5]," + stream).body())
        .containsPattern(
            "\"stop_reason\":null,\"prompt_token_ids\":\\[5],\"token_ids\":\\[\\d+]}]}");
  }

  @Test
  void unknownPathsAndMethodsAreRefusedByTheFramework() throws IOException {
    assertThat(SimWireClient.get(engine.url() + "/nowhere").body())
        .isEqualTo("{\"detail\":\"Not Found\"}");
    assertThat(SimWireClient.get(engine.url() + "/v1/completions").body())
        .isEqualTo("{\"detail\":\"Method Not Allowed\"}");
    assertThat(post("/reset_prefix_cache", "")).hasToString("{\"success\":true}");
  }

  @Test
  void wrongBodiesAreBadRequests() throws IOException {
    assertThat(status("/v1/chat/completions", "{")).isEqualTo(400);
    assertThat(status("/v1/chat/completions", "{\"messages\":[]}")).isEqualTo(400);
    assertThat(status("/v1/completions", "{\"prompt\":\"a\",\"max_tokens\":0}")).isEqualTo(400);
    assertThat(status("/v1/completions", "{\"prompt\":{}}")).isEqualTo(400);
    assertThat(status("/inference/v1/generate", "{\"token_ids\":[\"a\"]}")).isEqualTo(400);
    assertThat(status("/v1/embeddings", "{}")).isEqualTo(400);
    assertThat(status("/v1/responses", "{}")).isEqualTo(400);
    assertThat(status("/v1/audio/transcriptions", "{}")).isEqualTo(400);
    assertThat(status("/nowhere", "{}")).isEqualTo(404);
    assertThat(engine.state().requests().inFlight()).isZero();
    assertThat(engine.state().requests().failed()).isEqualTo(8);
  }

  private int status(String path, String body) throws IOException {
    return SimWireClient.post(engine.url() + path, body).statusCode();
  }

  private JsonNode post(String path, String body) throws IOException {
    return SimWireClient.postJson(engine.url() + path, body);
  }

  private JsonNode get(String path) throws IOException {
    return SimWireClient.json(SimWireClient.get(engine.url() + path).body());
  }
}
