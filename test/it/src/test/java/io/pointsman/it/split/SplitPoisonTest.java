package io.pointsman.it.split;

import static io.pointsman.it.split.SplitFaults.BODY;
import static io.pointsman.it.split.SplitFaults.PATH;
import static io.pointsman.it.split.SplitFaults.fail;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.failure.Fault;
import io.pointsman.tool.sim.kv.KvConnector;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A request after which prefill or decode engines fail reaches two of them. */
@Tag("full")
@Timeout(180)
class SplitPoisonTest {
  private static final int ENGINES = 4;
  private static final int ALWAYS = 99;

  private static SplitCluster.Setup setup(KvConnector connector) {
    return SplitCluster.telling(connector)
        .engines(ENGINES, ENGINES)
        .direct()
        .engine(e -> e.withLinearLatency(1e6, 100))
        .set("prefill-policy", "round_robin")
        .set("decode-policy", "round_robin")
        .top("retry", "{max-attempts: 10, initial-backoff: 0ms}");
  }

  @ParameterizedTest
  @EnumSource(names = {"NIXL", "SGLANG"})
  void inPrefill(KvConnector connector) throws IOException {
    try (SplitCluster cluster = setup(connector).start()) {
      reachesTwo(cluster, cluster.prefills, new Fault.ResetAfterBytes(40, false));
      // Not computed by decode alone either.
      assertThat(cluster.decodes)
          .allMatch(each -> each.requestLog().size() <= 2 * ENGINES)
          .isNotEmpty();
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"NIXL", "SGLANG"})
  void inDecode(KvConnector connector) throws IOException {
    try (SplitCluster cluster = setup(connector).start()) {
      reachesTwo(cluster, cluster.decodes, new Fault.Status(500, 0));
    }
  }

  private static void reachesTwo(SplitCluster cluster, List<SimEngine> engines, Fault fault)
      throws IOException {
    cluster.expectLeaks();
    cluster.awaitSplit(8);
    cluster.awaitQuiet();
    List<Integer> before = new ArrayList<>();
    engines.forEach(each -> before.add(each.requestLog().size()));
    int others = SplitFaults.asked(cluster.prefills) + SplitFaults.asked(cluster.decodes);
    fail(engines, ALWAYS, fault);
    HttpAnswer answer = cluster.post(PATH, BODY);
    assertThat(answer.status()).as(answer.text()).isBetween(500, 599);
    cluster.awaitQuiet();
    int reached = 0;
    for (int i = 0; i < engines.size(); i++) {
      reached += engines.get(i).requestLog().size() > before.get(i) ? 1 : 0;
    }
    assertThat(reached).as("engines that got it").isBetween(1, 2);
    int all = SplitFaults.asked(cluster.prefills) + SplitFaults.asked(cluster.decodes);
    assertThat(all - others).as("requests to engines").isLessThanOrEqualTo(5);
    engines.forEach(each -> each.failures().clear());
  }
}
