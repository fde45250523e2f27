package io.pointsman.it.split;

import static io.pointsman.it.split.SplitProtocolsTest.WORDS;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.Answer;
import io.pointsman.it.support.Await;
import io.pointsman.it.support.RawClient;
import io.pointsman.sim.SimEngine;
import io.pointsman.sim.failure.Failure;
import io.pointsman.sim.failure.Fault;
import io.pointsman.sim.kv.KvConnector;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Each failure of one of the two requests, injected. The cluster checks at its end that no lease is
 * open and that nothing is held.
 */
class SplitFailuresTest {
  private static final String PATH = "/v1/completions";

  private static String body(int tokens, boolean stream) {
    return "{\"model\":\"sim\",\"prompt\":\"%s\",\"max_tokens\":%d,\"stream\":%b}"
        .formatted(WORDS, tokens, stream);
  }

  private static final String BODY = body(5, false);

  private static SplitCluster.Setup nixl() {
    return SplitCluster.of("nixl", KvConnector.NIXL);
  }

  private static void fail(SimEngine engine, int times, Fault fault) {
    engine.failures().add(Failure.times(times, fault).on("/v1/completions"));
  }

  private static long prefills(SplitCluster cluster) {
    return cluster.prefills.stream().mapToLong(e -> e.kvState().legs().prefill()).sum();
  }

  // Prefill fails.

  @ParameterizedTest
  @ValueSource(ints = {400, 404, 422})
  void anErrorOfTheClientsComesFromPrefillOnce(int status) throws IOException {
    try (SplitCluster cluster = nixl().engines(2, 2).start()) {
      cluster.prefills.forEach(each -> fail(each, 9, new Fault.Status(status, 0)));
      Answer answer = cluster.post(PATH, BODY);
      assertThat(answer.status()).isEqualTo(status);
      assertThat(answer.text()).startsWith("{\"error\":");
      assertThat(cluster.prefills.stream().mapToInt(e -> e.requestLog().size()).sum())
          .as("asked once")
          .isEqualTo(1);
      assertThat(cluster.decodes).allMatch(e -> e.requestLog().isEmpty());
      assertThat(cluster.metric("pointsman_split_prefills_total", "end=\"client_error\""))
          .isEqualTo(1);
    }
  }

  private static SplitCluster.Setup inTurns() {
    return nixl().engines(2, 1).set("prefill-policy", "round_robin");
  }

  /** Both prefill workers get a request; one of them fails its first one. */
  private static void anotherPrefillDoes(SplitCluster cluster, Fault fault) throws IOException {
    fail(cluster.prefills.getFirst(), 1, fault);
    for (int i = 0; i < 2; i++) {
      Answer answer = cluster.post(PATH, BODY);
      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      assertThat(answer.header("x-pointsman-split")).isEqualTo("split");
    }
    assertThat(cluster.prefills.stream().mapToInt(e -> e.requestLog().size()).sum()).isEqualTo(3);
    assertThat(cluster.metric("pointsman_retries_total", "")).isEqualTo(1);
  }

  @Test
  void anotherPrefillWorkerIsTriedAfterAnError() throws IOException {
    try (SplitCluster cluster = inTurns().start()) {
      anotherPrefillDoes(cluster, new Fault.Status(500, 0));
    }
  }

  @Test
  void anotherPrefillWorkerIsTriedWhenOneIsBusy() throws IOException {
    try (SplitCluster cluster = inTurns().start()) {
      anotherPrefillDoes(cluster, new Fault.Status(503, 1));
      assertThat(cluster.metric("pointsman_split_prefills_total", "end=\"busy\"")).isEqualTo(1);
    }
  }

  @Test
  void anotherPrefillWorkerIsTriedAfterAReset() throws IOException {
    try (SplitCluster cluster = forgetful().start()) {
      cluster.expectLeaks();
      anotherPrefillDoes(cluster, new Fault.ResetAfterBytes(0, false));
    }
  }

