package io.pointsman.pd.execution;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.ListenSettings;
import io.pointsman.proxy.ProxyRig;
import io.pointsman.proxy.ProxySettings;
import io.pointsman.proxy.WireClient;
import io.pointsman.proxy.WireResponse;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.HangAfter;
import io.pointsman.testkit.engine.Faults.HangBeforeHeaders;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A decode worker that is silent after its head, for example during the transfer of blocks. */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
class SplitSilenceTest {
  private static final TimeoutSettings PATIENT =
      new TimeoutSettings(
          Duration.ofHours(5),
          Duration.ofHours(5),
          Duration.ZERO,
          Duration.ZERO,
          Duration.ofHours(5),
          Duration.ofHours(5),
          Duration.ofHours(5));

  @Test
  void silentDecodeIsReplacedAfterTheTimeoutOfItsStage() throws Exception {
    EngineScript decodes = SplitRig.silentOnce();
    try (SplitRig rig = new SplitRig("nixl", ProxySettings.DEFAULTS.withTimeouts(PATIENT))) {
      rig.prefill(Answer.ok());
      ScriptedEngine one = rig.decode(decodes);
      ScriptedEngine two = rig.decode(decodes);
      try (WireClient client = rig.proxy.connect()) {
        client.send(SplitRig.request(",\"stream\":true"));
        ProxyRig.await("decode's head has come", () -> rig.recorded.contains("DECODE"));
        rig.clock.advance(StageSettings.DEFAULTS.decode().plusSeconds(1));
        WireResponse response = client.read();

        assertThat(response.status()).isEqualTo(200);
        assertThat(response.text()).isEqualTo("data: {\"a\":1}\n\ndata: [DONE]\n\n");
      }
      assertThat(one.requests().size() + two.requests().size()).isEqualTo(2);
    }
  }

  private static void lose(Worker worker) {
    for (int i = 0; i < 3; i++) {
      worker.probes().silent();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"nixl", "p2p_nccl", "sglang"})
  void lostDecodeWorkerIsReplacedAtOnce(String protocol) throws Exception {
    EngineScript decodes = SplitRig.silentOnce();
    try (SplitRig rig = new SplitRig(protocol)) {
      rig.prefill(Answer.ok());
      ScriptedEngine one = rig.decode(decodes);
      Worker first = rig.worker(one);
      ScriptedEngine two = rig.decode(decodes);
      Worker second = rig.worker(two);
      try (WireClient client = rig.proxy.connect()) {
        client.send(SplitRig.request(",\"stream\":true"));
        ProxyRig.await("decode's head has come", () -> rig.recorded.contains("DECODE"));
        lose(one.requests().isEmpty() ? second : first);
        WireResponse response = client.read();

        assertThat(response.status()).isEqualTo(200);
        assertThat(response.text()).isEqualTo("data: {\"a\":1}\n\ndata: [DONE]\n\n");
      }
      assertThat(one.requests().size() + two.requests().size()).isEqualTo(2);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"nixl", "p2p_nccl", "sglang"})
  void lostPrefillWorkerIsReplacedAtOnce(String protocol) throws Exception {
    AtomicBoolean asked = new AtomicBoolean();
    CountDownLatch again = new CountDownLatch(1);
    EngineScript prefills =
        (request, connection) -> {
          if (asked.getAndSet(true)) {
            again.countDown();
            Answer.ok().answer(request, connection);
          } else {
            new HangBeforeHeaders().answer(request, connection);
          }
        };
    try (SplitRig rig = new SplitRig(protocol)) {
      ScriptedEngine one = rig.prefill(prefills);
      Worker first = rig.worker(one);
      ScriptedEngine two = rig.prefill(prefills);
      Worker second = rig.worker(two);
      rig.decode(
          (request, connection) -> {
            again.await();
            Answer.ok().answer(request, connection);
          });
      try (WireClient client = rig.proxy.connect()) {
        client.send(SplitRig.request());
        ProxyRig.await("prefill is asked", asked::get);
        lose(one.requests().isEmpty() ? second : first);

        assertThat(client.read().status()).isEqualTo(200);
      }
      assertThat(rig.recorded).contains("PREFILL_TIMEOUT");
      assertThat(one.requests().size() + two.requests().size()).isEqualTo(2);
    }
  }

