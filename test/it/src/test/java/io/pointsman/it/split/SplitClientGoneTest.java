package io.pointsman.it.split;

import static io.pointsman.it.split.SplitFaults.BODY;
import static io.pointsman.it.split.SplitFaults.PATH;
import static io.pointsman.it.split.SplitFaults.asked;
import static io.pointsman.it.split.SplitFaults.awaitHung;
import static io.pointsman.it.split.SplitFaults.body;
import static io.pointsman.it.split.SplitFaults.fail;
import static io.pointsman.it.split.SplitFaults.handovers;
import static io.pointsman.it.split.SplitFaults.nixl;
import static io.pointsman.it.split.SplitFaults.prefillsEnded;
import static io.pointsman.it.split.SplitFaults.send;
import static io.pointsman.it.split.SplitFaults.slowDecode;
import static io.pointsman.it.split.SplitFaults.stream;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.failure.Fault;
import io.pointsman.tool.sim.kv.KvConnector;
import java.io.IOException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The client leaves in each phase of its request. The cluster checks at its end that no lease is
 * open and no block is reserved.
 */
@Tag("full")
class SplitClientGoneTest {
  @Test
  void prefillIsAbortedWhenTheClientLeaves() throws IOException {
    try (SplitCluster cluster = nixl().engine(e -> e.withLinearLatency(4, 1)).start()) {
      SimEngine prefill = cluster.prefills.getFirst();
      RawClient client = send(cluster, BODY);
      WaitFor.until("prefill runs", WaitFor.LONG, () -> prefill.state().requests().inFlight() == 1);
      client.leave();
      WaitFor.until(
          "prefill is aborted", WaitFor.LONG, () -> prefill.state().requests().inFlight() == 0);
      cluster.awaitQuiet();
      assertThat(cluster.decodes.getFirst().requestLog()).isEmpty();
      assertThat(prefillsEnded(cluster, "aborted")).isEqualTo(1);
    }
  }

  @Test
  void blocksAreReleasedWhenTheClientLeavesDuringTheTransfer() throws IOException {
    try (SplitCluster cluster = nixl().options(o -> o.withLink(1_000_000_000L, 1)).start()) {
      SimEngine decode = cluster.decodes.getFirst();
      RawClient client = send(cluster, BODY);
      WaitFor.until(
          "decode fetches", WaitFor.LONG, () -> decode.kvState().transfers().inProgress() == 1);
      client.leave();
      cluster.awaitQuiet();
    }
  }

  /** Decode has taken the request and hangs; another worker releases the blocks of prefill. */
  @ParameterizedTest
  @EnumSource(names = {"NIXL", "NIXL_PUSH", "MOONCAKE", "MORIIO_WRITE", "LMCACHE", "ORCHESTRATED"})
  void blocksAreReleasedWhenTheClientOfAHangingStreamLeaves(KvConnector connector)
      throws IOException {
    try (SplitCluster cluster =
        SplitCluster.telling(connector)
            .engines(1, 2)
            .direct()
            .set("decode-timeout", "5m")
            .start()) {
      cluster.awaitSplit(8);
      double prefilled = prefillsEnded(cluster, "done");
      double released = handovers(cluster, "released");
      fail(cluster.decodes, 1, new Fault.Hang(0));
      RawClient client = send(cluster, body(5, true));
      awaitHung(cluster.decodes);
      WaitFor.until(
          "prefill has answered",
          WaitFor.LONG,
          () -> prefillsEnded(cluster, "done") == prefilled + 1);
      client.leave();
      WaitFor.until(
          () -> "decode frees its blocks: " + cluster.state(),
          WaitFor.LONG,
          () -> handovers(cluster, "released") == released + 1);
      cluster.awaitQuiet();
    }
  }

