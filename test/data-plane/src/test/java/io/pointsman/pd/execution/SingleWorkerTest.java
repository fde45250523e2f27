package io.pointsman.pd.execution;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.peer.Peer;
import io.pointsman.pd.protocol.PdSetup;
import io.pointsman.pd.protocol.ProtocolSettings;
import io.pointsman.pd.protocol.Protocols;
import io.pointsman.pd.rule.SplitSettings;
import io.pointsman.proxy.ProxyRig;
import io.pointsman.proxy.ProxySettings;
import io.pointsman.proxy.WireClient;
import io.pointsman.proxy.WireResponse;
import io.pointsman.proxy.settings.HeaderSettings;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.proxy.wire.ForwardedSettings;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.HangAfter;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A client's fields for KV transfers in requests that one worker serves completely. */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@Timeout(60)
class SingleWorkerTest {
  private static final String PAIR = "___prefill_addr_6.6.6.6:1___decode_addr_6.6.6.6:2_a";
  private static final String PLAIN = "{ \"model\":\"m\",\"n\": 2, \"prompt\":\"a\"}";

  private static String planted(String body) {
    return body.replace(
        "\"n\":",
        "\"kv_transfer_params\":{\"remote_host\":\"6.6.6.6\"},\"\\u006bv_transfer_params\":{\"a\":1},"
            + "\"disagg_prefill_resp\":{},\"bootstrap_host\":\"6.6.6.6\",\"bootstrap_port\":1,"
            + "\"bootstrap_room\":1,\"request_id\":\""
            + PAIR
            + "\",\"n\":");
  }

  private static String post(String path, String body) {
    return ProxyRig.post(path, "x-request-id: " + PAIR + "\r\n", body);
  }

  @ParameterizedTest
  @ValueSource(strings = {"/v1/completions", "/v1/embeddings", "/invocations"})
  void decodeWorkersDoNotGetTransferFields(String path) throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine decode = rig.decode(Answer.ok());
      WireResponse answer = rig.proxy.ask(post(path, planted(PLAIN)));

