package io.pointsman.pd.execution;

import static io.pointsman.pd.execution.SplitRig.request;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.pd.plan.PdPlan;
import io.pointsman.pd.protocol.PdProtocol;
import io.pointsman.pd.protocol.PdSetup;
import io.pointsman.proxy.ProxyRig;
import io.pointsman.proxy.ProxySettings;
import io.pointsman.proxy.WireClient;
import io.pointsman.proxy.WireResponse;
import io.pointsman.proxy.admission.AdmissionSettings;
import io.pointsman.proxy.settings.BodyDecoding;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.EventStream;
import io.pointsman.testkit.engine.Faults.HangBeforeHeaders;
import io.pointsman.testkit.engine.Faults.Raw;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.ByteArrayOutputStream;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Failures of one of two workers, as the client sees them. */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
class SplitServingTest {
  private static final String EMPTY_ERROR = "HTTP/1.1 400 No\r\ncontent-length: 0\r\n\r\n";
  private static final Pattern NONCE = Pattern.compile("\"req_id\":\"(\\w+)\"");
  private static final String FIRST =
      "{\"choices\":[{\"index\":0,\"text\":\" a\",\"finish_reason\":\"length\"}],"
          + "\"kv_transfer_params\":{\"first_tok\":3}}";

  /**
   * From the second worker on, the name is known to be unresolvable, so the connect fails during
   * the call.
   */
  @Test
  void aPrefillThatFailsDuringTheCallHasOneAnswer() throws Exception {
    try (SplitRig rig = new SplitRig("sglang")) {
      rig.proxy.lookup =
          host -> {
            throw new UnknownHostException(host);
          };
      rig.worker("http://engine.test:1", Role.PREFILL);
      rig.worker("http://engine.test:2", Role.PREFILL);
      ScriptedEngine decode = rig.decode(Answer.ok());
      WireClient client = rig.proxy.connect().send(request());

      assertThat(client.read().text()).isEqualTo("{\"ok\":true}");
      decode.now(new Answer(200, "{\"second\":true}"));
      assertThat(client.send(request()).read().text()).isEqualTo("{\"second\":true}");
      ProxyRig.await("both ended", () -> rig.proxy.ended.size() == 2);
    }
  }

