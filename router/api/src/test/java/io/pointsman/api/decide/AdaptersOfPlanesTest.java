package io.pointsman.api.decide;

import static io.pointsman.api.decide.DecideFixture.json;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Requests of external proxies for {@code base:adapter}, as with Ray Serve's multiplexed models.
 */
class AdaptersOfPlanesTest {
  private static final int TIMES = 10;

  private final DecideFixture plane = DecideFixture.withAdapters("round_robin");

  private static String body(String model, int i) {
    return "{\"model\":\"" + model + "\",\"prompt\":\"" + i + "\"}";
  }

  private JsonNode routed(String model, int i, String... headers) throws Exception {
    return json(plane.post("/internal/route", body(model, i), headers));
  }

  private String decided(String model, int i) throws Exception {
    return plane
        .decided("{\"reserve\":false,\"body\":" + body(model, i) + "}")
        .path("worker")
        .path("id")
        .asText();
  }

  @Test
  void bothEndpointsSendAnAdapterWhereItIsLoaded() throws Exception {
    plane.worker("http://a:1", "base");
    plane.worker("http://b:1", "base", "base:x");
    plane.worker("http://c:1", "base");
    for (int i = 0; i < TIMES; i++) {
      assertThat(routed("base:x", i).path("replica_id").asText()).isEqualTo("b:1");
      assertThat(decided("base:x", i)).isEqualTo("b:1");
    }
    Set<String> ofBase = new HashSet<>();
    for (int i = 0; i < TIMES; i++) {
      ofBase.add(decided("base", i));
    }
    assertThat(ofBase).hasSize(3);
  }

  @Test
  void anUnlistedAdapterStaysOnItsFirstWorker() throws Exception {
    plane.worker("http://a:1", "base");
    plane.worker("http://b:1", "base");
    JsonNode first = routed("base:x", 0);

    for (int i = 1; i < TIMES; i++) {
      assertThat(decided("base:x", i)).isEqualTo(first.path("replica_id").asText());
    }
    assertThat(first.path("request_headers").path("serve_multiplexed_model_id").asText())
        .isEqualTo("base:x");
  }

  @Test
  void anExactNameBeatsThatOfTheBase() throws Exception {
    plane.worker("http://base:1", "base");
    plane.worker("http://own:1", "base:x");

    for (int i = 0; i < TIMES; i++) {
      assertThat(routed("base:x", i).path("replica_id").asText()).isEqualTo("own:1");
      assertThat(routed("base:y", i).path("replica_id").asText()).isEqualTo("base:1");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"serve_multiplexed_model_id", "Serve_Multiplexed_Model_Id"})
  void raysHeaderNamesTheAdapter(String header) throws Exception {
    plane.worker("http://a:1", "base");
    plane.worker("http://b:1", "base", "base:x");
    plane.worker("http://c:1", "base");

    for (int i = 0; i < TIMES; i++) {
      assertThat(routed("base", i, header, "base:x").path("replica_id").asText()).isEqualTo("b:1");
    }
  }

  @Test
  void anAdapterOfAnUnknownBaseIs404() throws Exception {
    plane.worker("http://a:1", "base");

    assertThat(plane.post("/internal/route", body("other:x", 0)).status()).isEqualTo(404);
  }
}
