package io.pointsman.pd.execution;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Role;
import io.pointsman.pd.rule.SplitSettings;
import io.pointsman.proxy.ProxyRig;
import io.pointsman.proxy.ProxySettings;
import io.pointsman.proxy.WireResponse;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Stored responses with an unknown worker, as after a restart of the router. The fleets have
 * regular, prefill and decode workers.
 */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@Timeout(60)
class SplitKeptTest {
  /** A port without a listener. */
  private static final String NOBODY = "http://127.0.0.1:1";

  private static final String NEXT =
      "{\"model\":\"m\",\"previous_response_id\":\"resp_1\",\"input\":\"a\"}";

  /**
   * Two workers share each request. Only regular workers, and prefill workers if set, serve
   * complete requests.
   */
  private static SplitRig rig(boolean prefillServesWhole) throws Exception {
    SplitSettings settings = new SplitSettings(0, 0, 2, 8, 0, false, prefillServesWhole, false);
    return new SplitRig(SplitRig.named("nixl"), ProxySettings.DEFAULTS, settings);
  }

  /** Has one response and answers 404 for others. */
  private static EngineScript keeper(String id) {
    return (request, connection) ->
        connection.reply(request.line().contains(id) ? 200 : 404, "application/json", "{}");
  }

  private static EngineScript nothing() {
    return keeper("nothing");
  }

  private static String ask(String line) {
    boolean posts = line.startsWith("POST");
    return line + " HTTP/1.1\r\nhost: r\r\n" + (posts ? "content-length: 0\r\n" : "") + "\r\n";
  }

