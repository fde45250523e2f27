package io.pointsman.proxy;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.CircuitBreaker.State;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;

/** A worker that recovers during long streams. */
@SuppressWarnings("try") // tests may be interrupted
@EveryTransport
@Timeout(120)
class BreakerTrialTest {
  private static final String STREAM =
      ProxyRig.post("/v1/completions", "{\"model\":\"m\",\"stream\":true,\"prompt\":\"x\"}");

  @Parameter Transport transport = Transport.AUTO;

  private final FakeClock clock = new FakeClock();
  private final CountDownLatch last = new CountDownLatch(1);

  private final EngineScript goesOnUntilTheLast =
      (_, connection) -> {
        connection.beginEvents().chunk("data: a\n\n");
        last.await();
        connection.lastChunk();
      };

  private Worker open(Worker worker) {
    for (int i = 0; i < 10; i++) {
      requireNonNull(worker.tryLease(clock.nanos(), 0, 0, (_, _) -> {})).failed(Failure.ERROR);
    }
    assertThat(worker.breaker().state()).isEqualTo(State.OPEN);
    clock.advance(Duration.ofSeconds(60));
    return worker;
  }

  @Test
  void streamsThatStartSuccessfullyCloseTheBreakerBeforeTheirEnd() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, ProxySettings.DEFAULTS, clock)) {
      ScriptedEngine engine = rig.closing(ScriptedEngine.start(goesOnUntilTheLast));
      Worker worker = open(rig.worker(engine.url()));
      for (int i = 0; i < 5; i++) {
        assertThat(rig.connect().send(STREAM).head().status()).as("stream %s", i).isEqualTo(200);
      }
      assertThat(worker.breaker().state()).isEqualTo(State.CLOSED);
      assertThat(worker.inFlight()).isEqualTo(5);

      last.countDown();
      ProxyRig.await("all end", () -> rig.outcomes.size() == 5);
      assertThat(rig.outcomes).containsOnly(Outcome.SUCCEEDED);
    }
  }

  @Test
  void answersThatStartWithAnErrorDoNotCloseTheBreaker() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, ProxySettings.DEFAULTS, clock)) {
      ScriptedEngine engine =
          rig.closing(
              ScriptedEngine.start((_, c) -> c.reply(500, "application/json", "{\"error\":1}")));
      Worker worker = open(rig.worker(engine.url()));

      assertThat(rig.ask(STREAM).status()).isEqualTo(500);
      assertThat(worker.breaker().state()).isEqualTo(State.OPEN);
    }
  }
}