  @Test
  void aStreamThatHasBegunOutlivesItsPrefill() throws Exception {
    CountDownLatch fail = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    try (SplitRig rig = new SplitRig("sglang")) {
      rig.prefill(
          (_, connection) -> {
            fail.await();
            connection.reset();
          });
      rig.decode(
          (_, connection) -> {
            connection.beginEvents().chunk("data: {\"a\":1}\n\n");
            goOn.await();
            connection.chunk("data: [DONE]\n\n").lastChunk();
          });
      WireClient client = rig.proxy.connect().send(request(",\"stream\":true"));
      client.head();
      assertThat(client.chunk()).contains("\"a\":1");
      fail.countDown();
      ProxyRig.await("prefill failed", () -> rig.recorded.contains("PREFILL_ERROR"));
      goOn.countDown();

      assertThat(client.chunk()).isEqualTo("data: [DONE]\n\n");
      assertThat(client.chunk()).isEmpty();
      ProxyRig.await("both settled", () -> rig.proxy.outcomes.size() == 2);
      assertThat(rig.proxy.outcomes)
          .containsExactly(new Outcome.Failed(Failure.ERROR), Outcome.SUCCEEDED);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"AUTO", "FORWARD"})
  void bothWorkersGetACompressedRequestDecoded(BodyDecoding decoding) throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS.withLimits(LimitSettings.DEFAULTS.withDecoding(decoding));
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(packed)) {
      out.write("{\"model\":\"m\",\"prompt\":\"hello\",\"max_tokens\":5}".getBytes(UTF_8));
    }
    String head =
        "POST /v1/completions HTTP/1.1\r\nhost: r\r\ncontent-encoding: gzip\r\n"
            + "content-length: "
            + packed.size()
            + "\r\n\r\n";
    try (SplitRig rig = new SplitRig("nixl", settings)) {
      ScriptedEngine prefill = rig.prefill(new Answer(200, FIRST));
      ScriptedEngine decode = rig.decode(Answer.ok());
      WireClient client = rig.proxy.connect().send(head).send(packed.toByteArray());

      assertThat(client.read().status()).isEqualTo(200);
      for (ScriptedEngine engine : List.of(prefill, decode)) {
        EngineRequest request = engine.awaitRequest();
        assertThat(request.bodyText()).contains("\"hello\"", "kv_transfer_params");
        assertThat(request.values("content-encoding")).isEmpty();
        assertThat(request.values("content-length"))
            .containsExactly(String.valueOf(request.body().length));
      }
    }
  }

  @Test
  void anEmptyErrorOfPrefillReachesTheClient() throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine prefill = rig.prefill(new Raw(EMPTY_ERROR));
      ScriptedEngine decode = rig.decode(Answer.ok());
      WireClient client = rig.proxy.connect();

      assertThat(client.send(request()).read().status()).isEqualTo(400);
      prefill.now(new Raw(EMPTY_ERROR + "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
      assertThat(client.send(request()).read().status()).isEqualTo(400);
      assertThat(prefill.connections()).isEqualTo(1);
      assertThat(client.send(request()).read().status()).isEqualTo(400);
      assertThat(prefill.connections()).isEqualTo(2);
      assertThat(decode.requests()).isEmpty();
    }
  }

  @ParameterizedTest
  @CsvSource({"nixl,100", "nixl,70000", "nixl,1000000", "sglang,100", "sglang,1000000"})
  void theClientsErrorIsForwardedAtAnyLength(String protocol, int length) throws Exception {
    String body = "{ \"detail\" : \"\\u00e9\",\"x\":1.50 }" + "e".repeat(length);
    List<String> own =
        List.of(
            "Content-Type: application/problem+json; odd=\"a b\"",
            "X-Odd: one",
            "x-odd: two , three",
            "X-Limit: 1.50",
            "Content-Length: " + body.length());
    String bytes = "HTTP/1.1 422 \r\n" + String.join("\r\n", own) + "\r\n\r\n" + body;
    try (SplitRig rig = new SplitRig(protocol)) {
      ScriptedEngine prefill = rig.prefill(new Raw(bytes));
      ScriptedEngine decode = rig.decode(new HangBeforeHeaders());

      WireResponse response = rig.proxy.ask(request());

      assertThat(response.status()).isEqualTo(422);
      assertThat(response.body()).isEqualTo(body.getBytes(StandardCharsets.US_ASCII));
      assertThat(response.headers()).containsSubsequence(own);
      assertThat(response.values("x-odd")).hasSize(2);
      assertThat(response.values("content-type")).hasSize(1);
      assertThat(response.values("content-length")).hasSize(1);
      ProxyRig.await("both leases ended", () -> rig.proxy.outcomes.size() == 2);
      assertThat(rig.proxy.outcomes).containsExactlyInAnyOrder(Outcome.REFUSED, Outcome.IGNORED);
      assertThat(prefill.requests()).as("asked once").hasSize(1);
      assertThat(decode.requests()).hasSizeLessThanOrEqualTo(protocol.equals("sglang") ? 1 : 0);
    }
  }

  @Test
  void aListenerThatThrowsAffectsNoRequest() throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine prefill = rig.prefill(Answer.ok());
      rig.decode(Answer.ok());
      rig.inListener =
          () -> {
            throw new IllegalStateException("a defect");
          };

      assertThat(rig.proxy.ask(request()).status()).isEqualTo(200);
      prefill.now(new Answer(500, "{}"));
      assertThat(rig.proxy.ask(request()).status()).isEqualTo(200);
      assertThat(rig.recorded).contains("HANDOVER_TAKEN", "PREFILL_ERROR");
    }
  }

  /** A leaked admission permit would leave the second request waiting. */
  @Test
  void aDefectInTheHandoverLeaksNothing() throws Exception {
    PdSetup nixl = SplitRig.named("nixl");
    PdProtocol broken =
        (request, prefill, decode) -> {
          PdPlan.Sequential plan =
              (PdPlan.Sequential) nixl.protocol().plan(request, prefill, decode);
          return new PdPlan.Sequential(
              plan.prefill(),
              null,
              (_, _) -> {
                throw new IllegalStateException("a defect");
              },
              plan.terms());
        };
    ProxySettings one =
        ProxySettings.DEFAULTS.withAdmission(
            new AdmissionSettings(1, 0, Duration.ofSeconds(30), 503));
    try (SplitRig rig = new SplitRig(new PdSetup(broken, List.of(), false), one)) {
      rig.prefill(new Answer(200, "{\"kv_transfer_params\":{\"a\":1}}"));
      rig.decode(Answer.ok());

      assertThat(rig.proxy.ask(request()).text()).contains("\"code\":\"internal\"");
      assertThat(rig.proxy.ask(request()).text()).contains("\"code\":\"internal\"");
      assertThat(rig.proxy.outcomes)
          .containsExactly(Outcome.SUCCEEDED, Outcome.IGNORED, Outcome.SUCCEEDED, Outcome.IGNORED);
    }
  }

  /** An earlier decode request would free nothing, and no request would fetch the blocks later. */
  @Test
  void blocksInTransferWhenTheClientLeavesAreFreedAfterTheirArrival() throws Exception {
    try (SplitRig rig = new SplitRig("lmcache")) {
      ScriptedEngine prefill = rig.prefill(new Answer(200, FIRST));
      Worker first = rig.worker(prefill);
      ScriptedEngine decode = rig.decode(Answer.ok());
      Worker second = rig.worker(decode);
      try (WireClient client = rig.proxy.connect()) {
        client.send(request());
        ProxyRig.await("prefill has ended", () -> rig.recorded.contains("PREFILL_DONE"));
      }
      ProxyRig.await("the client's request is over", () -> !rig.proxy.ended.isEmpty());
      assertThat(second.inFlight()).isEqualTo(1);
      assertThat(decode.requests()).isEmpty();
      assertThat(rig.recorded).noneMatch(each -> each.startsWith("HANDOVER_"));

      Matcher id = NONCE.matcher(prefill.requests().getFirst().bodyText());
      assertThat(id.find()).isTrue();
      assertThat(rig.notifications.arrived(id.group(1))).isTrue();
      ProxyRig.await("recorded: " + rig.recorded, () -> rig.recorded.contains("HANDOVER_RELEASED"));
      assertThat(decode.requests()).hasSize(1);
      assertThat(decode.requests().getFirst().bodyText()).contains("\"max_tokens\":1");
      ProxyRig.await("nothing runs", () -> first.inFlight() + second.inFlight() == 0);
      assertThat(rig.notifications.waiting()).isZero();
    }
  }

  @Test
  void anAnswerWithAnInsertedFirstTokenIsNotCompressed() throws Exception {
    try (SplitRig rig = new SplitRig("lmcache")) {
      rig.prefill(
          (asked, connection) -> {
            Matcher id = NONCE.matcher(asked.bodyText());
            assertThat(id.find()).isTrue();
            rig.notifications.arrived(id.group(1));
            new Answer(200, FIRST).answer(asked, connection);
          });
      ScriptedEngine decode =
          rig.decode(new Answer(200, "{\"choices\":[{\"index\":0,\"text\":\" b\"}]}"));

      WireResponse response =
          rig.proxy.ask(
              ProxyRig.post(
                  SplitRig.PATH,
                  "accept-encoding: gzip\r\n",
                  "{\"model\":\"m\",\"prompt\":[1,2],\"max_tokens\":5}"));

      assertThat(response.text()).contains("\" a b\"");
      assertThat(decode.awaitRequest().header("accept-encoding")).isNull();
    }
  }

  /** The decode request is larger than the buffers on the path and never arrives completely. */
  @Test
  void aHandoverThatDidNotArriveIsFreedByAnotherDecodeWorker() throws Exception {
    ProxySettings large =
        ProxySettings.DEFAULTS.withLimits(LimitSettings.DEFAULTS.withMaxBufferedBody(64 << 20));
    try (SplitRig rig = new SplitRig(SplitRig.named("nixl"), large)) {
      rig.prefill(new Answer(200, "{\"kv_transfer_params\":{\"a\":1}}"));
      ScriptedEngine removed = rig.decode(Answer.ok());
      Worker first = rig.worker(removed);
      ScriptedEngine decode = rig.decode(Answer.ok());
      removed.unresponsive(true);
      WireClient client = rig.proxy.connect();
      client.send(request(",\"user\":\"" + "u".repeat(24 << 20) + "\""));
      ProxyRig.await("decode is asked", () -> removed.connections() == 1);
      rig.proxy.fleet().remove(first.id());
      client.reset();

      assertThat(decode.awaitRequest().bodyText()).contains("\"a\":1", "\"max_tokens\":1");
      ProxyRig.await("recorded", () -> rig.recorded.contains("HANDOVER_RELEASED"));
    }
  }

  @Test
  void cachedTokensOfPrefillAreReportedInAStream() throws Exception {
    CountDownLatch prefilled = new CountDownLatch(1);
    String usage =
        "{\"usage\":{\"prompt_tokens\":9,\"prompt_tokens_details\":{\"cached_tokens\":%d}}}";
    try (SplitRig rig = new SplitRig("sglang")) {
      rig.prefill(new EventStream(List.of("{\"a\":1}", usage.formatted(7))));
      rig.decode(
          (asked, connection) -> {
            prefilled.await();
            new EventStream(List.of("{\"a\":1}", usage.formatted(0))).answer(asked, connection);
          });
      WireClient client = rig.proxy.connect().send(request(",\"stream\":true"));
      ProxyRig.await("prefill is done", () -> rig.recorded.contains("PREFILL"));
      prefilled.countDown();

      assertThat(client.read().text())
          .isEqualTo("data: {\"a\":1}\n\ndata: " + usage.formatted(7) + "\n\ndata: [DONE]\n\n");
    }
  }

  @Test
  void aHandoverEndsWhenTheClientHasAToken() throws Exception {
    CountDownLatch goOn = new CountDownLatch(1);
    try (SplitRig rig = new SplitRig("nixl")) {
      rig.prefill(new Answer(200, "{\"kv_transfer_params\":{\"a\":1}}"));
      rig.decode(
          (_, connection) -> {
            connection.beginEvents().chunk("data: {\"a\":1}\n\n");
            goOn.await();
            connection.chunk("data: [DONE]\n\n").lastChunk();
          });
      WireClient client = rig.proxy.connect().send(request(",\"stream\":true"));
      client.head();
      client.chunk();

      ProxyRig.await("recorded at once", () -> rig.recorded.contains("HANDOVER_TAKEN"));
      goOn.countDown();
      assertThat(client.chunk()).isEqualTo("data: [DONE]\n\n");
      assertThat(client.chunk()).isEmpty();
      assertThat(rig.recorded).containsOnlyOnce("HANDOVER_TAKEN");
    }
  }

  /** Engines send the head of a stream before they have the blocks. */
  @Test
  void aDecodeThatBreaksAfterItsHeadIsReplaced() throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine prefill = rig.prefill(new Answer(200, "{\"kv_transfer_params\":{\"a\":1}}"));
      ScriptedEngine breaks = rig.decode((_, connection) -> connection.beginEvents().reset());
      Worker first = rig.worker(breaks);
      rig.decode(new EventStream(List.of("{\"b\":1}")));
      WireResponse response = rig.proxy.ask(request(",\"stream\":true"));

      assertThat(response.status()).isEqualTo(200);
      assertThat(response.text()).isEqualTo("data: {\"b\":1}\n\ndata: [DONE]\n\n");
      assertThat(breaks.requests()).hasSize(1);
      assertThat(prefill.requests()).as("its blocks may be gone").hasSize(2);
      assertThat(rig.recorded).contains("HANDOVER_RECOMPUTED");
      assertThat(first.inFlight()).isZero();
      assertThat(rig.proxy.outcomes)
          .startsWith(Outcome.SUCCEEDED, new Outcome.Failed(Failure.ERROR))
          .filteredOn(Outcome.Failed.class::isInstance)
          .hasSize(1);
      rig.awaitReleases();
    }
  }

  /** A cancellation would free nothing, because the prompt is computed. */
  @Test
  void decodeFreesThePrefillThatIsAnsweringWhenTheClientLeaves() throws Exception {
    CountDownLatch goOn = new CountDownLatch(1);
    String answer = "{\"kv_transfer_params\":{\"a\":1}}";
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine prefill =
          rig.prefill(
              (_, connection) -> {
                connection.send(
                    "HTTP/1.1 200 OK\r\ncontent-length: " + answer.length() + "\r\n\r\n{");
                goOn.await();
                connection.send(answer.substring(1));
              });
      Worker first = rig.worker(prefill);
      ScriptedEngine decode = rig.decode(Answer.ok());
      WireClient client = rig.proxy.connect().send(request());
      prefill.awaitRequest();
      ProxyRig.await("its answer has begun", () -> first.pendingTokens() == 0);
      client.reset();
      ProxyRig.await("the request has ended", () -> rig.proxy.ended.size() == 1);
      goOn.countDown();

      assertThat(decode.awaitRequest().bodyText()).contains("\"a\":1", "\"max_tokens\":1");
      ProxyRig.await("recorded", () -> rig.recorded.contains("HANDOVER_RELEASED"));
      ProxyRig.await("both settled", () -> rig.proxy.outcomes.size() == 2);
      assertThat(rig.proxy.outcomes).containsExactly(Outcome.SUCCEEDED, Outcome.SUCCEEDED);
    }
  }

  @Test
  void noWorkerGetsTheClientsRank() throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine prefill = rig.prefill(Answer.ok());
      ScriptedEngine decode =
          rig.decode(
              new Raw("HTTP/1.1 200 OK\r\nx-pointsman-split: no\r\ncontent-length: 2\r\n\r\n{}"));

      WireResponse response =
          rig.proxy.ask(
              ProxyRig.post(
                  SplitRig.PATH,
                  "X-data-parallel-rank: 1\r\n",
                  "{\"model\":\"m\",\"prompt\":\"hello\"}"));

      assertThat(prefill.awaitRequest().header("x-data-parallel-rank")).isNull();
      assertThat(decode.awaitRequest().header("x-data-parallel-rank")).isNull();
      assertThat(response.values("x-pointsman-split")).containsExactly("split");
    }
  }
}
