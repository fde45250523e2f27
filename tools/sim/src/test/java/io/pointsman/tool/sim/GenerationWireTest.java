package io.pointsman.tool.sim;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class GenerationWireTest {
  private final SimEngine engine =
      SimEngine.start(SimConfig.instant().withModels("m", "adapter").withId("e1"));

  @AfterEach
  void close() {
    engine.close();
  }

  @Test
  void chatAnswersTheRequestedNumberOfTokens() throws IOException {
    var response =
        SimWireClient.post(
            engine.url() + "/v1/chat/completions",
            "{\"model\":\"m\",\"max_tokens\":5,\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}");
    JsonNode answer = SimWireClient.json(response.body());

    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().firstValue("x-engine-id")).contains("e1");
    assertThat(answer.at("/choices/0/message/content").asText().split(" ")).hasSize(5);
    assertThat(answer.at("/choices/0/finish_reason").asText()).isEqualTo("length");
    assertThat(answer.at("/usage/completion_tokens").asInt()).isEqualTo(5);
    assertThat(engine.state().requests().served()).isEqualTo(1);
    assertThat(engine.state().requests().inFlight()).isZero();
  }

  @Test
  void streamedChatHasOneEventPerTokenAndEndsWithDone() throws IOException {
    var response =
        SimWireClient.post(
            engine.url() + "/v1/chat/completions",
            "{\"stream\":true,\"stream_options\":{\"include_usage\":true},\"max_tokens\":3,"
                + "\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}");
    List<String> events = SimWireClient.events(response.body());

    assertThat(response.headers().firstValue("content-type"))
        .contains("text/event-stream; charset=utf-8");
    assertThat(events).hasSize(1 + 3 + 1 + 1 + 1);
    assertThat(SimWireClient.json(events.getFirst()).at("/choices/0/delta/role").asText())
        .isEqualTo("assistant");
    assertThat(SimWireClient.json(events.get(4)).at("/choices/0/finish_reason").asText())
        .isEqualTo("length");
    assertThat(SimWireClient.json(events.get(5)).at("/usage/completion_tokens").asInt())
        .isEqualTo(3);
    assertThat(events.getLast()).isEqualTo("[DONE]");
  }

  @Test
  void repeatedPromptIsReportedAsCached() throws IOException {
    String body = "{\"prompt\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18],\"max_tokens\":1}";
    JsonNode first = SimWireClient.postJson(engine.url() + "/v1/completions", body);
    JsonNode second = SimWireClient.postJson(engine.url() + "/v1/completions", body);

    assertThat(first.at("/usage/prompt_tokens_details/cached_tokens").asInt(-1)).isZero();
    assertThat(second.at("/usage/prompt_tokens_details/cached_tokens").asInt()).isEqualTo(16);
    assertThat(engine.state().tokens().cacheQueries()).isEqualTo(36);
    assertThat(engine.state().tokens().cacheHits()).isEqualTo(16);
  }

  @Test
  void otherModelSharesNoPrefix() throws IOException {
    String body = "\"prompt\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18],\"max_tokens\":1}";
    SimWireClient.postJson(engine.url() + "/v1/completions", "{\"model\":\"m\"," + body);
    JsonNode other =
        SimWireClient.postJson(engine.url() + "/v1/completions", "{\"model\":\"adapter\"," + body);

    assertThat(other.at("/usage/prompt_tokens_details/cached_tokens").asInt(-1)).isZero();
  }

  @Test
  void sameSeedGivesTheSameTokensOnBothGeneratePaths() throws IOException {
    String body =
        "{\"token_ids\":[1,2,3],\"sampling_params\":{\"max_tokens\":4,\"seed\":7,\"n\":2}}";
    JsonNode typed = SimWireClient.postJson(engine.url() + "/inference/v1/generate", body);
    JsonNode custom = SimWireClient.postJson(engine.url() + "/custom/generate", body);

    assertThat(typed.at("/choices/0/token_ids")).hasSize(4);
    assertThat(custom.at("/choices")).isEqualTo(typed.at("/choices"));
    assertThat(typed.at("/choices/1/token_ids")).isNotEqualTo(typed.at("/choices/0/token_ids"));
  }

  @Test
  void unknownModelIsNotFound() throws IOException {
    var response =
        SimWireClient.post(engine.url() + "/v1/completions", "{\"model\":\"x\",\"prompt\":\"a\"}");

    assertThat(response.statusCode()).isEqualTo(404);
    assertThat(SimWireClient.json(response.body()).at("/error/code").asInt()).isEqualTo(404);
    assertThat(engine.state().requests().failed()).isEqualTo(1);
  }
}
