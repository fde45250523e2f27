package io.pointsman.it.split;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The engines of each role get their own key, unless the client sends one. */
@Timeout(180)
@Tag("full")
final class EngineKeysTest {
  private static final String BODY =
      "{\"model\":\"sim\",\"prompt\":\"so many words\",\"max_tokens\":9}";
  private static final String ANSWER =
      "{\"id\":\"p\",\"choices\":[{\"index\":0,\"text\":\"x\",\"finish_reason\":\"length\"}]}";

  private static ScriptedPair pair(String keys) throws IOException {
    return new ScriptedPair(
        "  protocol: transparent\n" + keys, ANSWER, new Faults.Answer(200, ANSWER));
  }

  private static void only(List<EngineRequest> requests, String line, String key) {
    assertThat(requests)
        .filteredOn(request -> request.line().startsWith(line))
        .isNotEmpty()
        .allSatisfy(request -> assertThat(request.values("authorization")).containsExactly(key));
  }

  @Test
  void probesAndRequestsCarryTheKeyOfTheRole() throws IOException {
    try (ScriptedPair pair = pair("  prefill-api-key: kp\napi-key: all\n")) {
      pair.post("/v1/completions", BODY);
      for (String line : List.of("GET /health ", "GET /v1/models ", "POST /v1/completions ")) {
        only(pair.prefillRequests(), line, "Bearer kp");
        only(pair.decodeRequests(), line, "Bearer all");
      }
    }
  }

  @Test
  void aClientsOwnKeyGoesToBoth() throws IOException {
    try (ScriptedPair pair = pair("  prefill-api-key: kp\n  decode-api-key: kd\n");
        RawClient client = RawClient.connect(pair.port())) {
      List<String> headers = List.of("authorization: Bearer mine");
      HttpAnswer answer =
          client.send("POST", "/v1/completions", BODY.getBytes(UTF_8), headers).read();
      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      only(pair.prefillRequests(), "POST ", "Bearer mine");
      only(pair.decodeRequests(), "POST ", "Bearer mine");
      only(pair.decodeRequests(), "GET /health ", "Bearer kd");
    }
  }
}
