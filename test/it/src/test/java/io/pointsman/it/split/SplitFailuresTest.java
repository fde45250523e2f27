package io.pointsman.it.split;

import static io.pointsman.it.split.SplitFaults.BODY;
import static io.pointsman.it.split.SplitFaults.LONG_STREAM;
import static io.pointsman.it.split.SplitFaults.PATH;
import static io.pointsman.it.split.SplitFaults.asked;
import static io.pointsman.it.split.SplitFaults.body;
import static io.pointsman.it.split.SplitFaults.fail;
import static io.pointsman.it.split.SplitFaults.nixl;
import static io.pointsman.it.split.SplitFaults.prefillsEnded;
import static io.pointsman.it.split.SplitFaults.refused;
import static io.pointsman.it.split.SplitFaults.send;
import static io.pointsman.it.split.SplitFaults.succeeds;
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
import java.util.Locale;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Each injected failure of prefill, and its effect on the decode request. The cluster checks at its
 * end that no lease is open and no block is reserved.
 */
class SplitFailuresTest {
  @ParameterizedTest
  @ValueSource(ints = {400, 404, 422})
  @Tag("full")
  void aClientErrorComesFromPrefillOnce(int status) throws IOException {
    try (SplitCluster cluster = nixl().engines(2, 2).start()) {
      fail(cluster.prefills, 9, new Fault.Status(status, 0));
      HttpAnswer answer = cluster.post(PATH, BODY);
      assertThat(answer.status()).isEqualTo(status);
      assertThat(asked(cluster.prefills)).as("asked once").isEqualTo(1);
      assertThat(cluster.decodes).allMatch(e -> e.requestLog().isEmpty());
      assertThat(prefillsEnded(cluster, "client_error")).isEqualTo(1);
      assertThat(cluster.metric("pointsman_retries_total", "")).isZero();
      isThatOf(theOneAsked(cluster), answer);
    }
  }

  /** The decode request is sent at the same time, and cancelled. */
  @ParameterizedTest
  @ValueSource(ints = {400, 422})
  @Tag("full")
  void aClientErrorComesFromPrefillOnceWithConcurrentRequests(int status) throws IOException {
    try (SplitCluster cluster =
        SplitCluster.of("sglang", KvConnector.SGLANG).engines(2, 2).start()) {
      fail(cluster.prefills, 9, new Fault.Status(status, 0));
      HttpAnswer answer = cluster.post(PATH, BODY);
      assertThat(answer.status()).isEqualTo(status);
      cluster.awaitQuiet();
      assertThat(asked(cluster.prefills)).as("asked once").isEqualTo(1);
      assertThat(asked(cluster.decodes)).as("asked once at most").isLessThanOrEqualTo(1);
      assertThat(prefillsEnded(cluster, "client_error")).isEqualTo(1);
      assertThat(cluster.metric("pointsman_retries_total", "")).isZero();
      isThatOf(theOneAsked(cluster), answer);
    }
  }

  private static SimEngine theOneAsked(SplitCluster cluster) {
    return cluster.prefills.stream()
        .filter(engine -> !engine.requestLog().isEmpty())
        .findFirst()
        .orElseThrow();
  }

  /** Checks that the response equals the engine's own, byte for byte, with all its headers. */
  private static void isThatOf(SimEngine engine, HttpAnswer answer) throws IOException {
    HttpAnswer own = RawClient.call(engine.port(), "POST", PATH, BODY);
    assertThat(answer.status()).isEqualTo(own.status());
    assertThat(answer.body()).isNotEmpty().isEqualTo(own.body());
    assertThat(own.head().headers()).isNotEmpty();
    for (HttpAnswer.Header header : own.head().headers()) {
      assertThat(answer.head().headers())
          .filteredOn(each -> each.name().equalsIgnoreCase(header.name()))
          .containsExactly(header);
    }
  }

  private static SplitCluster.Setup inTurns() {
    return nixl().engines(2, 1).set("prefill-policy", "round_robin");
  }

  /** Both prefill workers get a request; one fails its first request. */
  private static void anotherPrefillDoes(SplitCluster cluster, Fault fault) throws IOException {
    fail(cluster.prefills.getFirst(), 1, fault);
    for (int i = 0; i < 2; i++) {
      HttpAnswer answer = succeeds(cluster);
      assertThat(answer.header("x-pointsman-split")).isEqualTo("split");
    }
    assertThat(asked(cluster.prefills)).isEqualTo(3);
    assertThat(cluster.metric("pointsman_retries_total", "")).isEqualTo(1);
  }

