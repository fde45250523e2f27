package io.pointsman.pd.execution;

import static io.pointsman.pd.execution.SplitRig.request;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.ProxyRig;
import io.pointsman.proxy.WireClient;
import io.pointsman.proxy.WireResponse;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.EventStream;
import io.pointsman.testkit.engine.Faults.HangBeforeHeaders;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Streams of split requests that start without output: with earlier events, or with an error. */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
class SplitFirstEventsTest {
  private static final String ROLE =
      "{\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}";
  private static final String ERROR =
      "{\"error\":{\"message\":\"KV load failed\",\"type\":\"InternalServerError\",\"code\":500}}";
  private static final String BUSY = "{\"error\":{\"message\":\"queue full\",\"code\":503}}";
  private static final String ABORT =
      "{\"text\":\"\",\"meta_info\":{\"finish_reason\":{\"type\":\"abort\",\"message\":\"m\","
          + "\"status_code\":500}}}";
  private static final String TEXT = "{\"choices\":[{\"text\":\"a\"}]}";
  private static final String ANSWER = "data: " + TEXT + "\n\ndata: [DONE]\n\n";
  private static final String PREFILLED = "{\"kv_transfer_params\":{\"n\":1}}";
  private static final String BEGUN = begun("response.created") + begun("response.in_progress");

  private static String begun(String event) {
    return "event: " + event + "\ndata: {\"response\":{\"id\":\"a\"}}\n\n";
  }

  /** The first request gets {@code first}, all others get {@code then}. */
  private static EngineScript once(EngineScript first, EngineScript then) {
    AtomicBoolean asked = new AtomicBoolean();
    return (request, connection) ->
        (asked.getAndSet(true) ? then : first).answer(request, connection);
  }

  private static String streamed() {
    return request(",\"stream\":true");
  }