      assertThat(answer.status()).isEqualTo(200);
      assertThat(answer.header("x-request-id")).as("the client's own").isEqualTo(PAIR);
      EngineRequest sent = decode.awaitRequest();
      assertThat(sent.bodyText()).isEqualTo(PLAIN);
      assertThat(sent.values("x-request-id")).hasSize(1);
      assertThat(sent.header("x-request-id")).doesNotContain("_addr_").matches("[0-9a-f]{32}");
      assertThat(sent.header("content-length")).isEqualTo(PLAIN.length() + "");
    }
  }

  @Test
  void decodeWorkersDoNotGetTransferFieldsOfChunkedBodies() throws Exception {
    String body = planted(PLAIN);
    String chunk = Integer.toHexString(body.length()) + "\r\n" + body + "\r\n0\r\n\r\n";
    String head =
        "POST /v1/completions HTTP/1.1\r\nhost: r\r\ncontent-type: application/json\r\n"
            + "transfer-encoding: chunked\r\n\r\n";
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine decode = rig.decode(Answer.ok());

      assertThat(rig.proxy.ask(head + chunk).status()).isEqualTo(200);
      assertThat(decode.awaitRequest().bodyText()).isEqualTo(PLAIN);
    }
  }

  @Test
  void bodiesWithoutTransferFieldsStayUnchanged() throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine decode = rig.decode(Answer.ok());
      String head = "x-request-id: mine\r\nx-data-parallel-rank: 1\r\n";
      assertThat(rig.proxy.ask(ProxyRig.post(SplitRig.PATH, head, PLAIN)).status()).isEqualTo(200);
      EngineRequest sent = decode.awaitRequest();
      assertThat(sent.bodyText()).isEqualTo(PLAIN);
      assertThat(sent.values("x-request-id")).isEqualTo(List.of("mine"));
      assertThat(sent.values("x-data-parallel-rank")).isEmpty();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void regularWorkersGetTransferFieldsOnlyIfConfigured(boolean configured) throws Exception {
    HeaderSettings headers =
        new HeaderSettings(
            List.of("x-request-id"), true, false, ForwardedSettings.DEFAULTS, configured);
    ProxySettings settings = ProxySettings.DEFAULTS.withHeaders(headers);
    try (SplitRig rig = new SplitRig(SplitRig.named("nixl"), settings)) {
      ScriptedEngine regular = rig.regular(Answer.ok());

      for (String path : List.of(SplitRig.PATH, "/v1/embeddings", "/invocations")) {
        assertThat(rig.proxy.ask(post(path, planted(PLAIN))).status()).isEqualTo(200);
        EngineRequest sent = regular.awaitRequest();
        assertThat(sent.bodyText()).isEqualTo(configured ? planted(PLAIN) : PLAIN);
        assertThat(sent.values("x-request-id")).hasSize(1);
        assertThat(PAIR.equals(sent.header("x-request-id"))).isEqualTo(configured);
      }
    }
  }

  /** A body that was not read completely may contain any field. */
  @Test
  void bodiesTooLargeToReadReachOnlyRegularWorkers() throws Exception {
    ProxySettings small =
        ProxySettings.DEFAULTS.withLimits(LimitSettings.DEFAULTS.withMaxBufferedBody(1000));
    String large = PLAIN.replace("\"a\"", '"' + "a".repeat(5000) + '"');
    try (SplitRig rig = new SplitRig(SplitRig.named("nixl"), small)) {
      ScriptedEngine decode = rig.decode(Answer.ok());
      WireResponse planted = rig.proxy.ask(post(SplitRig.PATH, planted(large)));
      assertThat(planted.status()).isEqualTo(400);
      assertThat(planted.text()).contains("\"invalid_body\"", "kv_transfer_params");
      WireResponse refused = rig.proxy.ask(post(SplitRig.PATH, large));

      assertThat(refused.status()).isEqualTo(413);
      assertThat(refused.text()).contains("\"body_too_large\"", "limits.max-buffered-body");
      assertThat(decode.requests()).isEmpty();
      ScriptedEngine regular = rig.regular(Answer.ok());
      assertThat(rig.proxy.ask(post(SplitRig.PATH, large)).status()).isEqualTo(200);
      assertThat(regular.awaitRequest().bodyText()).isEqualTo(large);
      ProxyRig.await("all settled", () -> rig.proxy.ended.size() == 3);
      assertThat(rig.proxy.fleet().snapshot().workers()).allMatch(w -> w.inFlight() == 0);
    }
  }

  private static String wide(String body) {
    StringBuilder out = new StringBuilder();
    body.chars().forEach(each -> out.append((char) each).append('\0'));
    return out.toString();
  }

  /** Engines find fields in such bodies too, because Python's JSON reader ignores headers. */
  static Stream<Arguments> bodiesThatNobodyLooksAt() {
    String encoded = "content-encoding: gzip\r\n";
    String form = "content-type: multipart/form-data; boundary=b\r\n";
    return Stream.of(
        Arguments.of("/invocations", encoded, PLAIN, 415, "encoded_body"),
        Arguments.of("/invocations", "", PLAIN + '}', 400, "invalid_body"),
        Arguments.of("/invocations", "", '[' + PLAIN + ']', 400, "invalid_body"),
        Arguments.of("/invocations", form, PLAIN, 400, "invalid_body"));
  }

  /** Each character is one byte. */
  private static WireResponse ask(SplitRig rig, String request) throws IOException {
    try (WireClient client = rig.proxy.connect()) {
      return client.send(request.getBytes(ISO_8859_1)).read();
    }
  }

  @ParameterizedTest
  @MethodSource("bodiesThatNobodyLooksAt")
  void unreadableBodiesReachOnlyRegularWorkers(
      String path, String header, String body, int status, String code) throws Exception {
    String request = ProxyRig.post(path, header, body);
    if (header.startsWith("content-type")) {
      request = request.replace("content-type: application/json\r\n", "");
    }
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine prefill = rig.prefill(Answer.ok());
      ScriptedEngine decode = rig.decode(Answer.ok());
      WireResponse refused = ask(rig, request);

      assertThat(refused.status()).as(refused.text()).isEqualTo(status);
      assertThat(refused.text()).contains("\"code\":\"" + code + '"', "invalid_request_error");
      assertThat(refused.header("retry-after")).isNull();
      ScriptedEngine regular = rig.regular(Answer.ok());
      Worker worker = rig.worker(regular);
      assertThat(ask(rig, request).status()).isEqualTo(200);
      assertThat(regular.awaitRequest().body()).isEqualTo(body.getBytes(ISO_8859_1));
      worker.drain(true);
      WireResponse later = ask(rig, request);
      assertThat(later.status()).as("it may come back: " + later.text()).isEqualTo(503);
      assertThat(decode.requests()).isEmpty();
      assertThat(prefill.requests()).isEmpty();
    }
  }

  @ParameterizedTest
  @MethodSource("bodiesThatNobodyLooksAt")
  void unreadableBodiesWithTransferFieldsReachNoWorker(
      String path, String header, String body, int status, String code) throws Exception {
    boolean list = body.startsWith("[");
    String content = list ? wide(planted(PLAIN)) : planted(body);
    String request = ProxyRig.post(path, header, content);
    if (header.startsWith("content-type")) {
      request = request.replace("content-type: application/json\r\n", "");
    }
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine regular = rig.regular(Answer.ok());
      WireResponse refused = ask(rig, request);
      assertThat(refused.status()).as(status + " " + code).isEqualTo(400);
      assertThat(refused.text())
          .contains("\"invalid_body\"", list ? "UTF-16" : "kv_transfer_params");
      assertThat(regular.requests()).isEmpty();
    }
  }

  /** A body that the router reads as engines do is cleaned. */
  @ParameterizedTest
  @ValueSource(strings = {"\u00ef\u00bb\u00bf", " \t"})
  void bytesBeforeAnObjectDoNotHideTransferFields(String mark) throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine decode = rig.decode(Answer.ok());

      assertThat(ask(rig, post("/invocations", mark + planted(PLAIN))).status()).isEqualTo(200);
      assertThat(decode.awaitRequest().body()).isEqualTo((mark + PLAIN).getBytes(ISO_8859_1));
    }
  }

  /** A picture or a recording has no members. */
  @Test
  void formsOnFormRoutesGoToDecode() throws Exception {
    String form = "--b\r\ncontent-disposition: form-data; name=\"model\"\r\n\r\nm\r\n--b--\r\n";
    String request =
        ProxyRig.post("/v1/audio/transcriptions", form)
            .replace("application/json", "multipart/form-data; boundary=b");
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine decode = rig.decode(Answer.ok());

      assertThat(rig.proxy.ask(request).status()).isEqualTo(200);
      assertThat(decode.awaitRequest().bodyText()).isEqualTo(form);
    }
  }

  /** The router cannot see the fields of hand-overs in such an object. */
  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '|',
      value = {
        "/v1/unknown, {\"vllm_xargs\":%s",
        "/v1/unknown, {\"sampling_params\":{\"extra_args\":%s}",
        "/v1/chat/completions, {\"vllm_xargs\":%s",
        "/inference/v1/generate, {\"sampling_params\":{\"extra_args\":%s}",
        "/inference/v1/generate, {\"sampling_params\":%s",
      })
  void anObjectWithTooManyMembersCannotHideFieldsOfHandovers(String path, String form)
      throws Exception {
    StringBuilder many = new StringBuilder("{\"kv_transfer_params\":{\"remote_host\":\"6.6.6.6\"}");
    for (int i = 0; i < 4096; i++) {
      many.append(",\"x").append(i).append("\":1");
    }
    String body = form.formatted(many + "}") + ",\"model\":\"m\"}";
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine prefill = rig.prefill(Answer.ok());
      ScriptedEngine decode = rig.decode(Answer.ok());
      WireResponse refused = rig.proxy.ask(ProxyRig.post(path, body));

      assertThat(refused.status()).as(refused.text()).isEqualTo(400);
      assertThat(prefill.requests()).isEmpty();
      assertThat(decode.requests()).isEmpty();
    }
  }

  @Test
  void aBodyWithTooManyMembersIsRefused() throws Exception {
    StringBuilder many = new StringBuilder("{\"model\":\"m\"");
    for (int i = 0; i < 4096; i++) {
      many.append(",\"x").append(i).append("\":1");
    }
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine decode = rig.decode(Answer.ok());
      WireResponse refused = rig.proxy.ask(ProxyRig.post(SplitRig.PATH, many + "}"));

      assertThat(refused.status()).isEqualTo(400);
      assertThat(refused.text()).contains("too many members");
      assertThat(decode.requests()).isEmpty();
    }
  }

  private static final String STORED =
      "{\"model\":\"m\",\"previous_response_id\":\"resp_1\",\"n\": 1,\"input\":\"a\"}";

  @Test
  void theNextTurnOfAStoredResponseHasNoTransferFields() throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine decode = rig.decode(Answer.ok());

      assertThat(rig.proxy.ask(post("/v1/responses", planted(STORED))).status()).isEqualTo(200);
      EngineRequest sent = decode.awaitRequest();
      assertThat(sent.bodyText()).isEqualTo(STORED);
      assertThat(sent.header("x-request-id")).doesNotContain("_addr_");
    }
  }

  /** A complete request has no copy of its body besides the client's. */
  @ParameterizedTest
  @ValueSource(strings = {"/v1/completions", "/v1/responses"})
  void anAnswerBrokenAtItsFirstByteIsRetriedElsewhere(String path) throws Exception {
    String body = path.endsWith("responses") ? STORED : PLAIN;
    AtomicBoolean asked = new AtomicBoolean();
    EngineScript brokenOnce =
        (request, connection) ->
            (asked.getAndSet(true) ? Answer.ok() : new HangAfter(BROKEN))
                .answer(request, connection);
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine one = rig.decode(brokenOnce);
      ScriptedEngine two = rig.decode(brokenOnce);

      WireResponse answer = rig.proxy.ask(post(path, planted(body)));

      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      assertThat(one.awaitRequest().bodyText()).isEqualTo(body);
      assertThat(two.awaitRequest().bodyText()).isEqualTo(body);
    }
  }

  private static final String BROKEN =
      "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
          + "transfer-encoding: chunked\r\n\r\nxyz\r\n";

  /**
   * The response itself is available; a request that continues it would need a worker for complete
   * requests.
   */
  @Test
  void theNextTurnOfAStoredResponseIsRefusedIfDecodeServesNoCompleteRequests() throws Exception {
    try (SplitRig rig =
        new SplitRig(SplitRig.named("sglang"), ProxySettings.DEFAULTS, SplitSettings.HALVES_ONLY)) {
      ScriptedEngine decode = rig.decode(Answer.ok());
      WireResponse refused = rig.proxy.ask(post("/v1/responses", STORED));

      assertThat(refused.status()).isEqualTo(400);
      assertThat(refused.text()).contains("\"unsplittable\"", "previous_response_id");
      assertThat(decode.requests()).isEmpty();
      String get = "GET /v1/responses/resp_1 HTTP/1.1\r\nhost: r\r\n\r\n";
      assertThat(rig.proxy.ask(get).status()).isEqualTo(200);
      ProxyRig.await("all settled", () -> rig.proxy.ended.size() == 2);
      assertThat(rig.proxy.fleet().snapshot().workers()).allMatch(w -> w.inFlight() == 0);
    }
  }

  private static void down(Worker worker) {
    while (worker.health().healthy()) {
      worker.probed(false);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aRegularWorkerServesIfTheOnlyDecodeWorkerIsBusy(boolean another) throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine prefill = rig.prefill(new Answer(200, "{\"kv_transfer_params\":{\"a\":1}}"));
      ScriptedEngine busy = rig.decode(new Answer(429, "{}"));
      rig.regular(Answer.ok());
      if (another) {
        down(rig.worker("http://127.0.0.1:1", Role.DECODE));
      }

      WireResponse response = rig.proxy.ask(SplitRig.request());

      assertThat(response.status()).as(response.text()).isEqualTo(200);
      assertThat(response.header("x-pointsman-split")).isEqualTo("no_decode");
      assertThat(prefill.requests()).hasSize(1);
      busy.now(Answer.ok());
      rig.clock.advance(Duration.ofSeconds(10));
      ProxyRig.await("recorded: " + rig.recorded, () -> rig.recorded.contains("HANDOVER_RELEASED"));
    }
  }

  @Test
  void aDecodeWorkerWithoutAPlanServesTheCompleteRequest() throws Exception {
    PdSetup unknown =
        Protocols.create("lmcache", _ -> Peer.UNKNOWN, ProtocolSettings.DEFAULTS, () -> 0);
    try (SplitRig rig = new SplitRig(unknown, ProxySettings.DEFAULTS)) {
      ScriptedEngine prefill = rig.prefill(Answer.ok());
      ScriptedEngine decode = rig.decode(Answer.ok());

      WireResponse response = rig.proxy.ask(SplitRig.request());

      assertThat(response.status()).as(response.text()).isEqualTo(200);
      assertThat(response.header("x-pointsman-split")).isEqualTo("no_decode");
      assertThat(prefill.requests()).isEmpty();

      decode.now(new Answer(500, "{}"));
      int before = decode.requests().size();
      assertThat(rig.proxy.ask(SplitRig.request()).status()).isEqualTo(500);
      assertThat(decode.requests()).hasSize(before + 1);
    }
  }
}
