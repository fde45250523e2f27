package io.pointsman.pd.execution;

import static io.pointsman.pd.execution.SplitRig.request;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Role;
import io.pointsman.pd.rule.SplitSettings;
import io.pointsman.proxy.ProxyRig;
import io.pointsman.proxy.ProxySettings;
import io.pointsman.proxy.WireClient;
import io.pointsman.proxy.WireResponse;
import io.pointsman.proxy.settings.HeaderSettings;
import io.pointsman.proxy.wire.ForwardedSettings;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.Raw;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Errors of prefill and decode workers in the form of production-stack. */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; interruptible
@Timeout(60)
class StageErrorsTest {
  private static final String ENGINES =
      "{\"error\":{\"message\":\"bad \\\"x\\\""
          + " \\u00e9\",\"type\":\"BadRequestError\",\"code\":400}}";
  private static final String GOOD = "{\"kv_transfer_params\":{\"a\":1}}";
  private static final ProxySettings SETTINGS =
      ProxySettings.DEFAULTS.withHeaders(
          new HeaderSettings(List.of("x-request-id"), true, true, ForwardedSettings.DEFAULTS));

  private static String prefiller(String message, int status) {
    return "{\"error\":{\"message\":\"Prefiller error: %s\",\"type\":\"prefiller_error\",\"code\":%d}}"
        .formatted(message, status);
  }

  private static String decoder(String message, int status) {
    return "{\"error\":{\"message\":\"Decoder error: %s\",\"type\":\"decoder_error\",\"code\":%d}}"
        .formatted(message, status);
  }

  @ParameterizedTest
  @ValueSource(ints = {400, 404, 422, 500})
  void anErrorOfPrefillIsNamed(int status) throws Exception {
    try (SplitRig rig = strict("transparent")) {
      rig.prefill(new Answer(status, ENGINES));
      ScriptedEngine decode = rig.decode(Answer.ok());
      WireClient client = rig.proxy.connect();

      for (int i = 0; i < 2; i++) {
        WireResponse response = client.send(request()).read();
        assertThat(response.status()).isEqualTo(status);
        assertThat(response.text()).isEqualTo(prefiller("bad \\\"x\\\" \\u00e9", status));
        assertThat(response.values("content-type")).containsExactly("application/json");
      }
      assertThat(decode.requests()).isEmpty();
    }
  }

  /** A fleet in which decode cannot serve a request alone. */
  private static SplitRig strict(String protocol) throws Exception {
    return new SplitRig(
        SplitRig.named(protocol), SETTINGS, new SplitSettings(0, 0, 2, 8, 0, false, false, false));
  }

  @ParameterizedTest
  @CsvSource({"400,false", "422,true", "500,false", "503,true"})
  void anErrorOfDecodeIsNamed(int status, boolean stream) throws Exception {
    try (SplitRig rig = strict("transparent")) {
      rig.prefill(new Answer(200, GOOD));
      rig.decode(new Answer(status, ENGINES));

      WireResponse response = rig.proxy.ask(request(stream ? ",\"stream\":true" : ""));

      assertThat(response.status()).isEqualTo(status);
      assertThat(response.text()).isEqualTo(decoder("bad \\\"x\\\" \\u00e9", status));
    }
  }

  @Test
  void anErrorInChunksIsNamed() throws Exception {
    String chunked =
        "HTTP/1.1 400 No\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n"
            + "3\r\nbad\r\n5\r\n luck\r\n0\r\n\r\n";
    try (SplitRig rig = strict("transparent")) {
      rig.prefill(new Answer(200, GOOD));
      rig.decode(new Raw(chunked));

      WireResponse response = rig.proxy.ask(request());

      assertThat(response.status()).isEqualTo(400);
      assertThat(response.text()).isEqualTo(decoder("bad luck", 400));
      assertThat(response.values("content-type")).containsExactly("application/json");
    }
  }

  @Test
  void anUnreachableWorkerIsNamed() throws Exception {
    try (SplitRig rig = strict("transparent")) {
      rig.prefill(new Answer(200, GOOD));
      rig.worker("http://127.0.0.1:1", Role.DECODE);

      WireResponse response = rig.proxy.ask(request());

      assertThat(response.status()).isEqualTo(502);
      assertThat(response.text()).contains("\"type\":\"decoder_error\",\"code\":502");
    }
    try (SplitRig rig = strict("transparent")) {
      rig.worker("http://127.0.0.1:1", Role.PREFILL);
      rig.decode(Answer.ok());

      WireResponse response = rig.proxy.ask(request());

      assertThat(response.status()).isEqualTo(502);
      assertThat(response.text()).contains("\"type\":\"prefiller_error\",\"code\":502");
    }
  }

  @Test
  void anAnswerWithoutAnErrorIsUnchanged() throws Exception {
    try (SplitRig rig = strict("transparent")) {
      rig.prefill(new Answer(200, GOOD));
      rig.decode(Answer.ok());
      assertThat(rig.proxy.ask(request()).text()).isEqualTo("{\"ok\":true}");
      ProxyRig.await("ended", () -> !rig.proxy.ended.isEmpty());
    }
  }
}
