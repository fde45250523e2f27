package io.pointsman.it.split;

import static io.pointsman.it.split.SplitFaults.BODY;
import static io.pointsman.it.split.SplitFaults.LONG_STREAM;
import static io.pointsman.it.split.SplitFaults.PATH;
import static io.pointsman.it.split.SplitFaults.asked;
import static io.pointsman.it.split.SplitFaults.awaitHung;
import static io.pointsman.it.split.SplitFaults.body;
import static io.pointsman.it.split.SplitFaults.fail;
import static io.pointsman.it.split.SplitFaults.goOnWith;
import static io.pointsman.it.split.SplitFaults.handovers;
import static io.pointsman.it.split.SplitFaults.nixl;
import static io.pointsman.it.split.SplitFaults.refused;
import static io.pointsman.it.split.SplitFaults.send;
import static io.pointsman.it.split.SplitFaults.slowDecode;
import static io.pointsman.it.split.SplitFaults.stream;
import static io.pointsman.it.split.SplitFaults.succeeds;
import static io.pointsman.it.split.SplitFaults.waits;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.CircuitBreaker.State;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.failure.Fault;
import io.pointsman.tool.sim.kv.KvConnector;
import java.io.IOException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Each injected failure of decode. The cluster checks at its end that no lease is open and no block
 * is reserved.
 */
@Tag("full")
class SplitDecodeFailuresTest {
  private static SplitCluster.Setup inTurns() {
    return nixl().engines(1, 2).set("decode-policy", "round_robin");
  }

  /** It may have fetched the blocks, so no other worker gets the same hand-over. */
  @Test
  void afterAFailedDecodeThePromptIsComputedAgain() throws IOException {
    try (SplitCluster cluster = inTurns().start()) {
      fail(cluster.decodes.getFirst(), 1, new Fault.Status(500, 0));
      for (int i = 0; i < 2; i++) {
        succeeds(cluster);
      }
      assertThat(asked(cluster.prefills)).isEqualTo(3);
      assertThat(handovers(cluster, "recomputed")).isEqualTo(1);
      assertThat(handovers(cluster, "retaken")).isZero();
      cluster.awaitQuiet();
      assertThat(asked(cluster.decodes)).as("one frees the first blocks").isEqualTo(4);
      assertThat(handovers(cluster, "released")).isEqualTo(1);
    }
  }

  @Test
  void anotherDecodeWorkerTakesTheHandOverOfAFailedOneIfThatIsConfigured() throws IOException {
    try (SplitCluster cluster = inTurns().set("handover-reuse", "always").start()) {
      fail(cluster.decodes.getFirst(), 1, new Fault.Status(500, 0));
      for (int i = 0; i < 2; i++) {
        succeeds(cluster);
      }
      assertThat(asked(cluster.prefills)).isEqualTo(2);
      assertThat(asked(cluster.decodes)).isEqualTo(3);
      assertThat(handovers(cluster, "retaken")).isEqualTo(1);
      assertThat(handovers(cluster, "recomputed")).isZero();
    }
  }

  /** Temporarily full workers do not use up the only attempt. */
  @Test
  void anotherDecodeWorkerTakesItEvenAfterAWait() throws Exception {
    try (SplitCluster cluster =
        slowDecode()
            .engines(1, 2)
            .decodeLimit(1)
            .set("handover-reuse", "always")
            .set("slot-wait", "10m")
            .start()) {
      RawClient first = stream(cluster);
      SimEngine idle =
          cluster.decodes.stream()
              .filter(each -> cluster.worker(each).inFlight() == 0)
              .findAny()
              .orElseThrow();
      fail(idle, 1, new Fault.Status(500, 0));
      RawClient second = send(cluster, BODY);
      waits(cluster, 1);
      first.leave();
      HttpAnswer answer = second.read();
      second.close();

      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      assertThat(asked(cluster.prefills)).isEqualTo(2);
      assertThat(handovers(cluster, "retaken")).isEqualTo(1);
      assertThat(handovers(cluster, "recomputed")).isZero();
    }
  }

  /**
   * The first worker had fetched the blocks; the second one's refusal ends the reuse of hand-overs.
   */
  @Test
  void aLostHandOverIsTriedAtMostOnceMore() throws IOException {
    try (SplitCluster cluster =
        inTurns()
            .engines(1, 3)
            .set("handover-reuse", "always")
            .top("retry", "{max-attempts: 4}")
            .start()) {
      cluster.expectWrongFields();
      fail(cluster.decodes.getFirst(), 1, new Fault.ResetAfterBytes(400, false));
      for (int i = 0; i < 3; i++) {
        succeeds(cluster);
      }
      assertThat(asked(cluster.prefills)).isEqualTo(4);
      assertThat(handovers(cluster, "recomputed")).isEqualTo(1);
      assertThat(cluster.metric("pointsman_retries_total", "reason=\"reset\"")).isEqualTo(1);
      assertThat(cluster.metric("pointsman_retries_total", "reason=\"status\"")).isEqualTo(1);
    }
  }

