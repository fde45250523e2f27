package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.CircuitBreaker;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.ConcurrentClients;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.RequestFault;
import io.pointsman.testkit.engine.ScriptedEngine;
import io.pointsman.tool.sim.SimEngine;
import io.pointsman.tool.sim.failure.Fault;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Faults of requests and clients that must not become faults of the fleet. */
@Timeout(180)
final class PoisonTest {
  private static final int ENGINES = 4;

  /** Fewer than the failures that open a breaker: each has one at a time that may be withdrawn. */
  private static final int BAD_CLIENTS = 8;

  private static final String PATH = "/v1/completions";
  private static final String BAD = "makes it fail";

  private static final String STREAM_HEAD =
      "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

  private static String body(String prompt, boolean stream) {
    return "{\"model\":\"%s\",\"max_tokens\":2,\"stream\":%s,\"prompt\":\"%s\"}"
        .formatted(FaultRig.MODEL, stream, prompt);
  }

  private static FaultRig rig(Map<String, Object> settings) throws IOException {
    return FaultRig.of(ENGINES, 0, settings);
  }

  /** Engines that show the fault at bad requests only. */
  private static void script(FaultRig rig, EngineScript fault) {
    for (ScriptedEngine engine : rig.engines()) {
      engine.now(
          FaultRig.healthy(
              (request, connection) -> {
                boolean bad = request.bodyText().contains(BAD);
                (bad ? fault : Faults.Answer.ok()).answer(request, connection);
              }));
    }
  }

  private static HttpAnswer send(FaultRig rig, String body) throws IOException {
    return RawClient.call(rig.port(), "POST", PATH, body);
  }

  private static long reached(FaultRig rig) {
    return rig.engines().stream()
        .filter(each -> each.requests().stream().anyMatch(r -> r.bodyText().contains(BAD)))
        .count();
  }

  /** Ends the engine that gets the request: nobody listens there any more. */
  private static void end(FaultRig rig, String head) {
    for (ScriptedEngine engine : rig.engines()) {
      EngineScript dies =
          (request, connection) -> {
            connection.send(head);
            Thread.ofVirtual().start(() -> stop(engine)).join();
          };
      engine.now(
          FaultRig.healthy(
              (request, connection) -> {
                boolean bad = request.bodyText().contains(BAD);
                (bad ? dies : Faults.Answer.ok()).answer(request, connection);
              }));
    }
  }

  private static void stop(ScriptedEngine engine) {
    try {
      engine.stopListening();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"POISON", "POISON_IN_STREAM"})
  void aRequestEndsAtMostTwoEngines(RequestFault fault) throws IOException {
    boolean stream = fault == RequestFault.POISON_IN_STREAM;
    try (FaultRig rig = rig(Map.of("retry.poison-entries", 16, "retry.max-attempts", 10))) {
      end(rig, stream ? STREAM_HEAD : "");
      for (int client = 0; client < 8; client++) {
        int status = send(rig, body(BAD, stream)).status();
        assertThat(status).isIn(200, 500, 502); // 200: the head of a stream that fails
        assertThat(rig.serve().status()).isEqualTo(200);
      }
      assertThat(reached(rig)).isEqualTo(2);
      HttpAnswer refused = send(rig, body(BAD, stream));
      assertThat(refused.status()).isEqualTo(500);
      assertThat(refused.text()).contains("\"code\":\"poison_request\"");
      assertThat(rig.cluster().router().gauge("pointsman_poison_refused_total")).isPositive();
    }
  }

  /** All requests are in progress on the same engines as the poison, which ends two of four. */
  @Test
  void innocentRequestsBesideAPoisonAreAnswered() throws Exception {
    try (Cluster cluster =
        Cluster.of(4)
            .policy("round_robin")
            .engines(config -> config.withLinearLatency(0, 20))
            .start()) {
      for (SimEngine engine : cluster.engines()) {
        engine.failures().always(new Fault.Poison(BAD));
      }
      int innocents = 6;
      List<HttpAnswer> answers =
          ConcurrentClients.of(
              innocents + 1,
              number ->
                  () -> {
                    boolean poison = number == innocents;
                    if (poison) {
                      WaitFor.until(
                          "all others are in progress",
                          WaitFor.LONG,
                          () -> cluster.router().running() == innocents);
                    }
                    String prompt = poison ? BAD : "innocent" + number;
                    return RawClient.call(
                        cluster.port(),
                        "POST",
                        PATH,
                        "{\"model\":\"%s\",\"max_tokens\":50,\"prompt\":\"%s\"}"
                            .formatted(Cluster.MODEL, prompt));
                  });
      assertThat(answers.subList(0, innocents)).allMatch(answer -> answer.status() == 200);
      assertThat(answers.getLast().status()).isEqualTo(500);
      assertThat(cluster.engines().stream().filter(SimEngine::isDead).count()).isEqualTo(2);
    }
  }

