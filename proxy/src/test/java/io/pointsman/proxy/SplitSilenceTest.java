package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.exchange.TimeoutSettings;
import io.pointsman.proxy.split.StageSettings;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A decode worker that has sent its head and hangs, as in the transfer of blocks. */
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
  void isReplacedAfterTheTimeOfItsStage() throws Exception {
    EngineScript decodes = SplitRig.silentOnce();
    try (SplitRig rig = new SplitRig("nixl", ProxySettings.DEFAULTS.withTimeouts(PATIENT));
        ScriptedEngine prefill = ScriptedEngine.start(Answer.ok());
        ScriptedEngine one = ScriptedEngine.start(decodes);
        ScriptedEngine two = ScriptedEngine.start(decodes)) {
      rig.prefill(prefill);
      rig.decode(one);
      rig.decode(two);
      try (WireClient client = rig.proxy.connect()) {
        client.send(SplitRig.request(",\"stream\":true"));
        ProxyRig.await("decode's head has come", () -> rig.heard.contains("DECODE"));
        rig.clock.advance(StageSettings.DEFAULTS.decode().plusSeconds(1));
        WireResponse response = client.read();

        assertThat(response.status()).isEqualTo(200);
        assertThat(response.text()).isEqualTo("data: {\"a\":1}\n\ndata: [DONE]\n\n");
      }
      assertThat(one.requests().size() + two.requests().size()).isEqualTo(2);
    }
  }

  /** Decode waits for the blocks behind its head: that is no silence within an answer. */
  @Test
  void isLeftThatTimeWhateverSilenceWithinAnswersIsAllowed() throws Exception {
    CountDownLatch transferred = new CountDownLatch(1);
    ProxySettings settings =
        ProxySettings.DEFAULTS
            .withTimeouts(
                TimeoutSettings.DEFAULTS
                    .withAnswer(Duration.ofHours(5), Duration.ofSeconds(30))
                    .withTotals(Duration.ZERO, Duration.ZERO))
            .withListen(ListenSettings.DEFAULTS.withEventLoops(1));
    try (SplitRig rig = new SplitRig("nixl", settings);
        ScriptedEngine prefill = ScriptedEngine.start(Answer.ok());
        ScriptedEngine decode =
            ScriptedEngine.start(
                (request, connection) -> {
                  connection.beginEvents();
                  transferred.await();
                  connection.chunk("data: {\"a\":1}\n\n").chunk("data: [DONE]\n\n").lastChunk();
                })) {
      rig.prefill(prefill);
      rig.decode(decode);
      WireClient idle = rig.proxy.connect();
      try (WireClient client = rig.proxy.connect()) {
        client.send(SplitRig.request(",\"stream\":true"));
        ProxyRig.await("decode's head has come", () -> rig.heard.contains("DECODE"));
        rig.clock.advance(StageSettings.DEFAULTS.decode().minusSeconds(1));
        // The sweep that closes this one looks at the request first.
        assertThat(idle.atEnd()).isTrue();
        transferred.countDown();
        WireResponse response = client.read();

        assertThat(response.status()).isEqualTo(200);
        assertThat(response.text()).isEqualTo("data: {\"a\":1}\n\ndata: [DONE]\n\n");
      }
      assertThat(decode.requests()).hasSize(1);
    }
  }
}
