package io.pointsman.it.fault;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.HealthState;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.WaitFor;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Engines that answer only probes or only requests, or neither any more. */
@Timeout(180)
final class HungEnginesTest {
  /** Requests after the hung engine is out. */
  private static final int AFTERWARDS = 40;

  /** Maximum number of these that reach it as trials; without detection it is half of them. */
  private static final int TRIALS = 10;

  /** The answer of an engine that computes nothing. */
  enum Hang {
    /** No byte of an answer in one piece. */
    WHOLE(false, new Faults.HangBeforeHeaders()),
    /** No byte of a stream. */
    STREAM(true, new Faults.HangBeforeHeaders()),
    /** The head of a stream, as from an engine with its HTTP server in a process of its own. */
    HEAD_OF_A_STREAM(
        true,
        (_, connection) -> {
          connection.beginEvents();
          connection.awaitPeerGone();
          connection.close();
        });

    private final boolean stream;

    @SuppressWarnings("ImmutableEnumChecker") // scripts have no state
    private final EngineScript script;

    Hang(boolean stream, EngineScript script) {
      this.stream = stream;
      this.script = script;
    }
  }

  @Test
  void engineThatAnswersOnlyProbesIsTakenOut() throws Exception {
    isTakenOut(Hang.STREAM);
  }