  /** Poisons end both engines of a request, which have answered later requests before. */
  @Test
  @Tag("full")
  void anInnocentRequestOnTwoEnginesThatEndIsAnswered() throws Exception {
    try (Cluster cluster =
        Cluster.of(3)
            .policy("round_robin")
            .engines(config -> config.withLinearLatency(0, 20))
            .start()) {
      FutureTask<HttpAnswer> innocent = new FutureTask<>(() -> send(cluster, "innocent", 150));
      Thread.ofVirtual().start(innocent);
      for (int i = 0; i < 2; i++) {
        SimEngine engine = onlyBusyEngine(cluster);
        WaitFor.pause(60); // later requests pass a prompt in this time at most
        for (int later = 0; later < cluster.engines().size(); later++) {
          assertThat(send(cluster, "later", 1).status()).isEqualTo(200);
        }
        engine.failures().always(new Fault.Poison(BAD));
        WaitFor.until(
            "the engine has ended",
            WaitFor.LONG,
            () -> {
              sendQuietly(cluster, BAD + System.nanoTime());
              return engine.isDead();
            });
      }
      assertThat(innocent.get().status()).isEqualTo(200);
      assertThat(cluster.engines().stream().filter(SimEngine::isDead).count()).isEqualTo(2);
    }
  }

  private static HttpAnswer send(Cluster cluster, String prompt, int tokens) throws IOException {
    String body =
        "{\"model\":\"%s\",\"max_tokens\":%d,\"prompt\":\"%s\"}"
            .formatted(Cluster.MODEL, tokens, prompt);
    return RawClient.call(cluster.port(), "POST", PATH, body);
  }

  private static void sendQuietly(Cluster cluster, String prompt) {
    try {
      send(cluster, prompt, 1);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static SimEngine onlyBusyEngine(Cluster cluster) {
    AtomicReference<SimEngine> busy = new AtomicReference<>();
    WaitFor.until(
        "one engine is busy",
        WaitFor.LONG,
        () -> {
          List<SimEngine> all =
              cluster.engines().stream()
                  .filter(each -> !each.isDead() && cluster.worker(each).inFlight() > 0)
                  .toList();
          all.forEach(busy::set);
          return all.size() == 1;
        });
    return busy.get();
  }

  /** Each request has a connection of its own, so the router knows no client. */
  @Test
  @Tag("full")
  void clientsWhoseRequestsFailOpenNoBreaker() throws Exception {
    try (FaultRig rig = rig(Map.of("breaker.enabled", true))) {
      script(rig, new Faults.Answer(500, "{}"));
      List<Worker> workers = rig.cluster().router().workers();
      AtomicInteger sent = new AtomicInteger();
      AtomicBoolean refused = new AtomicBoolean();
      ConcurrentClients.of(
          BAD_CLIENTS + 1,
          number ->
              () -> {
                boolean polite = number == BAD_CLIENTS;
                for (int i = 0; i < 20; i++) {
                  String prompt = polite ? "polite" : BAD + sent.incrementAndGet();
                  if (send(rig, body(prompt, false)).status() != (polite ? 200 : 500)) {
                    refused.set(true);
                  }
                }
                return number;
              });
      assertThat(refused.get()).isFalse();
      assertThat(workers).allMatch(worker -> worker.breaker().opened() == 0);
    }
  }

  @Test
  @Tag("full")
  void aFleetThatFailsKeepsHalfOfItsWorkers() throws IOException {
    try (FaultRig rig = rig(Map.of("breaker.enabled", true, "breaker.failure-threshold", 2))) {
      List<Worker> workers = rig.cluster().router().workers();
      // Each request fails on one worker and is served by another: the worker is to blame.
      for (Worker failing : workers) {
        for (ScriptedEngine engine : rig.engines()) {
          boolean fails = failing.spec().url().equals(engine.url());
          engine.now(FaultRig.healthy(fails ? new Faults.Answer(500, "{}") : Faults.Answer.ok()));
        }
        for (int i = 0; i < 8 * ENGINES; i++) {
          assertThat(send(rig, body("any" + i, false)).status()).isEqualTo(200);
        }
      }
      assertThat(workers)
          .filteredOn(worker -> worker.breaker().state() != CircuitBreaker.State.CLOSED)
          .hasSize(ENGINES / 2);
      assertThat(rig.cluster().router().gauge("pointsman_breaker_ejections_refused_total"))
          .isPositive();
    }
  }

  @Test
  void overloadedAndDrainingEnginesAreBusy() throws IOException {
    for (Faults.Answer busy :
        List.of(
            new Faults.Answer(
                529, "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}"),
            new Faults.Answer(
                500, "{\"message\":\"cannot schedule new futures after shutdown\"}"))) {
      try (FaultRig rig = rig(Map.of("breaker.enabled", true, "breaker.failure-threshold", 1))) {
        List<ScriptedEngine> engines = rig.engines();
        engines.subList(1, ENGINES).forEach(engine -> engine.now(FaultRig.healthy(busy)));
        for (int i = 0; i < 4 * ENGINES; i++) {
          assertThat(rig.serve().status()).isEqualTo(200);
        }
        assertThat(rig.cluster().router().workers())
            .allMatch(worker -> worker.failures() == 0 && worker.breaker().opened() == 0);
      }
    }
  }
}