  /** Decode waits for the blocks after its head, which is not silence within an answer. */
  @Test
  void theIdleTimeoutDoesNotApplyBeforeTheFirstOutputOfDecode() throws Exception {
    CountDownLatch transferred = new CountDownLatch(1);
    ProxySettings settings =
        ProxySettings.DEFAULTS
            .withTimeouts(
                TimeoutSettings.DEFAULTS
                    .withAnswer(Duration.ofHours(5), Duration.ofSeconds(30))
                    .withTotals(Duration.ZERO, Duration.ZERO))
            .withListen(ListenSettings.DEFAULTS.withEventLoops(1));
    try (SplitRig rig = new SplitRig("nixl", settings)) {
      rig.prefill(Answer.ok());
      ScriptedEngine decode =
          rig.decode(
              (request, connection) -> {
                connection.beginEvents();
                transferred.await();
                connection.chunk("data: {\"a\":1}\n\n").chunk("data: [DONE]\n\n").lastChunk();
              });
      WireClient idle = rig.proxy.connect();
      try (WireClient client = rig.proxy.connect()) {
        client.send(SplitRig.request(",\"stream\":true"));
        ProxyRig.await("decode's head has come", () -> rig.recorded.contains("DECODE"));
        rig.clock.advance(StageSettings.DEFAULTS.decode().minusSeconds(1));
        // The sweep that closes this connection checks the request first.
        assertThat(idle.atEnd()).isTrue();
        transferred.countDown();
        WireResponse response = client.read();

        assertThat(response.status()).isEqualTo(200);
        assertThat(response.text()).isEqualTo("data: {\"a\":1}\n\ndata: [DONE]\n\n");
      }
      assertThat(decode.requests()).hasSize(1);
    }
  }

  private static final String JSON_HEAD =
      "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n";

  private static EngineScript heads(boolean stream) {
    return stream ? SplitRig.silentOnce() : new HangAfter(JSON_HEAD);
  }

  private static String request(boolean stream) {
    return SplitRig.request(",\"stream\":" + stream);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void totalTimeoutOfASilentDecodeHasAStatus(boolean stream) throws Exception {
    Duration total = Duration.ofSeconds(20);
    ProxySettings settings =
        ProxySettings.DEFAULTS.withTimeouts(TimeoutSettings.DEFAULTS.withTotals(total, total));
    try (SplitRig rig = new SplitRig("nixl", settings)) {
      rig.prefill(Answer.ok());
      ScriptedEngine decode = rig.decode(heads(stream));
      try (WireClient client = rig.proxy.connect()) {
        client.send(request(stream));
        // the head of an answer in one piece is buffered
        ProxyRig.await(
            "decode is asked",
            () -> stream ? rig.recorded.contains("DECODE") : !decode.requests().isEmpty());
        rig.clock.advance(total.plusSeconds(1));
        WireResponse response = client.read();

        assertThat(response.status()).isEqualTo(504);
        assertThat(response.text()).contains("\"code\":\"total_timeout\"");
        assertThat(rig.proxy.ended.getFirst().status()).isEqualTo(504);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void stopOfTheRouterDuringASilentDecodeHasAStatus(boolean stream) throws Exception {
    ProxySettings settings = ProxySettings.DEFAULTS.withDrainTimeout(Duration.ofMillis(200));
    try (SplitRig rig = new SplitRig("nixl", settings)) {
      rig.prefill(Answer.ok());
      ScriptedEngine decode = rig.decode(heads(stream));
      try (WireClient client = rig.proxy.connect()) {
        client.send(request(stream));
        // the head of an answer in one piece is buffered
        ProxyRig.await(
            "decode is asked",
            () -> stream ? rig.recorded.contains("DECODE") : !decode.requests().isEmpty());
        rig.proxy.server().close();
        WireResponse response = client.read();

        assertThat(response.status()).isEqualTo(503);
        assertThat(response.text()).contains("\"code\":\"shutting_down\"");
      }
    }
  }
}
