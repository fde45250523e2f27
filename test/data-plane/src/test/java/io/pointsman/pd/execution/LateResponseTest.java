package io.pointsman.pd.execution;

import static io.pointsman.pd.execution.SplitRig.request;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.BreakerSettings;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.ProxyRig;
import io.pointsman.proxy.WireClient;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Prefills that no request needs, with answers in progress. The router reads the answer to its end,
 * which is a broken connection here.
 */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
class LateResponseTest {
  private static final String HALF =
      "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{";

  private final CountDownLatch breaks = new CountDownLatch(1);

  private EngineScript half() {
    return (_, connection) -> {
      connection.send(HALF);
      breaks.await();
      connection.reset();
    };
  }

  /** An engine with a half-open breaker: the next request comes only after a success. */
  private ScriptedEngine probed(SplitRig rig) throws IOException {
    ScriptedEngine engine = rig.prefill(half());
    Worker worker = rig.worker(engine);
    for (int i = 0; i < BreakerSettings.DEFAULTS.failureThreshold(); i++) {
      requireNonNull(worker.tryLease(rig.clock.nanos(), 0, 0, (_, _) -> {})).failed(Failure.ERROR);
    }
    assertThat(worker.eligible(rig.clock.nanos())).isFalse();
    rig.clock.advance(BreakerSettings.DEFAULTS.openFor().plusSeconds(1));
    assertThat(worker.eligible(rig.clock.nanos())).isTrue();
    return engine;
  }

  private static void awaitHead(SplitRig rig, ScriptedEngine engine) {
    Worker worker = rig.worker(engine);
    ProxyRig.await("it is asked", () -> engine.requests().size() == 1);
    ProxyRig.await("its head has come", () -> worker.eligible(rig.clock.nanos()));
  }

  private void breaksOff(SplitRig rig) {
    ProxyRig.await("the client's request is over", () -> !rig.proxy.ended.isEmpty());
    assertThat(rig.recorded).noneMatch(each -> each.startsWith("PREFILL_"));
    breaks.countDown();
    ProxyRig.await("its end is recorded", () -> rig.recorded.contains("PREFILL_ERROR"));
    assertThat(rig.recorded).doesNotContain("PREFILL_ABORTED");
  }

  @Test
  void aPrefillThatBreaksAfterItsClientHasLeftCountsAsAFailure() throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      ScriptedEngine prefill = probed(rig);
      ScriptedEngine decode = rig.decode(Answer.ok());
      try (WireClient client = rig.proxy.connect()) {
        client.send(request());
        awaitHead(rig, prefill);
      }
      breaksOff(rig);
      assertThat(decode.requests()).isEmpty();
    }
  }

  @Test
  void aPrefillThatBreaksAfterItsDecodeHasFailedCountsAsAFailure() throws Exception {
    CountDownLatch fails = new CountDownLatch(1);
    try (SplitRig rig = new SplitRig("mooncake")) {
      ScriptedEngine prefill = probed(rig);
      rig.decode(
          (asked, connection) -> {
            fails.await();
            new Answer(500, "{\"error\":{}}").answer(asked, connection);
          });
      try (WireClient client = rig.proxy.connect()) {
        client.send(request());
        awaitHead(rig, prefill);
        fails.countDown();
        assertThat(client.read().status()).isEqualTo(500);
      }
      breaksOff(rig);
    }
  }

  /** The rig checks that the new decision does not use the lease of the earlier prefill. */
  @Test
  void aPrefillThatBreaksAfterANewDecisionCountsAsAFailure() throws Exception {
    CountDownLatch fails = new CountDownLatch(1);
    try (SplitRig rig = new SplitRig("mooncake")) {
      ScriptedEngine prefill = probed(rig);
      rig.decode(
          (asked, connection) -> {
            fails.await();
            new Answer(500, "{\"error\":{}}").answer(asked, connection);
          });
      rig.decode(Answer.ok());
      try (WireClient client = rig.proxy.connect()) {
        client.send(request());
        awaitHead(rig, prefill);
        fails.countDown();
        assertThat(client.read().status()).isEqualTo(200);
      }
      assertThat(prefill.requests()).hasSize(2);
      breaks.countDown();
      ProxyRig.await("its end is recorded", () -> rig.recorded.contains("PREFILL_ERROR"));
    }
  }
}