  @Test
  @Tag("full")
  void anotherPrefillWorkerIsTriedAfterAnError() throws IOException {
    try (SplitCluster cluster = inTurns().start()) {
      anotherPrefillDoes(cluster, new Fault.Status(500, 0));
    }
  }

  @Test
  @Tag("full")
  void anotherPrefillWorkerIsTriedWhenOneIsBusy() throws IOException {
    try (SplitCluster cluster = inTurns().start()) {
      anotherPrefillDoes(cluster, new Fault.Status(503, 1));
      assertThat(prefillsEnded(cluster, "busy")).isEqualTo(1);
    }
  }

  @Test
  @Tag("full")
  void anotherPrefillWorkerIsTriedAfterAReset() throws IOException {
    try (SplitCluster cluster = forgetful().start()) {
      cluster.expectLeaks();
      anotherPrefillDoes(cluster, new Fault.ResetAfterBytes(0, false));
    }
  }

  /** Blocks of a lost response stay reserved until their lease ends. */
  private static SplitCluster.Setup forgetful() {
    return inTurns().options(o -> o.withLeaseSeconds(3));
  }

  @Test
  @Tag("full")
  void anotherPrefillWorkerIsTriedAfterATruncatedResponse() throws IOException {
    try (SplitCluster cluster = forgetful().start()) {
      cluster.expectLeaks();
      anotherPrefillDoes(cluster, new Fault.ResetAfterBytes(400, true));
    }
  }

  @Test
  @Tag("full")
  void anotherPrefillWorkerIsTriedAfterItsTimeout() throws IOException {
    try (SplitCluster cluster = inTurns().set("prefill-timeout", "2s").start()) {
      fail(cluster.prefills.getFirst(), 9, new Fault.Hang(0));
      for (int i = 0; i < 2; i++) {
        HttpAnswer answer = succeeds(cluster);
        assertThat(answer.header("x-pointsman-split")).isEqualTo("split");
      }
      cluster.prefills.getFirst().failures().clear();
    }
  }

  @Test
  void decodeServesAloneWhenTheOnlyPrefillFails() throws IOException {
    try (SplitCluster cluster = nixl().direct().start()) {
      fail(cluster.prefills, 9, new Fault.Status(500, 0));
      HttpAnswer answer = succeeds(cluster);
      assertThat(answer.header("x-pointsman-split")).isEqualTo("prefill_failed");
      assertThat(answer.header("x-pointsman-prefill-worker")).isNull();
      assertThat(cluster.decodes.getFirst().kvState().steps().direct()).isEqualTo(1);
      assertThat(SplitCluster.body(cluster.decodes.getFirst().requestLog().getFirst()))
          .isEqualTo(BODY);
    }
  }

  @Test
  @Tag("full")
  void theErrorOfPrefillIsReturnedIfDecodeMayNotServeAlone() throws IOException {
    try (SplitCluster cluster = nixl().engines(2, 1).set("decode-can-prefill", false).start()) {
      fail(cluster.prefills, 9, new Fault.Status(500, 0));
      HttpAnswer answer = cluster.post(PATH, BODY);
      assertThat(answer.status()).isEqualTo(500);
      assertThat(cluster.decodes.getFirst().requestLog()).isEmpty();
    }
  }

  @Test
  @Tag("full")
  void decodeServesAloneWhenAllPrefillsAreTooSlow() throws IOException {
    try (SplitCluster cluster = nixl().direct().set("prefill-timeout", "1s").start()) {
      fail(cluster.prefills, 9, new Fault.Hang(0));
      HttpAnswer answer = succeeds(cluster);
      assertThat(answer.header("x-pointsman-split")).isEqualTo("prefill_failed");
      assertThat(prefillsEnded(cluster, "timeout")).isEqualTo(1);
    }
  }

  @Test
  @Tag("full")
  void aTimeoutIsReturnedWhenAllPrefillsAreTooSlowAndNoOtherMayServe() throws IOException {
    try (SplitCluster cluster =
        nixl().set("prefill-timeout", "1s").set("decode-can-prefill", false).start()) {
      fail(cluster.prefills, 9, new Fault.Hang(0));
      HttpAnswer answer = cluster.post(PATH, BODY);
      assertThat(answer.status()).as(answer.text()).isEqualTo(504);
      assertThat(answer.text()).contains("\"code\":\"upstream_timeout\"");
      assertThat(asked(cluster.decodes)).isZero();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"nixl", "sglang"})
  @Tag("full")
  void failuresOfPrefillOpenItsBreaker(String protocol) throws IOException {
    try (SplitCluster cluster =
        SplitCluster.of(protocol, KvConnector.valueOf(protocol.toUpperCase(Locale.ROOT)))
            .set("decode-can-prefill", false)
            .top("breaker", "{failure-threshold: 3, open-for: 1h, max-ejected-share: 1}")
            .start()) {
      Worker worker = cluster.worker(cluster.prefills.getFirst());
      fail(cluster.prefills, 3, new Fault.Status(500, 0));
      for (int i = 0; i < 3; i++) {
        assertThat(worker.breaker().state()).isEqualTo(State.CLOSED);
        assertThat(cluster.post(PATH, BODY).status()).isEqualTo(500);
      }
      assertThat(worker.breaker().state()).isEqualTo(State.OPEN);
      assertThat(cluster.worker(cluster.decodes.getFirst()).breaker().state())
          .isEqualTo(State.CLOSED);
      refused(cluster.post(PATH, BODY), "none_available");
      assertThat(asked(cluster.prefills)).isEqualTo(3);
    }
  }

