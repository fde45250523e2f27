package io.pointsman.it.split;

import static io.pointsman.it.split.SplitFaults.BODY;
import static io.pointsman.it.split.SplitFaults.LONG_STREAM;
import static io.pointsman.it.split.SplitFaults.PATH;
import static io.pointsman.it.split.SplitFaults.asked;
import static io.pointsman.it.split.SplitFaults.fail;
import static io.pointsman.it.split.SplitFaults.nixl;
import static io.pointsman.it.split.SplitFaults.refused;
import static io.pointsman.it.split.SplitFaults.send;
import static io.pointsman.it.split.SplitFaults.slowDecode;
import static io.pointsman.it.split.SplitFaults.stream;
import static io.pointsman.it.split.SplitFaults.succeeds;
import static io.pointsman.it.split.SplitFaults.waits;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.failure.Fault;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Workers that are missing or at their limits. */
@Tag("full")
class SplitPlacesTest {
  // Missing workers.

  @Test
  void withoutPrefillDecodeServesIfItMay() throws IOException {
    try (SplitCluster cluster = nixl().direct().start()) {
      cluster.router().workers().getFirst().drain(true);
      HttpAnswer answer = succeeds(cluster);
      assertThat(answer.header("x-pointsman-split")).isEqualTo("no_prefill");
    }
  }

  @Test
  void withoutDecodePrefillServesIfItMay() throws IOException {
    try (SplitCluster cluster = nixl().direct().set("prefill-can-decode", true).start()) {
      cluster.worker(cluster.decodes.getFirst()).drain(true);
      HttpAnswer answer = succeeds(cluster);
      assertThat(answer.header("x-pointsman-split")).isEqualTo("no_decode");
    }
  }

  @Test
  void withoutDecodeTheRequestIsRefused() throws IOException {
    try (SplitCluster cluster = nixl().start()) {
      cluster.worker(cluster.decodes.getFirst()).drain(true);
      refused(cluster.post(PATH, BODY), "none_available");
      assertThat(asked(cluster.prefills)).isZero();
    }
  }

  @Test
  void withoutPrefillTheRequestIsRefusedIfDecodeMayNotServe() throws IOException {
    try (SplitCluster cluster = nixl().direct().set("decode-can-prefill", false).start()) {
      cluster.worker(cluster.prefills.getFirst()).drain(true);
      refused(cluster.post(PATH, BODY), "none_available");
      assertThat(asked(cluster.decodes)).isZero();
    }
  }

  @Test
  void anUnhealthyWorkerOfEitherRoleGetsNoRequests() throws IOException {
    try (SplitCluster cluster = nixl().engines(2, 2).start()) {
      for (SimEngine down : List.of(cluster.prefills.getFirst(), cluster.decodes.getFirst())) {
        Worker worker = cluster.worker(down);
        down.stop();
        WaitFor.until("it is known to be down", WaitFor.LONG, () -> !worker.health().healthy());
      }
      for (int i = 0; i < 4; i++) {
        assertThat(succeeds(cluster).header("x-pointsman-split")).isEqualTo("split");
      }
      assertThat(asked(cluster.prefills.subList(1, 2))).isEqualTo(4);
      assertThat(asked(cluster.decodes.subList(1, 2))).isEqualTo(4);
      assertThat(cluster.metric("pointsman_retries_total", "")).isZero();
    }
  }

  @Test
  void withoutWorkersTheRequestIsRefused() throws IOException {
    try (SplitCluster cluster = nixl().direct().set("prefill-can-decode", true).start()) {
      cluster.router().workers().forEach(each -> each.drain(true));
      refused(cluster.post(PATH, BODY), "none_available");
    }
  }

  // Workers at their limits.

  @Test
  void noPrefillStartsBeforeADecodeWorkerHasCapacity() throws Exception {
    try (SplitCluster cluster =
        nixl()
            .engine(e -> e.withLinearLatency(1e6, 20))
            .decodeLimit(1)
            .set("slot-wait", "300ms")
            .start()) {
      RawClient first = stream(cluster);
      refused(cluster.post(PATH, BODY), "all_busy");
      assertThat(cluster.prefills.getFirst().requestLog()).hasSize(1);
      first.leave();
      cluster.awaitQuiet();
    }
  }

