package io.pointsman.it.split;

import static io.pointsman.it.split.SplitFaults.BODY;
import static io.pointsman.it.split.SplitFaults.awaitHung;
import static io.pointsman.it.split.SplitFaults.fail;
import static io.pointsman.it.split.SplitFaults.goOnWith;
import static io.pointsman.it.split.SplitFaults.prefillsEnded;
import static io.pointsman.it.split.SplitFaults.send;
import static io.pointsman.it.split.SplitFaults.stream;
import static io.pointsman.it.split.SplitFaults.succeeds;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.SplitFault;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.failure.Fault;
import io.pointsman.tool.sim.kv.KvConnector;
import java.io.IOException;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Every protocol under every fault. After each, nothing is in flight, no lease is open, and no
 * block is reserved. Blocks are left to their lease only if no engine can release them. No engine
 * got a wrong field, and the next request is split and served.
 */
@Execution(ExecutionMode.CONCURRENT)
@Timeout(300)
@Tag("full")
class SplitFaultMatrixTest {
  /**
   * Protocols without a name for the blocks when prefill's response is lost; their lease releases
   * them.
   */
  private static final Set<KvConnector> NAMED_BY_ANSWER =
      EnumSet.of(
          KvConnector.NIXL,
          KvConnector.P2P_NCCL,
          KvConnector.MORIIO_READ,
          KvConnector.ORCHESTRATED);

  /** Protocols with concurrent requests where prefill does not wait for decode. */
  private static final Set<KvConnector> AHEAD_OF_DECODE =
      EnumSet.of(KvConnector.NIXL_PUSH, KvConnector.MOONCAKE, KvConnector.MORIIO_WRITE);

  /** Faults after which a request that decode may have is not sent again. */
  private static final Set<SplitFault> NOT_ASKED_AGAIN =
      EnumSet.of(
          SplitFault.DECODE_FAILS, SplitFault.DECODE_HANGS, SplitFault.CLIENT_LEAVES_BETWEEN);

  /** Faults that need a timeout or a pause. */
  private static final Set<SplitFault> ELSEWHERE =
      EnumSet.of(
          SplitFault.PREFILL_HANGS, SplitFault.DECODE_HANGS, SplitFault.CLIENT_LEAVES_BETWEEN);

  private static boolean atOnce(KvConnector connector) {
    return AHEAD_OF_DECODE.contains(connector) || connector == KvConnector.SGLANG;
  }

  /** Two engines of each role; prompts take no time, decode makes 100 tokens/s. */
  private static SplitCluster.Setup setup(KvConnector connector) {
    return SplitCluster.telling(connector)
        .engines(2, 2)
        .direct()
        .engine(e -> e.withLinearLatency(1e6, 100))
        .set("prefill-policy", "round_robin")
        .set("decode-policy", "round_robin")
        .set("prefill-can-decode", false)
        .top("breaker", "{failure-threshold: 1000}")
        .top("health", "{interval: 1s, max-retry: 500ms}")
        .options(connector == KvConnector.P2P_NCCL ? o -> o.withLeaseSeconds(15) : o -> o);
  }

  /**
   * Number of hand-overs left with decode, because a second request for them might wait forever.
   */
  private static int left(KvConnector connector, SplitFault fault) {
    return connector == KvConnector.P2P_NCCL && NOT_ASKED_AGAIN.contains(fault) ? 1 : 0;
  }

