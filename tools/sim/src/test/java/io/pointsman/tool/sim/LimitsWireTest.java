package io.pointsman.tool.sim;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.testkit.Await;
import io.pointsman.tool.sim.schedule.EngineLimits;
import java.io.IOException;
import java.net.Socket;
import org.junit.jupiter.api.Test;

class LimitsWireTest {
  private static final String BODY = "{\"prompt\":\"hello there\",\"max_tokens\":1000}";

  @Test
  void fullQueueAnswers503AsVllmDoes() throws IOException {
    SimConfig config = SimConfig.DEFAULT.withLinearLatency(1, 1000).withQueueLimits(1, 0);
    try (SimEngine engine = SimEngine.start(config);
        Socket first = SimWireClient.open(engine.port(), "/v1/completions", BODY)) {
      Await.until("a request runs", () -> engine.state().sequences().running() > 0);
      var response = SimWireClient.post(engine.url() + "/v1/completions", BODY);
      JsonNode error = SimWireClient.json(response.body()).path("error");

      assertThat(first.isConnected()).isTrue();
      assertThat(response.statusCode()).isEqualTo(503);
      assertThat(error.path("code").asInt()).isEqualTo(503);
      assertThat(error.path("type").asText()).isEqualTo("Service Unavailable");
      assertThat(error.path("param").isNull()).isTrue();
      assertThat(engine.state().rejected()).containsEntry("max_num_queued_reqs", 1L);
      assertThat(SimWireClient.get(engine.url() + "/metrics").body())
          .contains("reason=\"max_num_queued_reqs\"} 1\n");
    }
  }

  @Test
  void requestThatNeverFitsIsABadRequest() throws IOException {
    EngineLimits limits = new EngineLimits(10, 16, 8, 8192, 100, 0, 0);
    try (SimEngine engine = SimEngine.start(SimConfig.instant().withLimits(limits))) {
      var response = SimWireClient.post(engine.url() + "/v1/completions", BODY);

      assertThat(response.statusCode()).isEqualTo(400);
      assertThat(response.body()).contains("maximum context length is 100 tokens");
      assertThat(engine.state().rejected()).containsEntry("too_long", 1L);
    }
  }

  @Test
  void anHourOfEngineTimePassesInSeconds() throws IOException {
    SimConfig config = SimConfig.DEFAULT.withLinearLatency(0, 1000).withSpeed(10_000);
    try (SimEngine engine = SimEngine.start(config)) {
      String body = BODY.replace("1000", "3600");

      assertThat(SimWireClient.post(engine.url() + "/v1/completions", body).statusCode())
          .isEqualTo(200);
      assertThat(SimWireClient.get(engine.url() + "/metrics").body())
          .containsPattern("vllm:e2e_request_latency_seconds_sum\\S+ 3[56]\\d\\d\\.");
    }
  }
}