  /**
   * The response head comes only with the whole response. The router must assume that decode has
   * the blocks; cancelling it releases them.
   */
  @Test
  void noReleaseRequestFollowsWhenTheClientOfAWholeResponseLeaves() throws IOException {
    try (SplitCluster cluster = slowDecode().engines(1, 2).start()) {
      RawClient client = send(cluster, body(20_000, false));
      WaitFor.until(
          "decode generates",
          WaitFor.LONG,
          () -> cluster.decodes.stream().anyMatch(d -> d.state().sequences().running() == 1));
      client.leave();
      cluster.awaitQuiet();
      assertThat(asked(cluster.decodes)).isEqualTo(1);
      assertThat(handovers(cluster, "released")).isEqualTo(1);
    }
  }

  @Test
  void decodeIsAbortedWhenTheClientLeavesDuringTheStream() throws IOException {
    try (SplitCluster cluster = slowDecode().start()) {
      RawClient client = RawClient.connect(cluster.port());
      client.send("POST", PATH, body(20_000, true)).readHead();
      client.readSome(new byte[500], 500);
      client.leave();
      cluster.awaitQuiet();
      assertThat(cluster.decodes.getFirst().state().abortedInAll()).isEqualTo(1);
    }
  }

  /** Prefill has answered, its blocks are in transfer, and decode has no request yet. */
  @Test
  void decodeReleasesTheBlocksWhenTheClientLeavesBetweenTheSteps() throws IOException {
    try (SplitCluster cluster =
        SplitCluster.of("lmcache", KvConnector.LMCACHE)
            .set("notification-address", "127.0.0.1:0")
            .set("notification-wait", "10s")
            .start()) {
      SimEngine prefill = cluster.prefills.getFirst();
      SimEngine decode = cluster.decodes.getFirst();
      RawClient client = RawClient.connect(cluster.port());
      client.send("POST", PATH, body(50, true));
      WaitFor.until(
          "the blocks have come",
          WaitFor.LONG,
          () -> prefill.kvState().transfers().finished() == 1);
      WaitFor.until("prefill has ended", WaitFor.LONG, () -> prefillsEnded(cluster, "done") == 1);
      assertThat(decode.requestLog()).isEmpty();
      client.leave();
      WaitFor.until("decode is asked", WaitFor.LONG, () -> decode.requestLog().size() == 1);
      assertThat(SplitCluster.body(decode.requestLog().getFirst()))
          .contains("\"max_tokens\":1,\"stream\":false");
      cluster.awaitQuiet();
      assertThat(handovers(cluster, "released")).isEqualTo(1);
    }
  }

  /** The decode worker has failed, and the next attempt is delayed. */
  @Test
  void blocksAreReleasedWhenTheClientLeavesBetweenDecodeAttempts() throws IOException {
    try (SplitCluster cluster =
        nixl().engines(1, 2).top("retry", "{initial-backoff: 10m, max-backoff: 10m}").start()) {
      fail(cluster.decodes, 1, new Fault.Status(500, 0));
      RawClient client = send(cluster, BODY);
      WaitFor.until(
          "a decode worker has failed",
          WaitFor.LONG,
          () -> cluster.metric("pointsman_retries_total", "") == 1);
      cluster.decodes.forEach(each -> each.failures().clear());
      client.leave();
      cluster.awaitQuiet();
      assertThat(cluster.prefills.getFirst().kvState().reserved().released()).isEqualTo(1);
    }
  }

  @Test
  void nothingIsLeftWhenAWaitingClientLeaves() throws IOException {
    try (SplitCluster cluster = slowDecode().decodeLimit(1).start()) {
      RawClient first = stream(cluster);
      RawClient second = send(cluster, BODY);
      WaitFor.until(
          "it waits", WaitFor.LONG, () -> cluster.metric("pointsman_pd_waiting", "") == 1);
      second.leave();
      WaitFor.until("it is gone", WaitFor.LONG, () -> cluster.router().running() == 1);
      assertThat(cluster.metric("pointsman_pd_waiting", "")).isZero();
      first.leave();
      cluster.awaitQuiet();
      assertThat(cluster.prefills.getFirst().requestLog()).hasSize(1);
    }
  }
}