  /** What was computed for an answer that is lost is held until its lease ends. */
  private static SplitCluster.Setup forgetful() {
    return inTurns().options(o -> o.withLease(1));
  }

  @Test
  void anotherPrefillWorkerIsTriedWhenAnAnswerIsCutOff() throws IOException {
    try (SplitCluster cluster = forgetful().start()) {
      cluster.expectLeaks();
      anotherPrefillDoes(cluster, new Fault.ResetAfterBytes(400, true));
    }
  }

  @Test
  void anotherPrefillWorkerIsTriedAfterItsTimeout() throws IOException {
    try (SplitCluster cluster = inTurns().set("prefill-timeout", "2s").start()) {
      fail(cluster.prefills.getFirst(), 9, new Fault.Hang(0));
      for (int i = 0; i < 2; i++) {
        Answer answer = cluster.post(PATH, BODY);
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        assertThat(answer.header("x-pointsman-split")).isEqualTo("split");
      }
      cluster.prefills.getFirst().failures().clear();
    }
  }

  @Test
  void decodeServesAloneWhenAllPrefillsFail() throws IOException {
    try (SplitCluster cluster = nixl().engines(2, 1).direct().start()) {
      cluster.prefills.forEach(each -> fail(each, 9, new Fault.Status(500, 0)));
      Answer answer = cluster.post(PATH, BODY);
      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      assertThat(answer.header("x-pointsman-split")).isEqualTo("prefill_failed");
      assertThat(answer.header("x-pointsman-prefill-worker")).isNull();
      assertThat(cluster.decodes.getFirst().kvState().legs().direct()).isEqualTo(1);
      assertThat(SplitCluster.body(cluster.decodes.getFirst().requestLog().getFirst()))
          .isEqualTo(BODY);
    }
  }

  @Test
  void whereDecodeMayNotServeAloneTheErrorOfPrefillIsTold() throws IOException {
    try (SplitCluster cluster = nixl().engines(2, 1).set("decode-serves-whole", false).start()) {
      cluster.prefills.forEach(each -> fail(each, 9, new Fault.Status(500, 0)));
      Answer answer = cluster.post(PATH, BODY);
      assertThat(answer.status()).isEqualTo(500);
      assertThat(cluster.decodes.getFirst().requestLog()).isEmpty();
    }
  }

  // Decode fails before its first byte.

  @Test
  void anotherDecodeWorkerTakesTheSameHandOver() throws IOException {
    try (SplitCluster cluster = nixl().engines(1, 2).set("decode-policy", "round_robin").start()) {
      fail(cluster.decodes.getFirst(), 1, new Fault.Status(500, 0));
      for (int i = 0; i < 2; i++) {
        Answer answer = cluster.post(PATH, BODY);
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      }
      assertThat(prefills(cluster)).as("one prefill for each request").isEqualTo(2);
      assertThat(cluster.decodes.stream().mapToInt(e -> e.requestLog().size()).sum()).isEqualTo(3);
      assertThat(cluster.metric("pointsman_split_handovers_total", "end=\"retaken\"")).isEqualTo(1);
    }
  }

  @Test
  void aDecodeWorkerThatFailsForGoodLeavesNothingHeld() throws IOException {
    try (SplitCluster cluster = nixl().set("decode-serves-whole", false).start()) {
      fail(cluster.decodes.getFirst(), 1, new Fault.Status(500, 0));
      Answer answer = cluster.post(PATH, BODY);
      assertThat(answer.status()).isEqualTo(500);
      cluster.awaitQuiet();
      assertThat(cluster.prefills.getFirst().kvState().held().released()).isEqualTo(1);
      assertThat(cluster.metric("pointsman_split_handovers_total", "end=\"released\""))
          .isEqualTo(1);
    }
  }

