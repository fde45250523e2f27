package io.pointsman.pd.execution;

import static io.pointsman.pd.execution.SplitRig.request;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.ProxyRig;
import io.pointsman.proxy.ProxySettings;
import io.pointsman.proxy.WireClient;
import io.pointsman.proxy.WireResponse;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Comments that keep streams alive while decode waits for its prefill. */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
class SplitKeepAliveTest {
  private static final Duration KEEPALIVE = Duration.ofMillis(20);

  /** The router reads the clock for other purposes than checks for silent streams too. */
  private static final int READS = 200;

  private final CountDownLatch fails = new CountDownLatch(1);

  private EngineScript breaksOffOnce() {
    AtomicBoolean asked = new AtomicBoolean();
    return (request, connection) -> {
      if (asked.getAndSet(true)) {
        Answer.ok().answer(request, connection);
      } else {
        fails.await();
        connection.reset();
      }
    };
  }

  /** Decode's head has arrived without an event, so another worker can still answer. */
  @Test
  void aPrefillThatFailsLateCancelsDecodeAndIsRetried() throws Exception {
    EngineScript prefills = breaksOffOnce();
    try (SplitRig rig =
        new SplitRig("sglang", ProxySettings.DEFAULTS.withSseKeepalive(KEEPALIVE))) {
      ScriptedEngine one = rig.prefill(prefills);
      ScriptedEngine two = rig.prefill(prefills);
      ScriptedEngine decode = rig.decode(SplitRig.silentOnce());
      try (WireClient client = rig.proxy.connect()) {
        client.send(request(",\"stream\":true"));
        ProxyRig.await("decode's head has come", () -> rig.recorded.contains("DECODE"));
        rig.clock.advance(Duration.ofSeconds(1));
        long before = rig.clock.reads();
        ProxyRig.await(
            "the router checks for silent streams", () -> rig.clock.reads() > before + READS);
        fails.countDown();

        WireResponse response = client.read();
        assertThat(response.status()).isEqualTo(200);
        assertThat(response.text()).isEqualTo("data: {\"a\":1}\n\ndata: [DONE]\n\n");
      }
      assertThat(decode.requests()).hasSize(2);
      assertThat(one.requests().size() + two.requests().size()).isEqualTo(2);
    }
  }
}
