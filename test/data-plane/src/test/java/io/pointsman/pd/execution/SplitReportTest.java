package io.pointsman.pd.execution;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.ProxyRig;
import io.pointsman.proxy.ProxyRig.Ended;
import io.pointsman.proxy.WireClient;
import io.pointsman.proxy.telemetry.RequestReport;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.HangBeforeHeaders;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The report about a client that leaves before any byte of its answer, although a decode worker has
 * started one.
 */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
class SplitReportTest {
  private static void assertLeftWithoutAStatus(SplitRig rig) {
    ProxyRig.await("the request is over", () -> !rig.proxy.ended.isEmpty());
    Ended ended = rig.proxy.ended.getFirst();
    assertThat(ended.status()).isEqualTo(499);
    assertThat(ended.blame()).isEqualTo("CLIENT");
    assertThat(ended.left()).isTrue();
    assertThat(ended.ttft()).isEqualTo(RequestReport.NEVER);
    assertThat(ended.chunks()).isZero();
    assertThat(ended.bytesOut()).isZero();
  }

  @Test
  void aClientThatLeavesDuringADelayedHeadHasNoStatus() throws Exception {
    try (SplitRig rig = new SplitRig("nixl")) {
      rig.prefill(Answer.ok());
      rig.decode(SplitRig.silentOnce());
      try (WireClient client = rig.proxy.connect()) {
        client.send(SplitRig.request(",\"stream\":true"));
        ProxyRig.await("decode's head has come", () -> rig.recorded.contains("DECODE"));
      }
      assertLeftWithoutAStatus(rig);
    }
  }

  @Test
  void aClientThatLeavesAfterACancelledDecodeHasNoStatus() throws Exception {
    CountDownLatch fails = new CountDownLatch(1);
    try (SplitRig rig = new SplitRig("mooncake")) {
      rig.prefill(
          (asked, connection) -> {
            fails.await();
            new Answer(500, "{\"error\":{}}").answer(asked, connection);
          });
      rig.prefill(new HangBeforeHeaders());
      ScriptedEngine decode = rig.decode(headOnce());
      try (WireClient client = rig.proxy.connect()) {
        client.send(SplitRig.request(",\"stream\":true"));
        ProxyRig.await("decode's head has come", () -> rig.recorded.contains("DECODE"));
        fails.countDown();
        ProxyRig.await("both are asked anew", () -> decode.requests().size() == 2);
      }
      assertLeftWithoutAStatus(rig);
      assertThat(rig.proxy.ended.getFirst().attempts()).isEqualTo(2);
    }
  }

  @Test
  void aClientThatLeavesAfterABrokenDecodeHasNoStatus() throws Exception {
    try (SplitRig rig = new SplitRig("mooncake")) {
      rig.prefill(new HangBeforeHeaders());
      ScriptedEngine breaks = rig.decode((_, connection) -> connection.beginEvents().reset());
      ScriptedEngine hangs = rig.decode(new HangBeforeHeaders());
      try (WireClient client = rig.proxy.connect()) {
        client.send(SplitRig.request(",\"stream\":true"));
        ProxyRig.await("another is asked", () -> hangs.requests().size() == 1);
      }
      assertLeftWithoutAStatus(rig);
      assertThat(breaks.requests()).hasSize(1);
    }
  }

  /** The first request gets the head of a stream; others get nothing. */
  private static EngineScript headOnce() {
    AtomicBoolean asked = new AtomicBoolean();
    return (request, connection) -> {
      if (!asked.getAndSet(true)) {
        connection.beginEvents();
      }
      new HangBeforeHeaders().answer(request, connection);
    };
  }
}