  @Test
  void anotherDecodeWorkerTakesTheHandOverOfOneThatCannotBeReached() throws IOException {
    try (SplitCluster cluster = nixl().engines(1, 2).start()) {
      SimEngine dead = cluster.decodes.getFirst();
      dead.refuse();
      for (int i = 0; i < 3; i++) {
        Answer answer = cluster.post(PATH, BODY);
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      }
      assertThat(prefills(cluster)).isEqualTo(3);
      assertThat(cluster.decodes.getLast().kvState().legs().decode()).isEqualTo(3);
      dead.accept();
    }
  }

  // The other leg is cancelled.

  @Test
  void aFailedPrefillCancelsItsDecodeAtOnce() throws IOException {
    try (SplitCluster cluster =
        SplitCluster.of("sglang", KvConnector.SGLANG).set("decode-serves-whole", false).start()) {
      fail(cluster.prefills.getFirst(), 9, new Fault.Status(500, 0));
      Answer answer = cluster.post(PATH, body(5, true));
      assertThat(answer.status()).isEqualTo(500);
      SimEngine decode = cluster.decodes.getFirst();
      Await.until(
          () -> "decode was cancelled: " + decode.state(),
          Await.LONG,
          () -> decode.state().requests().inFlight() == 0);
      assertThat(decode.kvState().legs().decode()).isLessThanOrEqualTo(1);
      cluster.prefills.getFirst().failures().clear();
    }
  }

  @Test
  void aFailedDecodeCancelsItsPrefillAtOnce() throws IOException {
    try (SplitCluster cluster = SplitCluster.of("sglang", KvConnector.SGLANG).start()) {
      fail(cluster.decodes.getFirst(), 1, new Fault.Status(400, 0));
      Answer answer = cluster.post(PATH, body(5, true));
      assertThat(answer.status()).isEqualTo(400);
    }
  }

  // The client leaves.

  @Test
  void whenTheClientLeavesInPrefillItIsAborted() throws IOException {
    try (SplitCluster cluster = nixl().engine(e -> e.withLinearLatency(4, 1)).start()) {
      SimEngine prefill = cluster.prefills.getFirst();
      RawClient client = RawClient.connect(cluster.port());
      client.send("POST", PATH, BODY);
      Await.until("prefill runs", Await.LONG, () -> prefill.state().requests().inFlight() == 1);
      client.leave();
      Await.until(
          "prefill is aborted", Await.LONG, () -> prefill.state().requests().inFlight() == 0);
      cluster.awaitQuiet();
      assertThat(cluster.decodes.getFirst().requestLog()).isEmpty();
      assertThat(cluster.metric("pointsman_split_prefills_total", "end=\"aborted\"")).isEqualTo(1);
    }
  }

  @Test
  void whenTheClientLeavesWhileDecodeFetchesTheBlocksAreFreed() throws IOException {
    try (SplitCluster cluster = nixl().options(o -> o.withLink(1_000_000_000L, 1)).start()) {
      SimEngine decode = cluster.decodes.getFirst();
      RawClient client = RawClient.connect(cluster.port());
      client.send("POST", PATH, BODY);
      Await.until(
          "decode fetches", Await.LONG, () -> decode.kvState().transfers().inProgress() == 1);
      client.leave();
      cluster.awaitQuiet();
    }
  }

  @Test
  void whenTheClientLeavesWithinTheStreamDecodeIsAborted() throws IOException {
    try (SplitCluster cluster = nixl().engine(e -> e.withLinearLatency(1e6, 20)).start()) {
      RawClient client = RawClient.connect(cluster.port());
      client.send("POST", PATH, body(20_000, true)).readHead();
      client.readSome(new byte[500], 500);
      client.leave();
      cluster.awaitQuiet();
      assertThat(cluster.decodes.getFirst().state().abortedInAll()).isEqualTo(1);
    }
  }