  @ParameterizedTest
  @ValueSource(strings = {ERROR, ABORT, BUSY})
  void anErrorInPlaceOfDecodesFirstOutputIsRetried(String error) throws Exception {
    EngineScript decodes = once(new EventStream(List.of(ROLE, error)), stream());
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine prefill = rig.prefill(new Answer(200, PREFILLED));
      rig.decode(decodes);
      rig.decode(decodes);
      WireResponse response = rig.proxy.ask(streamed());

      assertThat(response.status()).isEqualTo(200);
      assertThat(response.text()).isEqualTo(ANSWER);
      assertThat(rig.recorded).contains("HANDOVER_RECOMPUTED");
      assertThat(prefill.requests()).as("what was fetched is not fetched again").hasSize(2);
      assertThat(rig.proxy.outcomes).contains(new Outcome.Failed(Failure.ERROR));
      rig.awaitReleases();
    }
  }

  @Test
  void aDecodeWorkerThatIsBusyAfterItsHeadRests() throws Exception {
    EngineScript decodes = once(new EventStream(List.of(BUSY)), stream());
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine prefill = rig.prefill(new Answer(200, PREFILLED));
      rig.decode(decodes);
      rig.decode(decodes);
      assertThat(rig.proxy.ask(streamed()).text()).isEqualTo(ANSWER);

      assertThat(rig.recorded).contains("HANDOVER_RETAKEN");
      assertThat(prefill.requests()).hasSize(1);
      assertThat(rig.proxy.outcomes).noneMatch(Outcome.Failed.class::isInstance);
    }
  }

  @Test
  void aClientGetsRetryAfterIfDecodeStaysBusyAfterItsHead() throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      rig.prefill(new Answer(200, PREFILLED));
      ScriptedEngine decode = rig.decode(new EventStream(List.of(BUSY)));
      WireResponse response = rig.proxy.ask(streamed());

      assertThat(response.status()).as(response.text()).isEqualTo(503);
      assertThat(response.text()).contains("\"all_busy\"");
      assertThat(response.header("retry-after")).isEqualTo("1");
      decode.now(stream());
      rig.clock.advance(Duration.ofSeconds(10));
      ProxyRig.await("recorded: " + rig.recorded, () -> rig.recorded.contains("HANDOVER_RELEASED"));
    }
  }

  @Test
  void aClientsOwnErrorIsForwarded() throws Exception {
    String error = "{\"error\":{\"message\":\"too long\",\"code\":400}}";
    try (SplitRig rig = new SplitRig("nixl")) {
      rig.prefill(new Answer(200, PREFILLED));
      ScriptedEngine decode = rig.decode(new EventStream(List.of(error)));

      assertThat(rig.proxy.ask(streamed()).text()).contains(error);
      assertThat(decode.requests()).hasSize(1);
    }
  }

  private static EventStream stream() {
    return new EventStream(List.of(TEXT));
  }

  @ParameterizedTest
  @ValueSource(strings = {ERROR, ABORT, BUSY})
  void anErrorAtTheEndOfAPrefillsStreamCancelsDecode(String error) throws Exception {
    EngineScript prefills = once(new EventStream(List.of(error)), stream());
    try (SplitRig rig = new SplitRig("sglang")) {
      rig.prefill(prefills);
      rig.prefill(prefills);
      ScriptedEngine decode = rig.decode(SplitRig.silentOnce());
      WireResponse response = rig.proxy.ask(streamed());

      assertThat(response.status()).isEqualTo(200);
      assertThat(decode.requests()).hasSize(2);
      assertThat(rig.recorded).contains(error.equals(BUSY) ? "PREFILL_BUSY" : "PREFILL_ERROR");
      // Decode's answer may be complete before the concurrent prefill's answer is read.
      ProxyRig.await("prefill has ended", () -> rig.recorded.contains("PREFILL_DONE"));
    }
  }

  @Test
  void eventsOfDecodeBeforeItHasTheBlocksAreNotForwarded() throws Exception {
    CountDownLatch fails = new CountDownLatch(1);
    EngineScript prefills =
        once(
            (request, connection) -> {
              fails.await();
              new Answer(500, "{\"error\":{}}").answer(request, connection);
            },
            new Answer(200, PREFILLED));
    EngineScript decodes =
        once(
            (request, connection) -> {
              connection.beginEvents().chunk(BEGUN);
              new HangBeforeHeaders().answer(request, connection);
            },
            (request, connection) ->
                connection.beginEvents().chunk(BEGUN).chunk("event: a\ndata: {}\n\n").lastChunk());
    try (SplitRig rig = new SplitRig("mooncake")) {
      rig.prefill(prefills);
      rig.prefill(prefills);
      ScriptedEngine decode = rig.decode(decodes);
      try (WireClient client = rig.proxy.connect()) {
        client.send(
            ProxyRig.post(
                "/v1/responses", "{\"model\":\"m\",\"input\":\"hello\",\"stream\":true}"));
        ProxyRig.await("decode's head has come", () -> rig.recorded.contains("DECODE"));
        rig.clock.advance(Duration.ofSeconds(1));
        fails.countDown();

        WireResponse response = client.read();
        assertThat(response.status()).isEqualTo(200);
        assertThat(response.text()).isEqualTo(BEGUN + "event: a\ndata: {}\n\n");
      }
      assertThat(decode.requests()).hasSize(2);
    }
  }

  @Test
  void aRoleWithoutTextIsForwardedAfterADelay() throws Exception {
    CountDownLatch goesOn = new CountDownLatch(1);
    try (SplitRig rig = new SplitRig("nixl")) {
      rig.prefill(new Answer(200, PREFILLED));
      rig.decode(
          (request, connection) -> {
            connection.beginEvents().chunk("data: " + ROLE + "\n\n");
            goesOn.await();
            connection.chunk("data: [DONE]\n\n").lastChunk();
          });
      try (WireClient client = rig.proxy.connect()) {
        client.send(streamed());
        ProxyRig.await("decode's head has come", () -> rig.recorded.contains("DECODE"));
        ProxyRig.await(
            "the role has gone on",
            () -> {
              rig.clock.advance(Duration.ofMillis(50));
              return rig.recorded.contains("HANDOVER_TAKEN");
            });
        goesOn.countDown();
        assertThat(client.read().text()).isEqualTo("data: " + ROLE + "\n\ndata: [DONE]\n\n");
      }
    }
  }

  /** Both stages: an event that reports the end of the engine takes the worker out at once. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aStageThatReportsTheEndOfItsEngineGetsNoNewRequests(boolean prefillDies) throws Exception {
    EngineScript dead =
        new EventStream(
            List.of("{\"error\":{\"message\":\"EngineCore encountered an issue.\",\"code\":500}}"));
    EngineScript prefills = new Answer(200, PREFILLED);
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine prefill = rig.prefill(prefillDies ? dead : prefills);
      Worker first = rig.worker(prefill);
      rig.prefill(prefills);
      ScriptedEngine decode = rig.decode(prefillDies ? stream() : dead);
      Worker second = rig.worker(decode);
      rig.decode(stream());
      ScriptedEngine ending = prefillDies ? prefill : decode;
      for (int i = 0; i < 3; i++) {
        assertThat(rig.proxy.ask(streamed()).text()).isEqualTo(ANSWER);
      }
      assertThat((prefillDies ? first : second).shuttingDown()).isTrue();
      assertThat(ending.requests()).hasSize(1);
      rig.awaitReleases();
    }
  }

  /** A client's own error would otherwise take each engine out of service that gets its request. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void wordsOfAClientInAFailedStageAreNoEnd(boolean prefillFails) throws Exception {
    EngineScript fails =
        new EventStream(
            List.of(
                "{\"error\":{\"message\":\"no tool 'EngineDeadError'\",\"code\":500},"
                    + "\"metadata\":{\"error\":\"EngineDeadError\"}}"));
    EngineScript prefills = new Answer(200, PREFILLED);
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine prefill = rig.prefill(prefillFails ? fails : prefills);
      Worker first = rig.worker(prefill);
      rig.prefill(prefills);
      ScriptedEngine decode = rig.decode(prefillFails ? stream() : fails);
      Worker second = rig.worker(decode);
      rig.decode(stream());
      for (int i = 0; i < 3; i++) {
        assertThat(rig.proxy.ask(streamed()).text()).isEqualTo(ANSWER);
      }
      assertThat((prefillFails ? prefill : decode).requests()).isNotEmpty();
      assertThat((prefillFails ? first : second).shuttingDown()).isFalse();
      rig.awaitReleases();
    }
  }
}