  @ParameterizedTest
  @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "STREAM")
  @Tag("full")
  void enginesThatHangInOtherWaysAreTakenOut(Hang hang) throws Exception {
    isTakenOut(hang);
  }

  private static void isTakenOut(Hang hang) throws Exception {
    try (FaultRig rig = FaultRig.beside(1, Map.of("stall.patience", "2s"))) {
      rig.engine().now(FaultRig.healthy(hang.script));
      Worker hung = rig.worker();
      WaitFor.until(
          "the hung engine is out",
          WaitFor.LONG,
          () -> {
            impatient(rig, hang.stream);
            return hung.stalled();
          });
      assertThat(hung.stalledByDepartures()).isGreaterThanOrEqualTo(3);
      assertThat(hung.health().healthy()).isTrue();
      long before = rig.requestsSeen();
      for (int i = 0; i < AFTERWARDS; i++) {
        impatient(rig, hang.stream);
      }
      assertThat(rig.requestsSeen() - before).isLessThan(TRIALS);

      rig.engine().now(FaultRig.healthy(Faults.Answer.ok()));
      WaitFor.until(
          "a trial brings it back",
          WaitFor.LONG,
          () -> {
            impatient(rig, hang.stream);
            return !hung.stalled();
          });
    }
  }

  /** Sends a request, and leaves if the hung engine got it. */
  private static void impatient(FaultRig rig, boolean stream) {
    long before = rig.requestsSeen();
    try (RawClient client = RawClient.connect(rig.port())) {
      client.send("POST", "/v1/completions", FaultRig.request(stream));
      AtomicBoolean answered = new AtomicBoolean();
      Thread reading = Thread.ofVirtual().start(() -> answered.set(answered(client)));
      WaitFor.until(
          "answered, or at the hung engine",
          WaitFor.LONG,
          () -> answered.get() || rig.requestsSeen() > before);
      reading.join(PATIENCE_MILLIS);
    } catch (IOException e) {
      throw new AssertionError(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** How long a client waits for a hung engine. */
  private static final long PATIENCE_MILLIS = 200;

  private static boolean answered(RawClient client) {
    try {
      return client.read().complete();
    } catch (IOException e) {
      return false;
    }
  }

  private static boolean isProbe(EngineRequest request) {
    return request.line().startsWith("GET /health ");
  }

  private static long probes(ScriptedEngine engine) {
    return engine.requests().stream().filter(HungEnginesTest::isProbe).count();
  }

  /** An engine that answers its first probes, until {@code late}. */
  private static EngineScript probedLate(AtomicBoolean late, EngineScript then) {
    EngineScript healthy = FaultRig.healthy(then);
    return (request, connection) -> {
      if (late.get() && isProbe(request)) {
        new Faults.HangBeforeHeaders().answer(request, connection);
      } else {
        healthy.answer(request, connection);
      }
    };
  }

  private static final Map<String, Object> FREQUENT_PROBES =
      Map.of(
          "health.interval",
          "100ms",
          "health.timeout",
          "200ms",
          "health.first-retry",
          "100ms",
          "health.max-retry",
          "200ms",
          "health.failure-threshold",
          2);

  @Test
  @Tag("full")
  void streamThatFlowsCountsAsAGoodProbe() throws Exception {
    AtomicBoolean late = new AtomicBoolean(true);
    CountDownLatch enough = new CountDownLatch(1);
    EngineScript streams =
        (_, connection) -> {
          connection.beginEvents();
          while (enough.getCount() > 0) {
            connection.chunk("data: {\"choices\":[{\"text\":\"a\"}]}\n\n");
            Thread.sleep(20); // the pace of tokens
          }
          connection.chunk("data: [DONE]\n\n").lastChunk();
        };
    try (FaultRig rig = FaultRig.alone(FREQUENT_PROBES)) {
      Worker worker = rig.worker();
      int outages = worker.health().outages();
      rig.engine().now(FaultRig.healthy(streams));
      try (RawClient client = RawClient.connect(rig.port())) {
        client.send("POST", "/v1/completions", FaultRig.request(true));
        client.readHead();
        long before = probes(rig.engine());
        rig.engine().now(probedLate(late, streams));
        WaitFor.until("probes are late", WaitFor.LONG, () -> probes(rig.engine()) > before + 6);
        assertThat(worker.health().outages()).isEqualTo(outages);
        enough.countDown();
      }
    }
  }

  @Test
  void enginesWithoutAnswersToProbesServeIfThereIsNoOther() throws Exception {
    AtomicBoolean late = new AtomicBoolean(true);
    try (FaultRig rig = FaultRig.of(2, 0, FREQUENT_PROBES)) {
      for (ScriptedEngine engine : rig.engines()) {
        engine.now(probedLate(late, Faults.Answer.ok()));
      }
      WaitFor.until(
          "all are unhealthy",
          WaitFor.LONG,
          () ->
              rig.cluster().router().workers().stream()
                  .allMatch(w -> w.health().status() == HealthState.Status.UNHEALTHY));
      for (int i = 0; i < AFTERWARDS; i++) {
        assertThat(rig.serve().status()).isEqualTo(200);
      }
      HttpAnswer ready = RawClient.call(rig.port(), "GET", "/readiness", "");
      assertThat(ready.status()).as(ready.text()).isEqualTo(200);
      late.set(false);
      WaitFor.until(
          "probes count again",
          WaitFor.LONG,
          () ->
              rig.cluster().router().workers().stream()
                  .allMatch(w -> w.health().healthy() && !w.probes().ignored()));
    }
  }

  /** The partition begins when the engine has the request. */
  @ParameterizedTest
  @EnumSource(names = {"WHOLE", "STREAM"})
  void requestsOfAnEngineThatFallsSilentAreTriedElsewhere(Hang hang) throws Exception {
    AtomicBoolean silent = new AtomicBoolean();
    EngineScript falls =
        (request, connection) -> {
          silent.set(true);
          hang.script.answer(request, connection);
        };
    try (FaultRig rig = FaultRig.beside(1, FREQUENT_PROBES)) {
      rig.engine().now(probedLate(silent, falls));
      for (int i = 0; i < 2; i++) {
        HttpAnswer answer =
            RawClient.call(rig.port(), "POST", "/v1/completions", FaultRig.request(hang.stream));
        assertThat(answer.status()).isEqualTo(200);
        assertThat(answer.complete()).isTrue();
      }
      assertThat(silent).as("one request met the fault").isTrue();
    }
  }
}