  /** Timeouts are long, because an early timeout would be another fault. */
  @ParameterizedTest
  @EnumSource
  void noFaultLeavesAnything(KvConnector connector) throws IOException {
    try (SplitCluster cluster =
        setup(connector).set("prefill-timeout", "2m").set("decode-timeout", "2m").start()) {
      cluster.awaitSplit(8);
      for (SplitFault fault : SplitFault.values()) {
        if (!ELSEWHERE.contains(fault)
            && !(fault == SplitFault.PREFILL_BREAKS_OFF && NAMED_BY_ANSWER.contains(connector))) {
          cluster.awaitSplit(2); // NIXL's prefill engines must report again that they push
          strike(cluster, connector, fault);
        }
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void aHangingPrefillLeavesNothing(KvConnector connector) throws IOException {
    hangs(connector, SplitFault.PREFILL_HANGS, "2s", "2m");
  }

  @ParameterizedTest
  @EnumSource
  void aHangingDecodeLeavesNothing(KvConnector connector) throws IOException {
    hangs(connector, SplitFault.DECODE_HANGS, "2m", "2s");
  }

  private static void hangs(
      KvConnector connector, SplitFault fault, String prefillTimeout, String decodeTimeout)
      throws IOException {
    SplitCluster.Setup setup = setup(connector);
    try (SplitCluster cluster =
        setup.set("prefill-timeout", prefillTimeout).set("decode-timeout", decodeTimeout).start()) {
      cluster.awaitSplit(8);
      strike(cluster, connector, fault);
    }
  }

  /** The next attempt follows only after ten minutes. */
  @ParameterizedTest
  @EnumSource
  void aClientThatLeavesBetweenTheStepsLeavesNothing(KvConnector connector) throws IOException {
    try (SplitCluster cluster =
        setup(connector).top("retry", "{initial-backoff: 10m, max-backoff: 10m}").start()) {
      cluster.awaitSplit(8);
      double before = cluster.metric("pointsman_retries_total", "");
      RawClient client = failDecode(cluster, connector);
      WaitFor.until(
          "it waits to be tried again",
          WaitFor.LONG,
          () -> cluster.metric("pointsman_retries_total", "") == before + 1);
      client.leave();
      check(cluster, connector, SplitFault.CLIENT_LEAVES_BETWEEN);
    }
  }

  /** The router does not know a name for the reserved blocks. */
  @ParameterizedTest
  @EnumSource(names = {"NIXL", "P2P_NCCL", "MORIIO_READ", "ORCHESTRATED"})
  void blocksOfALostResponseEndWithTheirLease(KvConnector connector) throws IOException {
    assertThat(NAMED_BY_ANSWER).contains(connector);
    try (SplitCluster cluster = setup(connector).options(o -> o.withLeaseSeconds(2)).start()) {
      cluster.expectLeaks();
      cluster.awaitSplit(8);
      inject(cluster, connector, SplitFault.PREFILL_BREAKS_OFF);
      cluster.awaitQuiet();
      assertThat(cluster.leaked()).as(cluster.state()).isEqualTo(1);
      assertThat(succeeds(cluster).header("x-pointsman-split")).isEqualTo("split");
    }
  }

  /** Activates a fault, checks that it occurred, and checks the state that it leaves. */
  private static void strike(SplitCluster cluster, KvConnector connector, SplitFault fault)
      throws IOException {
    Map<Seen, Double> before = new EnumMap<>(Seen.class);
    for (Seen each : Seen.values()) {
      before.put(each, each.count(cluster));
    }
    inject(cluster, connector, fault);
    Seen seen = Seen.of(fault);
    if (seen != null) {
      WaitFor.until(
          () -> fault + " is seen: " + cluster.state(),
          WaitFor.LONG,
          () -> seen.count(cluster) > before.getOrDefault(seen, 0.0));
    }
    if (fault != SplitFault.PREFILL_HANGS && fault != SplitFault.DECODE_HANGS) {
      for (Seen timeout : EnumSet.of(Seen.PREFILL_TIMEOUT, Seen.RETRY_AFTER_TIMEOUT)) {
        assertThat(timeout.count(cluster))
            .as(connector + " " + fault + ": " + timeout)
            .isEqualTo(before.get(timeout));
      }
    }
    check(cluster, connector, fault);
  }

  /** The router's counters of faults. */
  private enum Seen {
    PREFILL_ERROR("pointsman_pd_prefills_total", "end=\"error\""),
    PREFILL_TIMEOUT("pointsman_pd_prefills_total", "end=\"timeout\""),
    PREFILL_ABORTED("pointsman_pd_prefills_total", "end=\"aborted\""),
    RETRY_AFTER_STATUS("pointsman_retries_total", "reason=\"status\""),
    RETRY_AFTER_TIMEOUT("pointsman_retries_total", "reason=\"timeout\""),
    RETRY_AFTER_CONNECT("pointsman_retries_total", "reason=\"connect\"");

    private final String metric;
    private final String label;

    Seen(String metric, String label) {
      this.metric = metric;
      this.label = label;
    }

    double count(SplitCluster cluster) {
      return cluster.metric(metric, label);
    }

    /** Null for a client that leaves and cuts only its own stream. */
    static @Nullable Seen of(SplitFault fault) {
      return switch (fault) {
        case PREFILL_FAILS, PREFILL_BREAKS_OFF -> PREFILL_ERROR;
        case PREFILL_HANGS -> PREFILL_TIMEOUT;
        case DECODE_FAILS, CLIENT_LEAVES_BETWEEN -> RETRY_AFTER_STATUS;
        case DECODES_REFUSE -> RETRY_AFTER_CONNECT;
        case DECODE_HANGS -> RETRY_AFTER_TIMEOUT;
        case CLIENT_LEAVES_IN_PREFILL -> PREFILL_ABORTED;
        case CLIENT_LEAVES_IN_STREAM -> null;
      };
    }
  }

  private static void check(SplitCluster cluster, KvConnector connector, SplitFault fault)
      throws IOException {
    String what = connector + " " + fault;
    int left = left(connector, fault);
    if (left > 0) {
      cluster.expectLeaks();
    }
    cluster.awaitWell();
    cluster.awaitQuiet();
    assertThat(cluster.leaked()).as(what + ": " + cluster.state()).isEqualTo(left);
    HttpAnswer next = succeeds(cluster);
    assertThat(next.header("x-pointsman-split")).as(what).isEqualTo("split");
    cluster.awaitQuiet();
  }

  private static void inject(SplitCluster cluster, KvConnector connector, SplitFault fault)
      throws IOException {
    switch (fault) {
      case PREFILL_FAILS -> {
        RawClient client = hang(cluster.prefills, cluster);
        goOnWith(awaitHung(cluster.prefills), new Fault.Status(500, 0));
        served(client);
      }
      case PREFILL_BREAKS_OFF -> {
        RawClient client = hang(cluster.prefills, cluster);
        SimEngine prefill = awaitHung(cluster.prefills);
        if (atOnce(connector)) {
          WaitFor.until(
              "decode waits for it",
              WaitFor.LONG,
              () -> prefill.kvState().transfers().waiting() == 1);
        }
        // Before the first byte it would count as a stale connection and be sent again.
        goOnWith(prefill, new Fault.ResetAfterBytes(40, false));
        served(client);
      }
      case PREFILL_HANGS -> {
        RawClient client = hang(cluster.prefills, cluster);
        awaitHung(cluster.prefills);
        served(client);
      }
      case DECODE_FAILS -> served(failDecode(cluster, connector));
      case DECODES_REFUSE -> refuse(cluster, connector);
      case DECODE_HANGS -> {
        RawClient client = hang(cluster.decodes, cluster);
        awaitHung(cluster.decodes);
        served(client);
      }
      case CLIENT_LEAVES_IN_PREFILL -> {
        RawClient client = hang(cluster.prefills, cluster);
        awaitHung(cluster.prefills);
        client.leave();
      }
      case CLIENT_LEAVES_BETWEEN -> throw new IllegalArgumentException("needs a pause: " + fault);
      case CLIENT_LEAVES_IN_STREAM -> {
        RawClient client = stream(cluster);
        client.readSome(new byte[500], 500);
        client.leave();
      }
    }
  }

  /** Sends a request that hangs on one of the engines. */
  private static RawClient hang(List<SimEngine> engines, SplitCluster cluster) throws IOException {
    fail(engines, 1, new Fault.Hang(0));
    return send(cluster, BODY);
  }

  private static void served(RawClient client) throws IOException {
    try (client) {
      HttpAnswer answer = client.read();
      assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    }
  }

  /** If prefill does not wait for decode, it has answered before decode fails. */
  private static RawClient failDecode(SplitCluster cluster, KvConnector connector)
      throws IOException {
    double prefilled = prefillsEnded(cluster, "done");
    RawClient client = hang(cluster.decodes, cluster);
    SimEngine decode = awaitHung(cluster.decodes);
    boolean ahead = AHEAD_OF_DECODE.contains(connector);
    if (ahead) {
      WaitFor.until(
          "prefill has answered",
          WaitFor.LONG,
          () -> prefillsEnded(cluster, "done") == prefilled + 1);
    }
    // The request that frees its blocks waits for a worker that survives the request.
    goOnWith(decode, new Fault.Status(500, 0));
    return client;
  }

  /**
   * Concurrent prefills hang in the meantime. The blocks of a prefill that ends exactly during its
   * cancellation are released by their lease.
   */
  private static void refuse(SplitCluster cluster, KvConnector connector) throws IOException {
    if (atOnce(connector)) {
      fail(cluster.prefills, 9, new Fault.Hang(0));
    }
    cluster.decodes.forEach(SimEngine::refuse);
    try (RawClient client = send(cluster, BODY)) {
      HttpAnswer answer = client.read();
      assertThat(answer.status()).as(answer.text()).isIn(502, 503);
      assertThat(answer.text()).startsWith("{\"error\":");
    } finally {
      cluster.decodes.forEach(SimEngine::accept);
      cluster.prefills.forEach(each -> each.failures().clear());
    }
  }
}
