package io.pointsman.it.split;

import static io.pointsman.it.split.SplitFaults.BODY;
import static io.pointsman.it.split.SplitFaults.PATH;
import static io.pointsman.it.split.SplitFaults.awaitHung;
import static io.pointsman.it.split.SplitFaults.body;
import static io.pointsman.it.split.SplitFaults.fail;
import static io.pointsman.it.split.SplitFaults.nixl;
import static io.pointsman.it.split.SplitFaults.send;
import static io.pointsman.it.split.SplitFaults.slowDecode;
import static io.pointsman.it.split.SplitFaults.stream;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.failure.Fault;
import io.pointsman.tool.sim.kv.KvConnector;
import io.pointsman.tool.sim.kv.RequestLog.Logged;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Engines with two data-parallel ranks each; every rank is a worker. */
@Tag("full")
class SplitRanksTest {
  private static final int REQUESTS = 8;
  private static final Pattern HELD_BY = Pattern.compile("\"remote_engine_id\":\"([^\"]+)\"");

  /** The rank of each request, oldest first. */
  private static List<String> ranks(SimEngine engine) {
    return engine.requestLog().stream().map(SplitRanksTest::rank).toList();
  }

  private static String rank(Logged request) {
    List<String> named =
        request.headers().stream()
            .filter(header -> header.getKey().equalsIgnoreCase("x-data-parallel-rank"))
            .map(header -> header.getValue())
            .toList();
    assertThat(named).as("ranks of one request").hasSize(1);
    return named.getFirst();
  }

  /** The client's own rank does not exist on these engines. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void bothRequestsNameTheRankOfTheirWorker(boolean stream) throws IOException {
    try (SplitCluster cluster =
        nixl()
            .ranks(2)
            .set("prefill-policy", "round_robin")
            .set("decode-policy", "round_robin")
            .start()) {
      SimEngine prefill = cluster.prefills.getFirst();
      SimEngine decode = cluster.decodes.getFirst();
      for (int i = 0; i < REQUESTS; i++) {
        HttpAnswer answer = cluster.post(PATH, body(5, stream), "x-data-parallel-rank: 7");
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        assertThat(answer.header("x-pointsman-split")).isEqualTo("split");
      }
      for (SimEngine engine : List.of(prefill, decode)) {
        assertThat(ranks(engine)).containsOnly("0", "1").hasSize(REQUESTS);
        assertThat(ranks(engine)).filteredOn("0"::equals).hasSize(REQUESTS / 2);
      }
      Map<String, String> engineIds = new HashMap<>();
      for (int i = 0; i < REQUESTS; i++) {
        String owner = owner(decode.requestLog().get(i));
        String before = engineIds.putIfAbsent(ranks(prefill).get(i), owner);
        assertThat(owner).isEqualTo(before == null ? owner : before);
      }
      assertThat(requireNonNull(engineIds.get("0"))).isNotEqualTo(engineIds.get("1"));
    }
  }

  /** Without this, decode would use the rank that follows from the room, and wait. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void sglangsDecodeGetsTheRankThatComputesThePrompt(boolean stream) throws IOException {
    try (SplitCluster cluster =
        SplitCluster.of("sglang", KvConnector.SGLANG)
            .ranks(2)
            .options(o -> o.withRanks(1, 2).withWaitSeconds(20))
            .set("prefill-policy", "round_robin")
            .set("decode-policy", "round_robin")
            .start()) {
      String mine = "{\"routed_dp_rank\":1,\"data_parallel_rank\":1,\"disagg_prefill_dp_rank\":1,";
      String body = mine + body(5, stream).substring(1);
      for (int i = 0; i < REQUESTS; i++) {
        HttpAnswer answer = cluster.post(PATH, body, "x-data-parallel-rank: 1");
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        assertThat(answer.header("x-pointsman-split")).isEqualTo("split");
      }
      for (SimEngine engine : List.of(cluster.prefills.getFirst(), cluster.decodes.getFirst())) {
        assertThat(ranks(engine)).containsOnly("0", "1").hasSize(REQUESTS);
      }
      assertThat(cluster.prefills.getFirst().kvState().fieldErrors()).isEmpty();
    }
  }

  private static String owner(Logged decode) {
    Matcher matcher = HELD_BY.matcher(SplitCluster.body(decode));
    assertThat(matcher.find()).as(SplitCluster.body(decode)).isTrue();
    return matcher.group(1);
  }

  /** Requests in flight on each rank of an engine, in ascending order. */
  private static List<Integer> loads(SplitCluster cluster, SimEngine engine) {
    return cluster.router().workers().stream()
        .filter(worker -> worker.spec().url().equals(engine.url()))
        .map(worker -> worker.inFlight())
        .sorted()
        .toList();
  }

  @Test
  void eachRankHasItsOwnLoad() throws IOException {
    try (SplitCluster cluster = slowDecode().ranks(2).start()) {
      SimEngine prefill = cluster.prefills.getFirst();
      SimEngine decode = cluster.decodes.getFirst();
      try (RawClient one = stream(cluster)) {
        assertThat(loads(cluster, decode)).containsExactly(0, 1);
        try (RawClient other = stream(cluster)) {
          assertThat(loads(cluster, decode)).containsExactly(1, 1);
          assertThat(loads(cluster, prefill)).containsExactly(0, 0);
          fail(prefill, 1, new Fault.Hang(0));
          try (RawClient third = send(cluster, BODY)) {
            awaitHung(List.of(prefill));
            assertThat(loads(cluster, prefill)).containsExactly(0, 1);
            assertThat(loads(cluster, decode)).containsExactly(1, 2);
            prefill.resumeHung();
            assertThat(third.read().status()).isEqualTo(200);
          }
          other.leave();
        }
        one.leave();
      }
      cluster.awaitQuiet();
      assertThat(loads(cluster, decode)).containsExactly(0, 0);
    }
  }
}