  @Test
  void aPermanentlyFailingDecodeWorkerLeavesNothingReserved() throws IOException {
    try (SplitCluster cluster = nixl().set("decode-can-prefill", false).start()) {
      fail(cluster.decodes.getFirst(), 1, new Fault.Status(500, 0));
      HttpAnswer answer = cluster.post(PATH, BODY);
      assertThat(answer.status()).isEqualTo(500);
      cluster.awaitQuiet();
      assertThat(cluster.prefills.getFirst().kvState().reserved().released()).isEqualTo(1);
      assertThat(handovers(cluster, "released")).isEqualTo(1);
    }
  }

  @Test
  void anotherDecodeWorkerTakesTheHandOverOfAnUnreachableOne() throws IOException {
    try (SplitCluster cluster = inTurns().start()) {
      SimEngine dead = cluster.decodes.getFirst();
      dead.refuse();
      for (int i = 0; i < 3; i++) {
        succeeds(cluster);
      }
      assertThat(asked(cluster.prefills)).isEqualTo(3);
      assertThat(cluster.decodes.getLast().kvState().steps().decode()).isEqualTo(3);
      assertThat(handovers(cluster, "retaken")).as("tried first").isPositive();
      dead.accept();
    }
  }

  /**
   * It has already fetched the blocks. The prompt is computed again, and the request to release
   * them finds none. The client has not got the router's part of a non-streamed response yet.
   */
  @ParameterizedTest
  @CsvSource({"0,false", "0,true", "400,false"})
  void aDecodeWorkerThatFailsBeforeItsFirstByteIsReplaced(int bytes, boolean stream)
      throws IOException {
    try (SplitCluster cluster = inTurns().start()) {
      cluster.expectWrongFields();
      fail(cluster.decodes.getFirst(), 1, new Fault.ResetAfterBytes(bytes, false));
      for (int i = 0; i < 2; i++) {
        HttpAnswer answer = cluster.post(PATH, body(5, stream));
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        assertThat(answer.complete()).isTrue();
      }
      assertThat(asked(cluster.prefills)).isEqualTo(3);
      assertThat(handovers(cluster, "recomputed")).isEqualTo(1);
      assertThat(handovers(cluster, "retaken")).isZero();
      assertThat(cluster.metric("pointsman_retries_total", "reason=\"reset\"")).isEqualTo(1);
    }
  }

  @Test
  void aTooSlowDecodeWorkerIsReplaced() throws IOException {
    try (SplitCluster cluster = inTurns().set("decode-timeout", "3s").start()) {
      fail(cluster.decodes.getFirst(), 1, new Fault.Hang(0));
      for (int i = 0; i < 2; i++) {
        succeeds(cluster);
      }
      assertThat(asked(cluster.prefills)).isEqualTo(3);
      assertThat(handovers(cluster, "recomputed")).isEqualTo(1);
      assertThat(handovers(cluster, "retaken")).isZero();
      assertThat(cluster.metric("pointsman_retries_total", "reason=\"timeout\"")).isEqualTo(1);
    }
  }

  @Test
  void theOnlyTooSlowDecodeWorkerLeavesNothingReserved() throws IOException {
    try (SplitCluster cluster =
        nixl().set("decode-timeout", "1s").set("decode-can-prefill", false).start()) {
      fail(cluster.decodes, 1, new Fault.Hang(0));
      HttpAnswer answer = cluster.post(PATH, BODY);
      assertThat(answer.status()).as(answer.text()).isEqualTo(504);
      cluster.awaitQuiet();
      assertThat(cluster.prefills.getFirst().kvState().reserved().released()).isEqualTo(1);
    }
  }

  @Test
  void aFailureOfDecodeDuringAStreamIsVisibleToTheClient() throws IOException {
    try (SplitCluster cluster = nixl().start()) {
      fail(cluster.decodes, 1, new Fault.ResetAfterBytes(3000, false));
      HttpAnswer answer = cluster.post(PATH, LONG_STREAM);
      assertThat(answer.status()).isEqualTo(200);
      assertThat(answer.complete()).isTrue();
      assertThat(answer.text())
          .contains("data: {\"error\":{\"message\":", "\"code\":\"upstream_broke_off\"")
          .startsWith("data: {\"id\":");
      assertThat(asked(cluster.prefills)).as("not tried again").isEqualTo(1);
    }
  }

