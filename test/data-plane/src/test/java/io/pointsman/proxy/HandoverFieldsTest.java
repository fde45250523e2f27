package io.pointsman.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_16LE;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.settings.HeaderSettings;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.proxy.wire.ForwardedSettings;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A client's fields of hand-overs reach no worker of a fleet without prefill and decode. */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@Timeout(60)
class HandoverFieldsTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String PLAIN =
      "{ \"model\":\"m\",\"a\": 1.50,\"vllm_xargs\":{\"mine\":\"\\u00e9\"}, \"prompt\":\"a\"}";
  private static final String ADDRESSES = "___prefill_addr_6.6.6.6:1___decode_addr_6.6.6.6:2_x";

  @SuppressWarnings("NullAway.Init") // started at the begin of each test
  private ProxyRig rig;

  @SuppressWarnings("NullAway.Init") // started at the begin of each test
  private ScriptedEngine engine;

  private void start(boolean forwards) throws Exception {
    HeaderSettings headers =
        new HeaderSettings(
            HeaderSettings.DEFAULTS.requestIdHeaders(),
            true,
            false,
            ForwardedSettings.DEFAULTS,
            forwards);
    rig =
        new ProxyRig(
            Transport.AUTO,
            ProxySettings.DEFAULTS
                .withHeaders(headers)
                .withLimits(LimitSettings.DEFAULTS.withMaxBufferedBody(2000)));
    engine = rig.closing(ScriptedEngine.start(Answer.ok()));
    rig.worker(engine.url());
  }

  @AfterEach
  void close() throws Exception {
    rig.close();
  }

  private static String planted(String body) {
    return body.replace(
            "\"a\":",
            "\"kv_transfer_params\":{\"remote_host\":\"6.6.6.6\"},"
                + "\"\\u006bv_transfer_params\":{\"b\":1},\"disagg_prefill_resp\":{},"
                + "\"ec_transfer_params\":{\"remote_host\":\"6.6.6.6\"},"
                + "\"disagg_prefill_dp_rank\":1,\"bootstrap_host\":[\"6.6.6.6\"],"
                + "\"bootstrap_port\":1,\"bootstrap_room\":1,\"bootstrap_pair_key\":\"k\","
                + "\"request_id\":\"resp_1\",\"a\":")
        .replace("\"mine\"", "\"kv_transfer_params\":{\"b\":1},\"mine\"");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        CHAT,
        "/v1/completions",
        "/v1/messages",
        "/v1/responses",
        "/generate",
        "/inference/v1/generate",
        "/v1/embeddings",
        "/invocations",
      })
  void fieldsOfHandOversReachNoWorker(String path) throws Exception {
    start(false);
    assertThat(rig.ask(ProxyRig.post(path, planted(PLAIN))).status()).isEqualTo(200);
    EngineRequest sent = engine.awaitRequest();
    assertThat(sent.bodyText()).isEqualTo(PLAIN);
    assertThat(sent.header("content-length")).isEqualTo(PLAIN.length() + "");
  }

  @ParameterizedTest
  @ValueSource(strings = {"\"kv_transfer_params\"", "\"kv_transfer\\u005fparams\""})
  void theyDoNotReachItInInnerObjectsEither(String name) throws Exception {
    start(false);
    String body =
        "{\"model\":\"m\",\"token_ids\":[1],\"sampling_params\":{\"extra_args\":{"
            + name
            + ":{}}}}";
    assertThat(rig.ask(ProxyRig.post("/inference/v1/generate", body)).status()).isEqualTo(200);
    assertThat(engine.awaitRequest().bodyText())
        .isEqualTo("{\"model\":\"m\",\"token_ids\":[1],\"sampling_params\":{\"extra_args\":{}}}");
  }

  @Test
  void theyPassIfConfigured() throws Exception {
    start(true);
    String id = "x-request-id: " + ADDRESSES + "\r\n";
    assertThat(rig.ask(ProxyRig.post(CHAT, id, planted(PLAIN))).status()).isEqualTo(200);
    EngineRequest sent = engine.awaitRequest();
    assertThat(sent.bodyText()).isEqualTo(planted(PLAIN));
    assertThat(sent.header("x-request-id")).isEqualTo(ADDRESSES);
  }

  @Test
  void otherBodiesStayAsTheyAre() throws Exception {
    start(false);
    String words =
        "{\"model\":\"m\",\"prompt\":\"\\\"kv_transfer_params\\\":{}\",\"metadata\":"
            + "{\"request_id\":\"mine\",\"bootstrap_host\":1},\"sampling_params\":{\"n\":1}}";
    for (String body : List.of(PLAIN, words, words.replace("mine", "x".repeat(20_000)))) {
      assertThat(rig.ask(ProxyRig.post(CHAT, body)).status()).isEqualTo(200);
      assertThat(engine.awaitRequest().bodyText()).isEqualTo(body);
    }
  }

  /** The first part of the body, which is routed, has none of the fields. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aStreamedBodyWithThemNeverArrivesCompletely(boolean chunked) throws Exception {
    start(false);
    String first = "{\"model\":\"m\",\"prompt\":\"" + "x".repeat(4000) + "\",\"kv_tran";
    String second = "sfer_params\":{}}";
    int length = first.length() + second.length();
    WireClient client = rig.connect();
    client.send(
        "POST "
            + CHAT
            + " HTTP/1.1\r\nhost: r\r\n"
            + (chunked ? "transfer-encoding: chunked" : "content-length: " + length)
            + "\r\n\r\n"
            + (chunked ? Integer.toHexString(first.length()) + "\r\n" : "")
            + first
            + (chunked ? "\r\n" : ""));
    ProxyRig.await("placed", () -> rig.fleet().snapshot().workers().getFirst().inFlight() == 1);
    client.send(
        chunked
            ? Integer.toHexString(second.length()) + "\r\n" + second + "\r\n0\r\n\r\n"
            : second);
    WireResponse refused = client.read();
    assertThat(refused.status()).isEqualTo(400);
    assertThat(refused.text()).contains("\"invalid_body\"", "kv_transfer_params");
    assertThat(engine.requests()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "content-encoding: unknown",
        "content-encoding: gzip",
        "content-type: multipart/form-data; boundary=b",
        "content-type: text/plain",
      })
  void aBodyThatTheRouterDoesNotReadIsRefused(String header) throws Exception {
    start(false);
    String body = planted(PLAIN) + (header.endsWith("plain") ? "}" : "");
    String request =
        "POST /invocations HTTP/1.1\r\nhost: r\r\n"
            + header
            + "\r\ncontent-length: "
            + body.length()
            + "\r\n\r\n"
            + body;
    assertThat(rig.ask(request).status()).isEqualTo(400);
    assertThat(engine.requests()).isEmpty();
    assertThat(rig.ask(request.replace(body, other(body))).status()).isEqualTo(200);
  }

  /** A body of the same length without a field of hand-overs. */
  private static String other(String body) {
    return "{\"prompt\":\"" + "x".repeat(body.length() - 13) + "\"}";
  }

  @Test
  void jsonInOtherEncodingsIsRefused() throws Exception {
    start(false);
    String wide = new String(planted(PLAIN).getBytes(UTF_16LE), ISO_8859_1);
    try (WireClient client = rig.connect()) {
      client.send(ProxyRig.post("/invocations", wide).getBytes(ISO_8859_1));
      WireResponse refusal = client.read();
      assertThat(refusal.status()).isEqualTo(400);
      assertThat(refusal.text())
          .contains("JSON in UTF-16 or UTF-32 (expected: JSON in UTF-8)")
          .doesNotContain("hand-over");
    }
    assertThat(engine.requests()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "x-request-id, ''",
    "x-correlation-id, ''",
    "X-Request-ID, 'x-request-id: mine\r\n'",
  })
  void anIdWithAddressesReachesNoWorker(String header, String more) throws Exception {
    start(false);
    String lines = header + ": " + ADDRESSES + "\r\n" + more;
    String webSocket =
        "GET /v1/realtime?model=m HTTP/1.1\r\nhost: r\r\nconnection: upgrade\r\n"
            + "upgrade: websocket\r\n"
            + lines
            + "\r\n";
    String before = more + header + ": " + ADDRESSES + "\r\n";
    for (String request :
        List.of(ProxyRig.post(CHAT, lines, PLAIN), ProxyRig.post(CHAT, before, PLAIN), webSocket)) {
      WireResponse answer = rig.ask(request);
      EngineRequest sent = engine.awaitRequest();
      assertThat(sent.values("x-request-id")).hasSize(1);
      assertThat(sent.header("x-request-id")).doesNotContain("addr_");
      assertThat(answer.values("x-request-id")).hasSize(1);
    }
  }

  @Test
  void ofSeveralIdsTheWorkerGetsTheFirst() throws Exception {
    start(false);
    String lines = "x-request-id: one\r\nx-request-id: two\r\n";
    assertThat(rig.ask(ProxyRig.post(CHAT, lines, PLAIN)).header("x-request-id")).isEqualTo("one");
    assertThat(engine.awaitRequest().values("x-request-id")).containsExactly("one");
  }
}