  /** Prefill has answered, its blocks are on their way, decode has not been asked. */
  @Test
  void whenTheClientLeavesBetweenTheTwoDecodeIsSentToFreeTheBlocks() throws IOException {
    try (SplitCluster cluster =
        SplitCluster.of("lmcache", KvConnector.LMCACHE)
            .set("notification-address", "127.0.0.1:0")
            .set("notification-wait", "10m")
            .start()) {
      SimEngine prefill = cluster.prefills.getFirst();
      SimEngine decode = cluster.decodes.getFirst();
      RawClient client = RawClient.connect(cluster.port());
      client.send("POST", PATH, body(50, true));
      Await.until(
          "the blocks have come", Await.LONG, () -> prefill.kvState().transfers().finished() == 1);
      Await.until(
          "prefill has ended",
          Await.LONG,
          () -> cluster.metric("pointsman_split_prefills_total", "end=\"done\"") == 1);
      assertThat(decode.requestLog()).isEmpty();
      client.leave();
      Await.until("decode is asked", Await.LONG, () -> decode.requestLog().size() == 1);
      assertThat(SplitCluster.body(decode.requestLog().getFirst()))
          .contains("\"max_tokens\":1,\"stream\":false");
      cluster.awaitQuiet();
      assertThat(cluster.metric("pointsman_split_handovers_total", "end=\"released\""))
          .isEqualTo(1);
    }
  }

  /** The decode worker has failed, and the next one is asked only after a while. */
  @Test
  void whenTheClientLeavesBetweenTwoDecodeWorkersTheBlocksAreFreed() throws IOException {
    try (SplitCluster cluster =
        nixl().engines(1, 2).top("retry", "{initial-backoff: 10m, max-backoff: 10m}").start()) {
      cluster.decodes.forEach(each -> fail(each, 1, new Fault.Status(500, 0)));
      RawClient client = RawClient.connect(cluster.port());
      client.send("POST", PATH, BODY);
      Await.until(
          "a decode worker has failed",
          Await.LONG,
          () -> cluster.metric("pointsman_retries_total", "") == 1);
      cluster.decodes.forEach(each -> each.failures().clear());
      client.leave();
      cluster.awaitQuiet();
      assertThat(cluster.prefills.getFirst().kvState().held().released()).isEqualTo(1);
    }
  }

  @Test
  void whenTheClientLeavesWhileItWaitsForAPlaceNothingIsLeft() throws IOException {
    try (SplitCluster cluster =
        nixl().engine(e -> e.withLinearLatency(1e6, 20)).decodeLimit(1).start()) {
      RawClient first = RawClient.connect(cluster.port());
      first.send("POST", PATH, body(20_000, true)).readHead();
      RawClient second = RawClient.connect(cluster.port());
      second.send("POST", PATH, BODY);
      Await.until("it waits", Await.LONG, () -> cluster.router().running() == 2);
      second.leave();
      Await.until("it is gone", Await.LONG, () -> cluster.router().running() == 1);
      first.leave();
      cluster.awaitQuiet();
      assertThat(cluster.prefills.getFirst().requestLog()).hasSize(1);
    }
  }

  // Nobody is there.

  @Test
  void withoutPrefillDecodeServesIfItMay() throws IOException {
    try (SplitCluster cluster = nixl().direct().start()) {
      cluster.router().workers().getFirst().drain(true);
      Answer answer = cluster.post(PATH, BODY);
      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      assertThat(answer.header("x-pointsman-split")).isEqualTo("no_prefill");
    }
  }

  @Test
  void withoutDecodePrefillServesIfItMay() throws IOException {
    try (SplitCluster cluster = nixl().direct().set("prefill-serves-whole", true).start()) {
      cluster.worker(cluster.decodes.getFirst()).drain(true);
      Answer answer = cluster.post(PATH, BODY);
      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      assertThat(answer.header("x-pointsman-split")).isEqualTo("no_decode");
    }
  }

  @Test
  void withoutDecodeTheRequestIsRefused() throws IOException {
    try (SplitCluster cluster = nixl().start()) {
      cluster.worker(cluster.decodes.getFirst()).drain(true);
      Answer answer = cluster.post(PATH, BODY);
      assertThat(answer.status()).isEqualTo(503);
      assertThat(answer.header("retry-after")).isNotNull();
      assertThat(answer.text()).startsWith("{\"error\":{\"message\":");
      assertThat(cluster.prefills.getFirst().requestLog()).isEmpty();
    }
  }

