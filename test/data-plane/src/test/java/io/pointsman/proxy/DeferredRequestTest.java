package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.deferral.DeferralSettings;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;

/** Requests that are deferred while all workers are full. */
@SuppressWarnings("try") // closing may be interrupted, as tests may
@EveryTransport
@Timeout(60)
class DeferredRequestTest {
  private static final String BODY = "{\"model\":\"m\"}";
  private static final Duration BEYOND = Duration.ofMillis(50);
  private static final Duration LONG = Duration.ofMinutes(5);

  private static final Duration TOTAL = Duration.ofSeconds(1);
  private static final ProxySettings TIMED =
      most(9, LONG).withTimeouts(TimeoutSettings.DEFAULTS.withTotals(TOTAL, TOTAL));

  @Parameter Transport transport = Transport.AUTO;

  private static ProxySettings most(int most, Duration longest) {
    return ProxySettings.DEFAULTS.withDeferral(new DeferralSettings(BEYOND, longest, most));
  }

  /** Makes all workers full after each placement. */
  private static void full(ProxyRig rig) {
    rig.waitMillis = 1000;
    rig.inDecision = () -> rig.waitMillis = 1000;
  }

  private static WireClient deferred(ProxyRig rig, String path, int before) throws Exception {
    WireClient client = rig.connect().send(ProxyRig.post(path, BODY));
    ProxyRig.await(path + " is deferred", () -> rig.server().deferred() == before + 1);
    return client;
  }

