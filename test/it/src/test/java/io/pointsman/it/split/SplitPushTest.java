package io.pointsman.it.split;

import static io.pointsman.it.split.SplitFaults.BODY;
import static io.pointsman.it.split.SplitFaults.PATH;
import static io.pointsman.it.split.SplitFaults.awaitHung;
import static io.pointsman.it.split.SplitFaults.fail;
import static io.pointsman.it.split.SplitFaults.succeeds;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.failure.Fault;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.RequestLog.Logged;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * {@code nixl} with push: ids of hand-overs, and restarted prefill engines. The cluster checks at
 * its end that no lease is open, no block is reserved or leaked, and no field was wrong.
 */
@Tag("full")
class SplitPushTest {
  private static final List<String> SAME_ID = List.of("x-request-id: same");

  private static RawClient sendSame(SplitCluster cluster) throws IOException {
    byte[] body = BODY.getBytes(StandardCharsets.UTF_8);
    return RawClient.connect(cluster.port()).send("POST", PATH, body, SAME_ID);
  }

  private static void servedUnderItsId(RawClient client) throws IOException {
    try (client) {
      HttpAnswer answer = client.read();
      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
      assertThat(answer.header("x-request-id")).isEqualTo("same");
    }
  }

  /** The engine's ids of its requests. */
  private static List<String> ids(SimEngine engine) {
    return engine.requestLog().stream().map(SplitPushTest::id).toList();
  }

  private static String id(Logged request) {
    return request.headers().stream()
        .filter(header -> header.getKey().equalsIgnoreCase("x-request-id"))
        .map(header -> header.getValue())
        .findFirst()
        .orElseThrow();
  }

  @Test
  void twoClientsCanUseOneIdConcurrently() throws IOException {
    try (SplitCluster cluster = SplitCluster.telling(KvConnector.NIXL_PUSH).start()) {
      cluster.awaitSplit(2);
      SimEngine prefill = cluster.prefills.getFirst();
      fail(prefill, 2, new Fault.Hang(0));
      RawClient one = sendSame(cluster);
      RawClient other = sendSame(cluster);
      WaitFor.until("both wait", WaitFor.LONG, () -> prefill.state().requests().inFlight() == 2);
      prefill.resumeHung();
      servedUnderItsId(one);
      servedUnderItsId(other);
      List<String> ids = ids(prefill);
      assertThat(ids.subList(ids.size() - 2, ids.size())).doesNotHaveDuplicates();
    }
  }

  @Test
  void aRetryOnTheSamePrefillWorkerHasAnotherId() throws IOException {
    try (SplitCluster cluster =
        SplitCluster.telling(KvConnector.NIXL_PUSH)
            .engines(1, 2)
            .set("decode-timeout", "3s")
            .start()) {
      cluster.awaitSplit(2);
      int before = cluster.prefills.getFirst().requestLog().size();
      fail(cluster.decodes, 1, new Fault.Hang(0));
      RawClient client = sendSame(cluster);
      awaitHung(cluster.decodes);
      servedUnderItsId(client);
      List<String> ids = ids(cluster.prefills.getFirst());
      assertThat(ids.subList(before, ids.size())).hasSize(2).doesNotHaveDuplicates();
    }
  }

  /**
   * It then has another engine id and port, perhaps unknown to the router. Blocks for a decode
   * worker that was sent to the old one end with their lease.
   */
  @Test
  void aRestartedPrefillEngineIsDistinguishedFromTheOldOne() throws IOException {
    try (SplitCluster cluster =
        SplitCluster.telling(KvConnector.NIXL_PUSH)
            .engines(1, 2)
            .set("decode-timeout", "5s")
            .options(o -> o.withLeaseSeconds(2))
            .start()) {
      cluster.expectWrongFields();
      cluster.awaitSplit(2);
      SimEngine prefill = cluster.prefills.getFirst();
      prefill.stop();
      prefill.restart();
      cluster.awaitWell();
      assertThat(succeeds(cluster).header("x-pointsman-split")).isEqualTo("split");
      cluster.awaitSplit(2); // discards the earlier wrong fields
      servedUnderItsId(sendSame(cluster));
      assertThat(ids(prefill).getLast()).as("sent together with decode's").isNotEqualTo("same");
      assertThat(wrongFields(cluster)).isZero();
    }
  }

  private static long wrongFields(SplitCluster cluster) {
    return cluster.decodes.stream().mapToLong(e -> e.kvState().fieldErrorsInAll()).sum();
  }
}