  /** Its blocks are in transfer for two seconds. */
  @Test
  void aDecodeWorkerThatDiesDuringTheTransferIsReplaced() throws IOException {
    try (SplitCluster cluster =
        nixl().engines(1, 2).options(o -> o.withLink(1_000_000_000L, 20)).start()) {
      cluster.expectWrongFields();
      RawClient client = send(cluster, BODY);
      WaitFor.until(
          "one fetches",
          WaitFor.LONG,
          () -> cluster.decodes.stream().anyMatch(SplitDecodeFailuresTest::fetches));
      cluster.decodes.stream()
          .filter(SplitDecodeFailuresTest::fetches)
          .findAny()
          .orElseThrow()
          .stop();
      HttpAnswer answer = client.read();
      client.close();
      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    }
  }

  private static boolean fetches(SimEngine engine) {
    return engine.kvState().transfers().inProgress() == 1;
  }

  @Test
  void failuresOfDecodeOpenItsBreaker() throws IOException {
    try (SplitCluster cluster =
        SplitCluster.of("transparent", KvConnector.NONE)
            .set("decode-can-prefill", false)
            .top("breaker", "{failure-threshold: 3, open-for: 1h, max-ejected-share: 1}")
            .start()) {
      Worker worker = cluster.worker(cluster.decodes.getFirst());
      fail(cluster.decodes, 3, new Fault.ResetAfterBytes(0, false));
      for (int i = 0; i < 3; i++) {
        assertThat(worker.breaker().state()).isEqualTo(State.CLOSED);
        assertThat(cluster.post(PATH, BODY).status()).isEqualTo(502);
      }
      assertThat(worker.breaker().state()).isEqualTo(State.OPEN);
      assertThat(cluster.worker(cluster.prefills.getFirst()).breaker().state())
          .isEqualTo(State.CLOSED);
      refused(cluster.post(PATH, BODY), "none_available");
      assertThat(asked(cluster.prefills)).as("no prefill without decode").isEqualTo(3);
    }
  }

  // The lease of a hand-over.

  /** Prefill holds nothing for decode that could expire. */
  @Test
  void withoutAHandOverNoLeaseExpires() throws IOException, InterruptedException {
    try (SplitCluster cluster =
        SplitCluster.of("transparent", KvConnector.NONE)
            .engines(1, 2)
            .set("lease", "1ms")
            .start()) {
      fail(cluster.decodes, 1, new Fault.Hang(0));
      RawClient client = send(cluster, BODY);
      SimEngine failing = awaitHung(cluster.decodes);
      Thread.sleep(5); // the lease, if there were one
      goOnWith(failing, new Fault.Status(500, 0));
      HttpAnswer answer = client.read();
      client.close();
      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      assertThat(asked(cluster.prefills)).isEqualTo(1);
      assertThat(handovers(cluster, "retaken")).isEqualTo(1);
      assertThat(handovers(cluster, "recomputed")).isZero();
    }
  }

  /** The lease ends before the next attempt; no worker is sent to blocks that may be gone. */
  @Test
  void aHandOverWithAnExpiredLeaseIsNotReused() throws IOException, InterruptedException {
    try (SplitCluster cluster =
        nixl().engines(1, 2).options(o -> o.withLeaseSeconds(3)).set("lease", "1ms").start()) {
      cluster.expectLeaks();
      fail(cluster.decodes, 1, new Fault.Hang(0));
      RawClient client = send(cluster, BODY);
      SimEngine busy = awaitHung(cluster.decodes);
      Thread.sleep(5); // the lease
      goOnWith(busy, new Fault.Status(503, 1));
      HttpAnswer answer = client.read();
      client.close();
      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      assertThat(asked(cluster.prefills)).as("computed again").isEqualTo(2);
      assertThat(handovers(cluster, "recomputed")).isEqualTo(1);
      assertThat(handovers(cluster, "retaken")).isZero();
      assertThat(handovers(cluster, "left")).isEqualTo(1);
    }
  }

  /**
   * An engine that gets a known id again waits forever, with all its other requests. It must not
   * get the id again, neither to release its blocks nor over a second connection.
   */
  @ParameterizedTest
  @CsvSource({"500", "0"})
  void noEngineOfP2pNcclGetsAnIdTwice(int status) throws IOException {
    try (SplitCluster cluster =
        SplitCluster.of("p2p_nccl", KvConnector.P2P_NCCL)
            .options(o -> o.withLeaseSeconds(3))
            .set("decode-can-prefill", false)
            .top("retry", "{max-attempts: 1}")
            .start()) {
      cluster.expectLeaks();
      succeeds(cluster); // leaves a connection to decode
      Fault fault = status == 0 ? new Fault.ResetAfterBytes(0, false) : new Fault.Status(status, 0);
      fail(cluster.decodes, 1, fault);
      assertThat(cluster.post(PATH, BODY).status()).isIn(500, 502);
      cluster.awaitQuiet();
      assertThat(asked(cluster.decodes)).isEqualTo(2);
      assertThat(handovers(cluster, "left")).isEqualTo(1);
      assertThat(handovers(cluster, "released")).isZero();
    }
  }
}
