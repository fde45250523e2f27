package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.CloseAfter;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The form of the router's errors: Anthropic's on the routes of its API, OpenAI's elsewhere. */
@Timeout(60)
class ErrorFormTest {
  private static final String MESSAGES = "/v1/messages";
  private static final String HI = "{\"model\":\"m\",\"messages\":[]}";
  private static final String ID = "x-request-id: id-1\r\n";

  private ProxyRig rig;

  @BeforeEach
  void start() throws Exception {
    rig =
        new ProxyRig(
            Transport.AUTO,
            ProxySettings.DEFAULTS.withLimits(LimitSettings.DEFAULTS.withMaxBodyBytes(2000)));
  }

  @AfterEach
  void close() throws Exception {
    rig.close();
  }

  private WireResponse post(String path, String more, String body) throws Exception {
    return rig.ask(ProxyRig.post(path, ID + more, body));
  }

  private static void assertAnthropic(WireResponse response, int status, String type) {
    assertThat(response.status()).isEqualTo(status);
    assertThat(response.text())
        .startsWith("{\"type\":\"error\",\"error\":{\"type\":\"" + type + "\",\"message\":\"")
        .endsWith("\"},\"request_id\":\"id-1\"}");
    assertThat(response.header("request-id")).isEqualTo("id-1");
    assertThat(response.header("x-request-id")).isEqualTo("id-1");
    assertThat(response.header("content-type")).isEqualTo("application/json");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        MESSAGES,
        MESSAGES + "?beta=true",
        "//v1/messages/",
        "/v1//%6dessages",
        MESSAGES + "/count_tokens",
        MESSAGES + "/batches"
      })
  void anErrorOnARouteOfAnthropicHasItsForm(String path) throws Exception {
    assertAnthropic(post(path, "", HI), 503, "overloaded_error");
  }

  @Test
  void theTypeFollowsTheStatus() throws Exception {
    ScriptedEngine engine = rig.closing(ScriptedEngine.start(new CloseAfter("")));
    rig.worker(WorkerSpec.of(engine.url()).withModels(Set.of("m")));

    assertAnthropic(post(MESSAGES, "", "{\"model\":\"x\"}"), 404, "not_found_error");
    assertAnthropic(post(MESSAGES, "", "{\"model\":"), 400, "invalid_request_error");
    assertAnthropic(post(MESSAGES, "", " ".repeat(2001)), 413, "request_too_large");
    assertAnthropic(post(MESSAGES, "content-encoding: own\r\n", HI), 415, "invalid_request_error");
    assertAnthropic(post(MESSAGES, "", HI), 502, "api_error");
  }

  @Test
  void aRefusedCallerGetsTheFormToo() throws Exception {
    rig.callers = CallerCheck.NOBODY;

    assertAnthropic(post(MESSAGES, "", HI), 401, "authentication_error");
  }

  @Test
  void aWaitThatMayEndKeepsItsHeader() throws Exception {
    assertThat(post(MESSAGES, "", HI).header("retry-after")).isEqualTo("1");
  }

  @ParameterizedTest
  @CsvSource({"/v1/chat/completions", "/v1/responses", "/v1/messages-of-others", "/v1/embeddings"})
  void otherRoutesHaveTheFormOfOpenAi(String path) throws Exception {
    WireResponse response = post(path, "", HI);

    assertThat(response.status()).isEqualTo(503);
    assertThat(response.text()).startsWith("{\"error\":{\"message\":\"").contains("\"code\":\"no_");
    assertThat(response.header("request-id")).isNull();
  }

  @Test
  void anErrorOfTheEngineIsPassedAsItIs() throws Exception {
    String own = "{\"type\":\"error\",\"error\":{\"type\":\"own\",\"message\":\"x\"}}";
    ScriptedEngine engine = rig.closing(ScriptedEngine.start(new Answer(404, own)));
    rig.worker(engine.url());

    assertThat(post(MESSAGES, "", HI).text()).isEqualTo(own);
  }
}
