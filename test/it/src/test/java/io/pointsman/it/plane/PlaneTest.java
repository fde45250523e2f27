package io.pointsman.it.plane;

import static io.pointsman.it.plane.PlaneRig.completion;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.it.support.ConcurrentClients;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
import io.pointsman.server.wiring.Router;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** A real proxy with decisions of a router, in front of eight simulated engines. */
@ParameterizedClass
@EnumSource(PlaneRig.Way.class)
@Timeout(300)
@Tag("full")
final class PlaneTest {
  private static final int ENGINES = 8;
  private static final int AT_ONCE = 8;

  private final PlaneRig rig;

  PlaneTest(PlaneRig.Way way) {
    rig = new PlaneRig(way).engines(ENGINES);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  @Test
  void allRequestsReachTheirWorkersAndAreSettled() throws Exception {
    Router router = rig.router("round_robin", "decisions.sample", "1", "decisions.keep", "1000");
    rig.carrier();
    awaitCounted(router);
    Map<String, Long> counted = served(router);
    Map<String, Long> answered = answered(router);
    List<HttpAnswer> answers =
        ConcurrentClients.of(400, AT_ONCE, i -> () -> rig.send(completion("number " + i)));

    assertThat(answers).allMatch(answer -> answer.status() == 200);
    for (HttpAnswer answer : answers) {
      assertThat(answer.header("x-pointsman-worker"))
          .isNotNull()
          .isEqualTo(answer.header("x-engine-id"));
    }
    awaitCounted(router);
    for (Worker worker : router.fleet().snapshot().workers()) {
      String id = worker.id();
      long more = answered(router).getOrDefault(id, 0L) - answered.getOrDefault(id, 0L);
      assertThat(more).isGreaterThan(20);
      assertThat(served(router).getOrDefault(id, 0L) - counted.getOrDefault(id, 0L))
          .as(id)
          .isEqualTo(more);
      assertThat(worker.failures()).isZero();
    }
  }

  /** Waits until the end of each decided request is counted; leases are released earlier. */
  private void awaitCounted(Router router) {
    rig.awaitNoLoad();
    WaitFor.until(
        "ends counted",
        WaitFor.LONG,
        () -> {
          JsonNode decisions = decided();
          return decisions.size() == decisions.findValues("outcome").size();
        });
    assertThat(router.inFlight()).isZero();
  }

  /** Requests counted by the router, by worker. */
  private static Map<String, Long> served(Router router) {
    return router.fleet().snapshot().workers().stream()
        .collect(Collectors.toMap(Worker::id, Worker::served));
  }

  /** Requests answered by the engines, by worker. */
  private Map<String, Long> answered(Router router) {
    return router.fleet().snapshot().workers().stream()
        .collect(
            Collectors.toMap(
                Worker::id, worker -> rig.engineAt(worker.id()).state().requests().served()));
  }

  @Test
  void aSessionStaysOnOneWorker() throws Exception {
    rig.router("consistent_hash");
    rig.carrier();
    Map<Integer, Set<String>> workers = new ConcurrentHashMap<>();
    List<Integer> statuses =
        ConcurrentClients.of(
            200,
            AT_ONCE,
            i ->
                () -> {
                  HttpAnswer answer = rig.send(completion("turn " + i), "X_Session_ID: s" + i % 20);
                  workers
                      .computeIfAbsent(i % 20, _ -> ConcurrentHashMap.newKeySet())
                      .add(String.valueOf(answer.header("x-engine-id")));
                  return answer.status();
                });

    assertThat(statuses).allMatch(status -> status == 200);
    assertThat(workers).hasSize(20);
    assertThat(workers.values()).allMatch(of -> of.size() == 1);
    assertThat(workers.values().stream().flatMap(Set::stream).collect(Collectors.toSet()))
        .hasSizeGreaterThan(3);
  }

  @Test
  void theClientGetsTheRoutersRefusalUnchanged() throws Exception {
    rig.router("cache_aware");
    rig.carrier();
    HttpAnswer unknown = rig.send("{\"model\":\"n\u00f6body \\\"quoted\\\"\",\"prompt\":\"x\"}");
    assertThat(unknown.status()).isEqualTo(404);
    assertThat(unknown.header("content-type")).isEqualTo("application/json");
    assertThat(unknown.text())
        .isEqualTo(
            PlaneRig.send(
                    rig.routerPort(), "{\"model\":\"n\u00f6body \\\"quoted\\\"\",\"prompt\":\"x\"}")
                .text())
        .contains("model_not_found");
  }

  @Test
  void theClientGetsRetryAfterWhileAllWorkersAreFull() throws Exception {
    Router router = rig.router("cache_aware", "decide.max-leases", "1");
    rig.carrier();
    rig.awaitNoLoad();
    HttpAnswer lease =
        RawClient.call(
            rig.adminPort(), "POST", "/v1/decide", "{\"body\":" + completion("held") + "}");
    assertThat(lease.status()).isEqualTo(200);
    assertThat(router.inFlight()).isEqualTo(1);
    HttpAnswer refused = rig.send(completion("x"));

    assertThat(refused.status()).isEqualTo(503);
    assertThat(refused.text()).contains("too_many_leases");
    assertThat(Integer.parseInt(String.valueOf(refused.header("retry-after")))).isPositive();
  }

  /** A configuration like Ray's back-pressure: one request per worker and no queue. */
  @Test
  void aBusyFleetGivesTheConfiguredStatus() throws Exception {
    List<WorkerSpec> limited =
        rig.engines().stream().map(e -> WorkerSpec.of(e.url()).withMaxInFlight(1)).toList();
    String[] settings = {
      "limits.max-concurrent-requests", Integer.toString(ENGINES),
      "limits.queue-size", "0",
      "limits.queue-full-status", "429"
    };
    Router router = rig.behind(limited).router("round_robin", settings);
    rig.carrier();
    rig.awaitNoLoad();
    for (int i = 0; i < ENGINES; i++) {
      String question = "{\"ttl_ms\":600000,\"body\":" + completion("held " + i) + "}";
      assertThat(RawClient.call(rig.adminPort(), "POST", "/v1/decide", question).status())
          .isEqualTo(200);
    }
    assertThat(router.inFlight()).isEqualTo(ENGINES);

    for (int i = 0; i < 3; i++) {
      HttpAnswer refused = rig.send(completion("one more"));
      assertThat(refused.status()).isEqualTo(429);
      assertThat(refused.header("content-type")).isEqualTo("application/json");
      assertThat(refused.text()).contains("\"code\":\"all_busy\"");
      assertThat(Integer.parseInt(String.valueOf(refused.header("retry-after")))).isPositive();
    }
    assertThat(router.inFlight()).isEqualTo(ENGINES);
  }

  @Test
  void aProxyBalancesItselfIfTheRouterHasNoWorker() throws Exception {
    Router router = rig.router("round_robin");
    rig.carrier();
    WaitFor.until("the carrier knows workers", WaitFor.LONG, this::servesWithoutAQuestion);
    for (Worker worker : router.fleet().snapshot().workers()) {
      router.fleet().remove(worker.id());
    }
    for (int i = 0; i < 20; i++) {
      HttpAnswer answer = rig.send(completion("alone " + i));
      assertThat(answer.status()).isEqualTo(200);
      assertThat(answer.header("x-pointsman-worker")).isNull();
    }
  }

  private boolean servesWithoutAQuestion() {
    try {
      return RawClient.call(rig.port(), "GET", "/v1/models", "").status() == 200;
    } catch (IOException e) {
      return false;
    }
  }

  @Test
  void longBodiesAreRoutedByTheirFirstPart() throws Exception {
    rig.router("cache_aware");
    rig.carrier();
    String large = completion("large ".repeat(500_000));

    // Too long for the engine too; only the answering engine matters.
    HttpAnswer first = rig.send(large);
    for (int i = 0; i < 5; i++) {
      assertThat(rig.send(large).header("x-pointsman-worker"))
          .isNotNull()
          .isEqualTo(first.header("x-pointsman-worker"));
    }
  }

  @Test
  void otherMethodsGoToAnyWorkerWithoutAQuery() throws Exception {
    Router router = rig.router("round_robin", "decisions.sample", "1");
    rig.carrier();
    awaitCounted(router);
    int before = decided().size();
    HttpAnswer models = RawClient.call(rig.port(), "GET", "/v1/models", "");

    assertThat(models.status()).isEqualTo(200);
    assertThat(models.header("x-engine-id")).isNotNull();
    assertThat(models.header("x-pointsman-worker")).isNull();
    assertThat(decided().size()).isEqualTo(before);
  }

  /**
   * One at a time under {@code cost}: it ignores a hit if another worker answers sooner. With eight
   * at a time, the rate depends on how soon the end of the last turn is reported.
   */
  @ParameterizedTest
  @CsvSource({"cache_aware, 8", "cost, 1"})
  void cachesHitAsOftenAsBehindTheBuiltInProxy(String policy, int atOnce) throws Exception {
    rig.router(policy);
    rig.carrier();
    double through = hitRate(rig.port(), atOnce);
    double proxied = hitRate(rig.routerPort(), atOnce);

    assertThat(proxied).isGreaterThan(0.5);
    assertThat(through).isGreaterThan(proxied - 0.02);
  }

  /** Hit rate of new conversations. */
  private double hitRate(int port, int atOnce) throws Exception {
    long queries = tokens(true);
    long hits = tokens(false);
    Runnable beforeTurn = atOnce == 1 ? rig::awaitNoLoad : () -> {};
    List<Integer> statuses =
        ConcurrentClients.of(
            5 * atOnce,
            atOnce,
            i -> () -> converse(port, "port " + port + " conversation " + i, beforeTurn));
    assertThat(statuses).allMatch(status -> status == 200);
    return (double) (tokens(false) - hits) / (tokens(true) - queries);
  }

  /** Long turns, because {@code cost} ignores short hits if another worker is idle. */
  private static int converse(int port, String begin, Runnable beforeTurn) throws Exception {
    StringBuilder text = new StringBuilder(begin);
    for (int turn = 0; turn < 5; turn++) {
      beforeTurn.run();
      text.append(" turn ").append(turn).append(" goes on".repeat(2000));
      int status = PlaneRig.send(port, completion(text.toString())).status();
      if (status != 200) {
        return status;
      }
    }
    return 200;
  }

  private long tokens(boolean queries) {
    return rig.engines().stream()
        .map(engine -> engine.state().tokens())
        .mapToLong(tokens -> queries ? tokens.cacheQueries() : tokens.cacheHits())
        .sum();
  }

  @Test
  void onlyFirstTokensOfStreamsAreLearned() throws Exception {
    Router router = rig.router("cost", "decisions.sample", "1");
    rig.carrier();
    awaitCounted(router);
    int before = decided().size();
    assertThat(rig.send(completion("in one piece")).status()).isEqualTo(200);
    HttpAnswer streamed = rig.send(completion("piece by piece").replace("{", "{\"stream\":true,"));
    assertThat(streamed.status()).isEqualTo(200);
    awaitCounted(router);
    JsonNode newest = decided();
    assertThat(newest.size()).isEqualTo(before + 2);
    JsonNode stream = newest.path(0).path("measured");
    assertThat(stream.path("ttft_ms").asDouble(-1))
        .isBetween(0.0, stream.path("e2e_ms").asDouble(0));
    JsonNode whole = newest.path(1).path("measured");
    assertThat(whole.path("outcome").asText()).isEqualTo("succeeded");
    assertThat(whole.has("ttft_ms")).isFalse();
  }

  private JsonNode decided() {
    try {
      String log = RawClient.call(rig.adminPort(), "GET", "/decisions?limit=10000", "").text();
      return new ObjectMapper().readTree(log).path("decisions");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void aWorkerThatTheProxyDoesNotKnowIsNotBlamed() throws Exception {
    Router router = rig.router("round_robin", "decisions.sample", "1");
    rig.carrier();
    // HAProxy's maps cannot contain such a name, so HAProxy never knows the worker.
    WorkerSpec strange =
        new WorkerSpec(
            "no slot",
            rig.engines().getFirst().url(),
            Role.REGULAR,
            Set.of(PlaneRig.MODEL),
            WorkerSpec.NO_RANK,
            0,
            Map.of());
    Worker worker = router.fleet().add(strange);
    worker.probed(true);
    for (int i = 0; i < 3 * ENGINES; i++) {
      assertThat(rig.send(completion("turn " + i)).status()).isEqualTo(200);
    }

    awaitCounted(router);
    assertThat(worker.failures()).isZero();
  }
}