  @Test
  void aWaitingRequestGetsTheNextFreeCapacity() throws Exception {
    try (SplitCluster cluster = slowDecode().decodeLimit(1).start()) {
      RawClient first = stream(cluster);
      RawClient second = send(cluster, BODY);
      waits(cluster, 1);
      first.leave();
      HttpAnswer answer = second.read();
      second.close();
      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      assertThat(cluster.metric("pointsman_pd_stage_seconds_count", "stage=\"slot\"")).isEqualTo(1);
    }
  }

  /** Each worker counts as busy exactly while it handles the request. */
  @Test
  void prefillsLeaseEndsWithItsResponseAndDecodesWithTheStream() throws Exception {
    try (SplitCluster cluster = slowDecode().start()) {
      Worker prefill = cluster.worker(cluster.prefills.getFirst());
      Worker decode = cluster.worker(cluster.decodes.getFirst());
      RawClient client = stream(cluster);
      assertThat(prefill.inFlight()).isZero();
      assertThat(decode.inFlight()).isEqualTo(1);
      assertThat(decode.reserved()).isZero();
      client.leave();
      WaitFor.until("decode is free", WaitFor.LONG, () -> decode.inFlight() == 0);
    }
  }

  @Test
  void concurrentPrefillsAreLimited() throws Exception {
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

  /** A busy worker gets no second attempt of a request, so waiting is useless. */
  @Test
  void theClientLearnsAtOnceThatTheOnlyWorkerIsBusy() throws IOException {
    try (SplitCluster cluster =
        nixl().set("slot-wait", "10m").set("decode-can-prefill", false).start()) {
      fail(cluster.decodes.getFirst(), 1, new Fault.Status(503, 1));
      HttpAnswer answer = cluster.post(PATH, BODY);
      assertThat(answer.status()).as(answer.text()).isEqualTo(503);
      assertThat(answer.header("retry-after")).isEqualTo("1");
      cluster.awaitQuiet();
      assertThat(cluster.prefills.getFirst().kvState().reserved().released()).isEqualTo(1);
    }
  }

  @Test
  void waitingRequestsAreServedInOrderOfArrival() throws Exception {
    try (SplitCluster cluster = slowDecode().decodeLimit(1).set("slot-wait", "10m").start()) {
      RawClient first = stream(cluster);
      List<RawClient> waiting = new ArrayList<>();
      for (int i = 1; i <= 5; i++) {
        int all = i;
        waiting.add(send(cluster, BODY.replace("{", "{\"user\":\"" + i + "\",")));
        waits(cluster, all);
      }
      first.leave();
      for (RawClient each : waiting) {
        assertThat(each.read().status()).isEqualTo(200);
        each.close();
      }
      List<String> served =
          cluster.decodes.getFirst().requestLog().stream()
              .skip(1)
              .map(each -> SplitCluster.body(each).replaceFirst(".*\"user\":\"(\\d)\".*", "$1"))
              .toList();
      assertThat(served).containsExactly("1", "2", "3", "4", "5");
    }
  }

  @Test
  void aRequestIsRefusedAtOnceIfTooManyWait() throws Exception {
    try (SplitCluster cluster =
        slowDecode().decodeLimit(1).set("slot-wait", "10m").set("max-waiting", 1).start()) {
      RawClient first = stream(cluster);
      RawClient second = send(cluster, BODY);
      waits(cluster, 1);
      refused(cluster.post(PATH, BODY), "all_busy");
      first.leave();
      assertThat(second.read().status()).isEqualTo(200);
      second.close();
    }
  }

  /** A request with a lease no longer counts as waiting, however long its response takes. */
  @Test
  void aRequestWithALeaseStopsCountingAsWaiting() throws Exception {
    try (SplitCluster cluster =
        slowDecode().decodeLimit(1).set("slot-wait", "10m").set("max-waiting", 1).start()) {
      RawClient first = stream(cluster);
      RawClient second = send(cluster, LONG_STREAM);
      waits(cluster, 1);
      first.leave();
      second.readHead();
      RawClient third = send(cluster, BODY);
      waits(cluster, 1);
      second.leave();
      assertThat(third.read().status()).isEqualTo(200);
      third.close();
    }
  }
}
