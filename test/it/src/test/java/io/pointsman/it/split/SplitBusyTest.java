package io.pointsman.it.split;

import static io.pointsman.it.split.SplitFaults.BODY;
import static io.pointsman.it.split.SplitFaults.LONG_STREAM;
import static io.pointsman.it.split.SplitFaults.PATH;
import static io.pointsman.it.split.SplitFaults.asked;
import static io.pointsman.it.split.SplitFaults.fail;
import static io.pointsman.it.split.SplitFaults.handovers;
import static io.pointsman.it.split.SplitFaults.nixl;
import static io.pointsman.it.split.SplitFaults.refused;
import static io.pointsman.it.split.SplitFaults.send;
import static io.pointsman.it.split.SplitFaults.slowDecode;
import static io.pointsman.it.split.SplitFaults.stream;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.failure.Fault;
import io.pointsman.tool.sim.kv.KvConnector;
import java.io.IOException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Overloaded workers, and hand-overs that no decode worker takes. */
@Tag("full")
class SplitBusyTest {
  private static SplitCluster.Setup slow() {
    return slowDecode().direct();
  }

  @Test
  void requestsWaitForABusyPrefillWorkerIfNoOtherMayServe() throws IOException {
    try (SplitCluster cluster = nixl().direct().start()) {
      fail(cluster.prefills.getFirst(), 1, new Fault.Status(503, 1));
      HttpAnswer answer = cluster.post(PATH, BODY);
      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      assertThat(answer.header("x-pointsman-split")).isEqualTo("split");
      assertThat(asked(cluster.prefills)).isEqualTo(2);
    }
  }

  @Test
  void aBusyDecodeWorkerCostsNoSecondPrefill() throws IOException {
    try (SplitCluster cluster = nixl().engines(1, 2).set("decode-policy", "round_robin").start()) {
      fail(cluster.decodes.getFirst(), 1, new Fault.Status(503, 1));
      for (int i = 0; i < 2; i++) {
        HttpAnswer answer = cluster.post(PATH, BODY);
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      }
      assertThat(asked(cluster.prefills)).isEqualTo(2);
      assertThat(handovers(cluster, "retaken")).isEqualTo(1);
    }
  }

  /** With a hand-over bound to one decode worker, each further worker costs a prefill. */
  @Test
  void prefillsForBusyDecodeWorkersAreLimited() throws IOException {
    try (SplitCluster cluster =
        SplitCluster.of("p2p_nccl", KvConnector.P2P_NCCL)
            .engines(1, 4)
            .set("decode-can-prefill", false)
            .top("retry", "{max-attempts: 2}")
            .start()) {
      fail(cluster.decodes, 99, new Fault.Status(429, 0));
      HttpAnswer answer = cluster.post(PATH, BODY);
      assertThat(answer.status()).isEqualTo(429);
      assertThat(asked(cluster.prefills)).isEqualTo(2);
      cluster.decodes.forEach(each -> each.failures().clear());
    }
  }

  @Test
  void blocksAreReleasedByADecodeWorkerThatHasNotFailed() throws IOException {
    try (SplitCluster cluster = slow().engines(1, 2).top("retry", "{max-attempts: 1}").start()) {
      SimEngine failing = cluster.decodes.getFirst();
      // The other worker has more load, so the failing one is chosen each time.
      cluster.worker(failing).drain(true);
      RawClient load = stream(cluster);
      cluster.worker(failing).drain(false);
      fail(failing, 99, new Fault.Status(500, 0));
      assertThat(cluster.post(PATH, BODY).status()).isEqualTo(500);
      WaitFor.until(
          "the other one frees them", WaitFor.LONG, () -> handovers(cluster, "released") == 1);
      assertThat(failing.requestLog()).hasSize(1);
      load.leave();
      cluster.awaitQuiet();
    }
  }

  /** Counted as released only with the blocks; the only decode worker fails twice before. */
  @Test
  void theOnlyDecodeWorkerGetsAnotherReleaseRequest() throws IOException {
    try (SplitCluster cluster = nixl().top("retry", "{max-attempts: 1}").start()) {
      fail(cluster.decodes.getFirst(), 3, new Fault.Status(500, 0));
      assertThat(cluster.post(PATH, BODY).status()).isEqualTo(500);
      cluster.awaitQuiet();
      assertThat(cluster.prefills.getFirst().kvState().reserved().released()).isEqualTo(1);
      assertThat(cluster.decodes.getFirst().requestLog()).hasSize(4);
      assertThat(handovers(cluster, "released")).isEqualTo(1);
    }
  }

  /** It misses both the request and the first attempt to release its blocks. */
  @Test
  void aSlowDecodeWorkerGetsAnotherReleaseRequest() throws IOException {
    try (SplitCluster cluster =
        nixl()
            .set("decode-timeout", "3s")
            .set("release-timeout", "3s")
            .top("retry", "{max-attempts: 1}")
            .start()) {
      fail(cluster.decodes, 2, new Fault.Hang(0));
      assertThat(cluster.post(PATH, BODY).status()).isEqualTo(504);
      cluster.awaitQuiet();
      assertThat(cluster.prefills.getFirst().kvState().reserved().released()).isEqualTo(1);
      assertThat(asked(cluster.decodes)).isEqualTo(3);
    }
  }

  @Test
  void blocksAreReleasedOnceADecodeWorkerHasCapacity() throws IOException {
    try (SplitCluster cluster =
        slow().decodeLimit(1).top("retry", "{initial-backoff: 10m, max-backoff: 10m}").start()) {
      fail(cluster.decodes.getFirst(), 1, new Fault.Status(500, 0));
      RawClient client = send(cluster, BODY);
      WaitFor.until(
          "decode has failed",
          WaitFor.LONG,
          () -> cluster.metric("pointsman_retries_total", "") == 1);
      RawClient load = send(cluster, LONG_STREAM.replace("{", "{\"echo\":true,"));
      load.readHead();
      client.leave();
      WaitFor.until("it is gone", WaitFor.LONG, () -> cluster.router().running() == 1);
      assertThat(cluster.prefills.getFirst().kvState().reserved().requests()).isEqualTo(1);
      load.leave();
      cluster.awaitQuiet();
      assertThat(cluster.prefills.getFirst().kvState().reserved().released()).isEqualTo(1);
    }
  }

  /** An engine's own status must not replace the router's status for its limits. */
  @Test
  void aLimitIs503EvenAfterAnEnginesOwn429() throws IOException {
    try (SplitCluster cluster =
        slow().decodeLimit(1).set("slot-wait", "300ms").top("retry", "{max-attempts: 1}").start()) {
      fail(cluster.decodes, 1, new Fault.Status(429, 0));
      assertThat(cluster.post(PATH, BODY).status()).isEqualTo(429);
      cluster.awaitSplit(1);
      RawClient first = stream(cluster);
      refused(cluster.post(PATH, BODY), "all_busy");
      first.leave();
      cluster.awaitQuiet();
    }
  }
}