  @Test
  @Tag("full")
  void clientErrorsAndBusyResponsesDoNotOpenTheBreakerOfPrefill() throws IOException {
    try (SplitCluster cluster =
        nixl()
            .set("decode-can-prefill", false)
            .set("slot-wait", "off")
            .top("breaker", "{failure-threshold: 1}")
            .start()) {
      fail(cluster.prefills, 1, new Fault.Status(400, 0));
      assertThat(cluster.post(PATH, BODY).status()).isEqualTo(400);
      fail(cluster.prefills, 1, new Fault.Status(503, 1));
      assertThat(cluster.post(PATH, BODY).status()).isEqualTo(503);
      assertThat(cluster.worker(cluster.prefills.getFirst()).breaker().state())
          .isEqualTo(State.CLOSED);
    }
  }

  // Cancellation of the other request.

  /** Decode waits for blocks that never come, up to 300 s without a cancellation. */
  @Test
  @Tag("full")
  void aFailedPrefillCancelsItsDecodeAtOnce() throws IOException {
    try (SplitCluster cluster =
        SplitCluster.of("sglang", KvConnector.SGLANG)
            .engines(2, 1)
            .set("prefill-timeout", "5s")
            .top("retry", "{initial-backoff: 10m, max-backoff: 10m}")
            .start()) {
      fail(cluster.prefills, 1, new Fault.Hang(0));
      SimEngine decode = cluster.decodes.getFirst();
      RawClient client = send(cluster, LONG_STREAM);
      WaitFor.until("decode waits", WaitFor.LONG, () -> decode.state().requests().inFlight() == 1);
      WaitFor.until(
          "decode is cancelled", WaitFor.LONG, () -> decode.state().requests().inFlight() == 0);
      assertThat(cluster.router().running()).as("the request waits to be tried again").isEqualTo(1);
      assertThat(decode.state().abortedInAll()).isEqualTo(1);
      assertThat(prefillsEnded(cluster, "timeout")).isEqualTo(1);
      cluster.prefills.forEach(each -> each.failures().clear());
      client.leave();
    }
  }

  /** Prefill waits for a decode engine that never fetches, up to 300 s without a cancellation. */
  @Test
  @Tag("full")
  void aFailedDecodeCancelsItsPrefillAtOnce() throws IOException {
    try (SplitCluster cluster =
        SplitCluster.of("sglang", KvConnector.SGLANG)
            .engines(1, 2)
            .set("decode-timeout", "5s")
            .top("retry", "{initial-backoff: 10m, max-backoff: 10m}")
            .start()) {
      fail(cluster.decodes, 1, new Fault.Hang(0));
      SimEngine prefill = cluster.prefills.getFirst();
      RawClient client = send(cluster, LONG_STREAM);
      WaitFor.until(
          "prefill waits", WaitFor.LONG, () -> prefill.state().requests().inFlight() == 1);
      WaitFor.until(
          "prefill is cancelled", WaitFor.LONG, () -> prefill.state().requests().inFlight() == 0);
      assertThat(cluster.router().running()).as("the request waits to be tried again").isEqualTo(1);
      assertThat(prefill.state().abortedInAll()).isEqualTo(1);
      assertThat(prefillsEnded(cluster, "aborted")).isEqualTo(1);
      cluster.decodes.forEach(each -> each.failures().clear());
      client.leave();
    }
  }

  @Test
  @Tag("full")
  void aClientErrorFromDecodeIsReturnedAndItsPrefillCancelled() throws IOException {
    try (SplitCluster cluster = SplitCluster.of("sglang", KvConnector.SGLANG).start()) {
      fail(cluster.decodes, 1, new Fault.Status(400, 0));
      HttpAnswer answer = cluster.post(PATH, body(5, true));
      assertThat(answer.status()).isEqualTo(400);
    }
  }
}