  // Places.

  @Test
  void noPrefillIsSpentBeforeADecodePlaceIsFree() throws Exception {
    try (SplitCluster cluster =
        nixl()
            .engine(e -> e.withLinearLatency(1e6, 20))
            .decodeLimit(1)
            .set("slot-wait", "300ms")
            .start()) {
      RawClient first = RawClient.connect(cluster.port());
      first.send("POST", PATH, body(20_000, true)).readHead();
      Answer second = cluster.post(PATH, BODY);
      assertThat(second.status()).isEqualTo(503);
      assertThat(second.header("retry-after")).isNotNull();
      assertThat(cluster.prefills.getFirst().requestLog()).hasSize(1);
      first.leave();
      cluster.awaitQuiet();
    }
  }

  @Test
  void aRequestThatWaitsGetsThePlaceThatBecomesFree() throws Exception {
    try (SplitCluster cluster =
        nixl().engine(e -> e.withLinearLatency(1e6, 20)).decodeLimit(1).start()) {
      RawClient first = RawClient.connect(cluster.port());
      first.send("POST", PATH, body(20_000, true)).readHead();
      RawClient second = RawClient.connect(cluster.port());
      second.send("POST", PATH, BODY);
      Await.until("it waits", Await.LONG, () -> cluster.router().running() == 2);
      first.leave();
      Answer answer = second.read();
      second.close();
      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      assertThat(cluster.metric("pointsman_split_stage_seconds_count", "stage=\"slot\""))
          .isEqualTo(1);
    }
  }

  @Test
  void prefillsAtOnceAreLimited() throws Exception {
    try (SplitCluster cluster =
        nixl().engine(e -> e.withLinearLatency(400, 1)).set("max-prefills", 1).start()) {
      RawClient[] clients = new RawClient[4];
      for (int i = 0; i < clients.length; i++) {
        clients[i] = RawClient.connect(cluster.port());
        clients[i].send("POST", PATH, BODY);
      }
      for (RawClient client : clients) {
        assertThat(client.read().status()).isEqualTo(200);
        client.close();
      }
      assertThat(cluster.prefills.getFirst().state().requests().maxInFlight()).isEqualTo(1);
    }
  }

  /** A busy worker gets no second attempt of a request: there is nothing to wait for. */
  @Test
  void whenTheOnlyWorkerHasSaidThatItIsBusyTheClientHearsItAtOnce() throws IOException {
    try (SplitCluster cluster =
        nixl()
            .options(o -> o.withLease(1))
            .set("slot-wait", "10m")
            .set("decode-serves-whole", false)
            .start()) {
      fail(cluster.decodes.getFirst(), 1, new Fault.Status(503, 7));
      Answer answer = cluster.post(PATH, BODY);
      assertThat(answer.status()).as(answer.text()).isEqualTo(503);
      assertThat(answer.header("retry-after")).isNotNull();
      cluster.expectLeaks();
    }
  }

  // The lease of a hand-over.

  @Test
  void aHandOverWhoseLeaseIsOverIsNotTaken() throws IOException {
    try (SplitCluster cluster =
        nixl()
            .engines(1, 2)
            .options(o -> o.withLease(1))
            .set("lease", "1ms")
            .top("retry", "{initial-backoff: 50ms, max-backoff: 50ms}")
            .start()) {
      cluster.expectLeaks();
      cluster.decodes.forEach(each -> fail(each, 1, new Fault.Status(500, 0)));
      Answer answer = cluster.post(PATH, BODY);
      assertThat(answer.status()).as(answer.text()).isIn(200, 500);
      assertThat(cluster.metric("pointsman_split_handovers_total", "end=\"recomputed\""))
          .isGreaterThanOrEqualTo(1);
      assertThat(prefills(cluster)).isGreaterThanOrEqualTo(2);
    }
  }
}