  private static String get(String id) {
    return ask("GET /v1/responses/" + id);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "GET /v1/responses/resp_1",
        "GET /v1/responses/resp_1?include=all",
        "GET /v1/responses/resp_1/input_items",
        "POST /v1/responses/resp_1/cancel",
        "DELETE /v1/responses/resp_1"
      })
  void decodeWorkersAreTriedAfterRegularOnes(String line) throws Exception {
    try (SplitRig rig = rig(false)) {
      ScriptedEngine regular = rig.regular(nothing());
      ScriptedEngine prefill = rig.prefill(nothing());
      ScriptedEngine one = rig.decode(nothing());
      ScriptedEngine two = rig.decode(keeper("resp_1"));

      WireResponse found = rig.proxy.ask(ask(line));
      assertThat(found.status()).as(found.text()).isEqualTo(200);
      assertThat(found.header("x-pointsman-worker")).isEqualTo(two.id());
      assertThat(two.awaitRequest().line()).isEqualTo(line + " HTTP/1.1");
      assertThat(regular.requests()).hasSize(1);
      assertThat(one.requests()).hasSize(1);
      assertThat(prefill.requests()).isEmpty();
    }
  }

  @Test
  void theOwnerOfAResponseIsRemembered() throws Exception {
    try (SplitRig rig = rig(false)) {
      ScriptedEngine regular = rig.regular(nothing());
      ScriptedEngine decode = rig.decode(keeper("resp_1"));
      assertThat(rig.proxy.ask(get("resp_1")).status()).isEqualTo(200);
      assertThat(rig.proxy.ask(get("resp_1")).status()).isEqualTo(200);
      assertThat(regular.requests()).hasSize(1);
      assertThat(decode.requests()).hasSize(2);
    }
  }

  @Test
  void prefillWorkersThatServeCompleteRequestsAreTriedLast() throws Exception {
    try (SplitRig rig = rig(true)) {
      ScriptedEngine prefill = rig.prefill(keeper("resp_1"));
      ScriptedEngine decode = rig.decode(nothing());
      assertThat(rig.proxy.ask(get("resp_1")).status()).isEqualTo(200);
      assertThat(decode.requests()).hasSize(1);
      assertThat(rig.proxy.ask(get("resp_2")).status()).as("nobody's").isEqualTo(404);
      assertThat(decode.requests()).hasSize(2);
      assertThat(prefill.requests()).hasSize(2);
    }
  }

  /** By default a request has five attempts. */
  @ParameterizedTest
  @CsvSource({"resp_1, 200", "resp_2, 502"})
  void workersWithoutTheResponseDoNotCountAsAttempts(String id, int status) throws Exception {
    List<ScriptedEngine> others = new ArrayList<>();
    try (SplitRig rig = rig(false)) {
      for (int i = 0; i < 6; i++) {
        others.add(rig.regular(nothing()));
      }
      rig.worker(NOBODY, Role.DECODE);
      ScriptedEngine decode = rig.decode(keeper("resp_1"));
      assertThat(rig.proxy.ask(get(id)).status())
          .as("the one that cannot be reached may have what nobody else has")
          .isEqualTo(status);
      assertThat(others).allMatch(each -> each.requests().size() == 1);
      assertThat(decode.requests()).hasSize(1);
    }
  }

  @Test
  void anErrorIsNotReplacedByTheAnswersOfWorkersWithoutTheResponse() throws Exception {
    try (SplitRig rig = rig(false)) {
      rig.regular(
          (_, connection) -> connection.reply(500, "application/json", "{\"error\":\"disk\"}"));
      ScriptedEngine decode = rig.decode(nothing());
      WireResponse unsure = rig.proxy.ask(get("resp_1"));
      assertThat(unsure.status()).isEqualTo(500);
      assertThat(unsure.text()).contains("disk");
      assertThat(decode.requests()).hasSize(1);
    }
  }

  @Test
  void whileWorkersAreBusyTheAnswerIsNot404() throws Exception {
    try (SplitRig rig = rig(false)) {
      ScriptedEngine busy =
          rig.regular(
              (_, connection) ->
                  connection.send(
                      "HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\n"
                          + "content-length: 2\r\n\r\n{}"));
      rig.decode(keeper("resp_1"));
      assertThat(rig.proxy.ask(get("resp_2")).status()).isEqualTo(429);
      WireResponse unsure = rig.proxy.ask(get("resp_2"));
      assertThat(unsure.status()).as("it rests, so it was not asked").isEqualTo(429);
      assertThat(unsure.header("retry-after")).isEqualTo("7");
      assertThat(busy.requests()).hasSize(1);
      assertThat(rig.proxy.ask(get("resp_1")).status()).isEqualTo(200);
    }
  }

  /** The worker may not have the response, but it can generate. */
  @Test
  void aRequestThatContinuesAResponseGoesToAWorkerForCompleteRequests() throws Exception {
    try (SplitRig rig = rig(true)) {
      ScriptedEngine decode = rig.decode(Answer.ok());
      ScriptedEngine prefill = rig.prefill(Answer.ok());
      assertThat(rig.proxy.ask(ProxyRig.post("/v1/responses", NEXT)).status()).isEqualTo(200);
      assertThat(prefill.requests()).hasSize(1);
      ScriptedEngine regular = rig.regular(Answer.ok());
      assertThat(rig.proxy.ask(ProxyRig.post("/v1/responses", NEXT)).status()).isEqualTo(200);
      assertThat(regular.requests()).hasSize(1);
      assertThat(decode.requests()).isEmpty();
    }
  }

  @Test
  void aKnownOwnerMayReturnItsResponseButNotGenerate() throws Exception {
    try (SplitRig rig = rig(false)) {
      ScriptedEngine decode = rig.decode(keeper("resp_1"));
      rig.regular(nothing());
      assertThat(rig.proxy.ask(get("resp_1")).status()).isEqualTo(200);
      WireResponse refused = rig.proxy.ask(ProxyRig.post("/v1/responses", NEXT));
      assertThat(refused.status()).isEqualTo(400);
      assertThat(refused.text()).contains("\"unsplittable\"", "previous_response_id");
      assertThat(decode.requests()).hasSize(1);
    }
  }
}
