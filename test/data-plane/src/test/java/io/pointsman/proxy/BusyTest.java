package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.retry.RetrySettings;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.Raw;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An engine that reports that it is busy has not failed. */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@EveryTransport
@Timeout(60)
class BusyTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"m\"}";

  @Parameter Transport transport = Transport.AUTO;

  /** Stands still, so a rest lasts for the complete test. */
  private final FakeClock clock = new FakeClock();

  private ProxyRig rig() throws IOException {
    return new ProxyRig(transport, ProxySettings.DEFAULTS, clock);
  }

  private static final String QUEUE_FULL =
      "{\"error\":{\"message\":\"full\",\"type\":\"Service"
          + " Unavailable\",\"param\":null,\"code\":503}}";

  private static Raw busy(int status, long seconds) {
    return new Raw(
        "HTTP/1.1 "
            + status
            + " Busy\r\nretry-after: "
            + seconds
            + "\r\ncontent-length: 2\r\n\r\n{}");
  }

  private void nextOneServes(io.pointsman.testkit.engine.EngineScript script) throws Exception {
    try (ProxyRig rig = rig();
        ScriptedEngine full = ScriptedEngine.start(script);
        ScriptedEngine free = ScriptedEngine.start(Answer.ok())) {
      Worker resting = rig.worker(full.url());
      rig.worker(free.url());

      assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).status()).isEqualTo(200);

      assertThat(rig.retried).containsExactly(RetryReason.BUSY);
      assertThat(rig.outcomes).containsExactly(Outcome.IGNORED, Outcome.SUCCEEDED);
      assertThat(resting.restState().left(clock.nanos())).isPositive();
      assertThat(resting.failures()).isZero();
      assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).status()).isEqualTo(200);
      assertThat(full.requests()).hasSize(1);
    }
  }

  @Test
  void after429TheNextWorkerServes() throws Exception {
    nextOneServes(new Answer(429, "{}"));
  }

  @Test
  void after503WithRetryAfterTheNextWorkerServes() throws Exception {
    nextOneServes(busy(503, 5));
  }

  @Test
  void after503OfAFullQueueTheNextWorkerServes() throws Exception {
    nextOneServes(new Answer(503, QUEUE_FULL));
  }

  @Test
  void workerRestsForItsRetryAfter() throws Exception {
    try (ProxyRig rig = rig();
        ScriptedEngine full = ScriptedEngine.start(busy(429, 7))) {
      Worker resting = rig.worker(full.url());
      rig.ask(ProxyRig.post(CHAT, BODY));

      assertThat(resting.restState().left(clock.nanos())).isEqualTo(TimeUnit.SECONDS.toNanos(7));
    }
  }

  /** A day, and values that overflow a long in nanoseconds. */
  @ParameterizedTest
  @ValueSource(longs = {86_400, 9_300_000_000L, 999_999_999_999_999_999L})
  void workerRestsAtMostForTheHonouredMaximum(long seconds) throws Exception {
    try (ProxyRig rig = rig();
        ScriptedEngine full = ScriptedEngine.start(busy(429, seconds))) {
      Worker resting = rig.worker(full.url());
      WireResponse response = rig.ask(ProxyRig.post(CHAT, BODY));

      assertThat(response.values("retry-after")).containsExactly("30");
      assertThat(resting.restState().left(clock.nanos())).isEqualTo(TimeUnit.SECONDS.toNanos(30));
    }
  }

  @Test
  void whenAllAreBusyTheClientGetsTheirStatusAndTheShortestRest() throws Exception {
    try (ProxyRig rig = rig();
        ScriptedEngine one = ScriptedEngine.start(busy(429, 3));
        ScriptedEngine two = ScriptedEngine.start(busy(429, 9))) {
      rig.worker(one.url());
      rig.worker(two.url());

      WireResponse response = rig.ask(ProxyRig.post(CHAT, BODY));

      assertThat(response.status()).isEqualTo(429);
      assertThat(response.values("retry-after")).containsExactly("3");
      WireResponse next = rig.ask(ProxyRig.post(CHAT, BODY));
      assertThat(next.status()).isEqualTo(429);
      assertThat(next.values("retry-after")).containsExactly("3");
      assertThat(one.requests()).hasSize(1);
    }
  }

  @Test
  void allOtherWorkersAreTriedWhileWorkersAreBusy() throws Exception {
    try (ProxyRig rig = rig();
        ScriptedEngine free = ScriptedEngine.start(Answer.ok())) {
      for (int i = 0; i < 7; i++) {
        rig.worker(rig.closing(ScriptedEngine.start(new Answer(503, QUEUE_FULL))).url());
      }
      rig.worker(free.url());

      assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).status()).isEqualTo(200);
    }
  }

  @Test
  void busyWorkerHasNotFailedEvenIfNoOtherMayBeTried() throws Exception {
    ProxySettings once =
        ProxySettings.DEFAULTS.withRetry(RetrySettings.DEFAULTS.withMaxAttempts(1));
    try (ProxyRig rig = new ProxyRig(transport, once, clock);
        ScriptedEngine full = ScriptedEngine.start(new Answer(503, QUEUE_FULL))) {
      Worker resting = rig.worker(full.url());

      WireResponse response = rig.ask(ProxyRig.post(CHAT, BODY));

      assertThat(response.status()).isEqualTo(503);
      assertThat(response.text()).isEqualTo(QUEUE_FULL);
      assertThat(response.values("retry-after")).containsExactly("1");
      assertThat(rig.outcomes).containsExactly(Outcome.IGNORED);
      assertThat(resting.restState().left(clock.nanos())).isPositive();
    }
  }

  @Test
  void anEmptyErrorLeavesNoBytesOnItsConnection() throws Exception {
    String error = "HTTP/1.1 429 Busy\r\ncontent-length: 0\r\n\r\n";
    try (ProxyRig rig = rig();
        ScriptedEngine engine = ScriptedEngine.start(new Raw(error))) {
      Worker worker = rig.worker(engine.url());
      WireClient client = rig.connect();

      assertThat(client.send(ProxyRig.post(CHAT, BODY)).read().status()).isEqualTo(429);
      clock.advance(Duration.ofSeconds(1));
      engine.now(new Raw(error + "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"));
      assertThat(client.send(ProxyRig.post(CHAT, BODY)).read().status()).isEqualTo(429);
      assertThat(engine.connections()).isEqualTo(1);
      clock.advance(Duration.ofSeconds(1));
      assertThat(client.send(ProxyRig.post(CHAT, BODY)).read().status()).isEqualTo(429);
      assertThat(engine.connections()).isEqualTo(2);
      assertThat(worker.failures()).isZero();
    }
  }
}