  @Test
  void deferredRequestsGoInOrderWhenWorkersHaveRoom() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, most(9, LONG));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      full(rig);
      WireClient first = deferred(rig, "/1", 0);
      WireClient second = deferred(rig, "/2", 1);
      assertThat(engine.requests()).isEmpty();

      rig.waitMillis = 0;
      assertThat(first.read().status()).isEqualTo(200);
      assertThat(rig.server().deferred()).isEqualTo(1);
      rig.waitMillis = 0;
      assertThat(second.read().status()).isEqualTo(200);

      assertThat(engine.requests().stream().map(EngineRequest::line))
          .containsExactly("POST /1 HTTP/1.1", "POST /2 HTTP/1.1");
      assertThat(rig.deferrals).containsExactly(true, true);
    }
  }

  @Test
  void noRequestIsDeferredWhileAWorkerHasRoom() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, most(9, LONG));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      rig.waitMillis = 50;

      assertThat(rig.ask(ProxyRig.post("/1", BODY)).status()).isEqualTo(200);
      assertThat(rig.deferrals).isEmpty();
    }
  }

  @Test
  void deferredRequestOfAClientThatLeavesIsDropped() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, most(9, LONG));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      full(rig);
      WireClient leaving = deferred(rig, "/1", 0);
      WireClient staying = deferred(rig, "/2", 1);

      leaving.close();
      ProxyRig.await("its end is reported", () -> rig.ended.size() == 1);
      assertThat(rig.server().deferred()).isEqualTo(1);
      rig.waitMillis = 0;

      assertThat(staying.read().status()).isEqualTo(200);
      assertThat(engine.requests().stream().map(EngineRequest::line))
          .containsExactly("POST /2 HTTP/1.1");
      assertThat(rig.deferrals).containsExactly(false, true);
      assertThat(rig.ended.getFirst().left()).isTrue();
    }
  }

  @Test
  void aDeferralAboveTheMaximumPlacesTheFirst() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, most(1, LONG));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      full(rig);
      WireClient first = deferred(rig, "/1", 0);
      WireClient second = rig.connect().send(ProxyRig.post("/2", BODY));

      assertThat(first.read().status()).isEqualTo(200);
      ProxyRig.await("/2 is deferred", () -> rig.server().deferred() == 1);
      rig.waitMillis = 0;
      assertThat(second.read().status()).isEqualTo(200);
    }
  }

  @Test
  void requestIsPlacedAfterTheMaximumDeferralEvenIfAllWorkersAreFull() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, most(9, Duration.ofMillis(100)));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      full(rig);

      assertThat(rig.ask(ProxyRig.post("/1", BODY)).status()).isEqualTo(200);
      assertThat(rig.deferrals).containsExactly(true);
    }
  }

  @Test
  void deferredRequestIsServedDuringADrain() throws Exception {
    ProxyRig rig = new ProxyRig(transport, most(9, LONG));
    try (ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      full(rig);
      WireClient client = deferred(rig, "/1", 0);
      rig.server().beginDrain();
      Thread closing = Thread.ofVirtual().start(() -> rig.server().close());
      assertThat(rig.server().deferred()).isEqualTo(1);

      rig.waitMillis = 0;

      assertThat(client.read().status()).isEqualTo(200);
      closing.join(Await.LONG);
      assertThat(closing.isAlive()).isFalse();
      rig.close();
    }
  }

  @Test
  void deferredRequestAtTheEndOfTheDrainGetsAnError() throws Exception {
    Duration soon = Duration.ofMillis(100);
    ProxyRig rig = new ProxyRig(transport, most(9, LONG).withDrainTimeout(soon));
    try (ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      full(rig);
      WireClient client = deferred(rig, "/1", 0);
      rig.server().close();

      assertThat(client.read().status()).isEqualTo(503);
      assertThat(rig.deferrals).containsExactly(false);
      assertThat(engine.requests()).isEmpty();
      rig.close();
    }
  }

  @Test
  void deferredRequestAfterItsTimeoutGetsAnError() throws Exception {
    FakeClock clock = new FakeClock();
    try (ProxyRig rig = new ProxyRig(transport, TIMED, clock);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      full(rig);
      WireClient client = deferred(rig, "/1", 0);
      clock.advance(TOTAL.plusSeconds(1));

      timeIsOver(client.read());
      assertThat(rig.server().deferred()).isZero();
      assertThat(rig.deferrals).containsExactly(false);
      assertThat(rig.outcomes).isEmpty();
      assertThat(rig.ended.getFirst().blame()).isEqualTo("ROUTER");
      rig.waitMillis = 0;
      assertThat(client.send(ProxyRig.post("/2", BODY)).read().status()).isEqualTo(200);
      assertThat(engine.requests().stream().map(EngineRequest::line))
          .containsExactly("POST /2 HTTP/1.1");
    }
  }

  private static void timeIsOver(WireResponse response) {
    assertThat(response.status()).isEqualTo(503);
    assertThat(response.header("retry-after")).isEqualTo("1");
    assertThat(response.text())
        .isEqualTo(
            "{\"error\":{\"message\":\"the request waited too long for a worker below its limit\","
                + "\"type\":\"server_error\",\"param\":null,\"code\":\"queue_timeout\"}}");
  }

  @Test
  void leaseForAClientThatHasLeftIsReleased() throws Exception {
    ProxyRig rig = new ProxyRig(transport, onTwoLoops(most(9, LONG)));
    try (ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireClient client = deferredAndDecidedOnElsewhere(rig);
      whileItIsDecidedOn(rig, () -> close(client));
      rig.close();

      assertThat(rig.outcomes).containsExactly(Outcome.IGNORED);
      assertThat(rig.deferrals).containsExactly(false, false);
      assertThat(rig.ended.getLast().left()).isTrue();
      assertThat(engine.requests()).isEmpty();
    }
  }

  @Test
  void leaseForARequestAfterItsTimeoutIsReleased() throws Exception {
    FakeClock clock = new FakeClock();
    ProxyRig rig = new ProxyRig(transport, onTwoLoops(TIMED), clock);
    try (ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireClient client = deferredAndDecidedOnElsewhere(rig);
      whileItIsDecidedOn(rig, () -> clock.advance(TOTAL.plusSeconds(1)));

      timeIsOver(client.read());
      rig.close();
      assertThat(rig.outcomes).containsExactly(Outcome.IGNORED);
      assertThat(rig.deferrals).containsExactly(false, false);
      assertThat(engine.requests()).isEmpty();
    }
  }

  private static ProxySettings onTwoLoops(ProxySettings settings) {
    return settings.withListen(settings.listen().withEventLoops(2));
  }

  /**
   * Clients alternate between the event loops. The loop of the first deferred request decides for
   * all.
   */
  private static WireClient deferredAndDecidedOnElsewhere(ProxyRig rig) throws Exception {
    full(rig);
    WireClient first = deferred(rig, "/1", 0);
    WireClient second = deferred(rig, "/2", 1);
    first.close();
    ProxyRig.await("the first is forgotten", () -> rig.server().deferred() == 1);
    return second;
  }

  /**
   * Decides about the request, while its own event loop cancels it before it gets the decision.
   *
   * @param lettingGo makes the event loop cancel it
   */
  private static void whileItIsDecidedOn(ProxyRig rig, Runnable lettingGo) {
    rig.inDecision =
        () -> {
          lettingGo.run();
          ProxyRig.await("its event loop lets go", DeferredRequestTest::lettingGoWaits);
        };
    rig.waitMillis = 0;
    ProxyRig.await("it is let go", () -> rig.server().running() == 0);
  }

  /** True if a thread waits to leave the queue while a decision holds its lock. */
  private static boolean lettingGoWaits() {
    return Thread.getAllStackTraces().entrySet().stream()
        .anyMatch(DeferredRequestTest::waitsToLeave);
  }

  private static boolean waitsToLeave(Map.Entry<Thread, StackTraceElement[]> thread) {
    return thread.getKey().getState() == Thread.State.BLOCKED
        && Arrays.stream(thread.getValue()).anyMatch(at -> at.getClassName().endsWith(".Deferral"));
  }

  private static void close(WireClient client) {
    try {
      client.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
