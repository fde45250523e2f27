package io.pointsman.it.plane;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** Reports of proxies about streams that begin before anything is computed. */
@ParameterizedClass
@EnumSource(PlaneRig.Way.class)
@Timeout(300)
@Tag("full")
final class PlaneFirstTokensTest {
  private final PlaneRig rig;

  PlaneFirstTokensTest(PlaneRig.Way way) {
    // A prompt of at least 400 tokens takes at least 2 s.
    rig = new PlaneRig(way).engines(1, sim -> sim.withLinearLatency(200, 1));
  }

  @AfterEach
  void close() {
    rig.close();
  }

  @Test
  void eventsBeforeTheComputationAreNoFirstToken() throws Exception {
    rig.router("cost", "decisions.sample", "1");
    rig.carrier();
    rig.awaitNoLoad();
    String prompt = "tell me more ".repeat(200);
    String body = "{\"model\":\"sim\",\"stream\":true,\"input\":\"" + prompt + "\"}";
    String answer = RawClient.call(rig.port(), "POST", "/v1/responses", body).text();

    assertThat(answer).contains("event: response.created", "event: response.output_text.delta");
    WaitFor.until("the end is counted", WaitFor.LONG, () -> newest().has("outcome"));
    assertThat(newest().path("ttft_ms").asDouble(-1)).isGreaterThan(1500);
  }

  private JsonNode newest() {
    try {
      String log = RawClient.call(rig.adminPort(), "GET", "/decisions?limit=1", "").text();
      return new ObjectMapper().readTree(log).path("decisions").path(0).path("measured");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
