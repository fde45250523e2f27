package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.retry.RetrySettings;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.upstream.EngineKeys;
import io.pointsman.proxy.upstream.UpstreamSettings;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.Raw;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
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
      assertThat(resting.restLeft(clock.nanos())).isPositive();
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

      assertThat(resting.restLeft(clock.nanos())).isEqualTo(TimeUnit.SECONDS.toNanos(7));
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
      assertThat(resting.restLeft(clock.nanos())).isEqualTo(TimeUnit.SECONDS.toNanos(30));
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
      assertThat(resting.restLeft(clock.nanos())).isPositive();
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

  private static Raw limited(String headers, String body) {
    return new Raw(
        "HTTP/1.1 429 Limited\r\nretry-after: 30\r\n"
            + headers
            + "content-length: "
            + body.length()
            + "\r\n\r\n"
            + body);
  }

  private static final String LIMIT_CODE =
      "{\"error\":{\"message\":\"m\",\"code\": \"rate_limit_exceeded\"}}";

  /** A limit of one caller: headers of the answer, its body, and the key of the request. */
  static Stream<Arguments> limitsOfOneCaller() {
    return Stream.of(
        Arguments.of("X-Pointsman-Limit: requests\r\n", "{}", ""),
        Arguments.of("", LIMIT_CODE, ""),
        Arguments.of("", LIMIT_CODE, "authorization: Bearer mine\r\n"));
  }

  @ParameterizedTest
  @MethodSource("limitsOfOneCaller")
  void aLimitOfOneCallerGoesToThisClientAndNoOther(String headers, String body, String key)
      throws Exception {
    try (ProxyRig rig = rig();
        ScriptedEngine one = ScriptedEngine.start(limited(headers, body));
        ScriptedEngine other = ScriptedEngine.start(limited(headers, body))) {
      List<Worker> workers = List.of(rig.worker(one.url()), rig.worker(other.url()));
      for (int i = 0; i < 12; i++) {
        WireResponse response = rig.ask(ProxyRig.post(CHAT, key, BODY));

        assertThat(response.status()).isEqualTo(429);
        assertThat(response.text()).isEqualTo(body);
        assertThat(response.values("retry-after")).containsExactly("30");
      }

      assertThat(rig.retried).isEmpty();
      assertThat(rig.outcomes).containsOnly(Outcome.REFUSED).hasSize(12);
      assertThat(one.requests().size() + other.requests().size()).isEqualTo(12);
      for (Worker worker : workers) {
        assertThat(worker.restLeft(clock.nanos())).isZero();
        assertThat(worker.failures()).isZero();
      }
    }
  }

  /** Signs of a limit of one caller without proof, as {@link #limitsOfOneCaller}. */
  static Stream<Arguments> possibleLimits() {
    return Stream.of(
        Arguments.of("X-RateLimit-Limit-Requests: 2\r\n", "{}", ""),
        Arguments.of("x-ratelimit-limit: 2\r\n", "{\"message\":\"queue of the client\"}", ""),
        Arguments.of("", "{\"detail\":\"slow down\"}", "authorization: Bearer mine\r\n"),
        Arguments.of("", "{\"detail\":\"slow down\"}", "x-api-key: mine\r\n"));
  }

  @ParameterizedTest
  @MethodSource("possibleLimits")
  void aPossibleLimitOfOneCallerIsTriedElsewhereWithoutARest(
      String headers, String body, String key) throws Exception {
    try (ProxyRig rig = rig();
        ScriptedEngine one = ScriptedEngine.start(limited(headers, body));
        ScriptedEngine other = ScriptedEngine.start(Answer.ok())) {
      Worker limiting = rig.worker(one.url());
      Worker free = rig.worker(other.url());
      for (int i = 0; i < 12; i++) {
        assertThat(rig.ask(ProxyRig.post(CHAT, key, BODY)).status()).isEqualTo(200);
      }

      assertThat(rig.retried).containsOnly(RetryReason.BUSY);
      assertThat(one.requests()).hasSizeGreaterThan(1);
      assertThat(limiting.restLeft(clock.nanos())).isZero();
      assertThat(limiting.failures()).isZero();

      free.rest(1_000_000_000L);
      WireResponse last = rig.ask(ProxyRig.post(CHAT, key, BODY));
      assertThat(last.status()).isEqualTo(429);
      assertThat(last.text()).isEqualTo(body);
      assertThat(last.values("retry-after")).containsExactly("30");
    }
  }

  @Test
  void aRouterThatShedsLoadRestsForTheHoldersOfKeys() throws Exception {
    String shed = "x-pointsman-shed-reason: queue_displaced\r\n";
    try (ProxyRig rig = rig();
        ScriptedEngine full = ScriptedEngine.start(limited(shed, "{}"));
        ScriptedEngine free = ScriptedEngine.start(Answer.ok())) {
      Worker resting = rig.worker(full.url());
      rig.worker(free.url());

      WireResponse response = rig.ask(ProxyRig.post(CHAT, "authorization: Bearer mine\r\n", BODY));

      assertThat(response.status()).isEqualTo(200);
      assertThat(resting.restLeft(clock.nanos())).isPositive();
    }
  }

  /** All clients share it. */
  @Test
  void aLimitOfTheRoutersOwnKeyLetsTheWorkerRest() throws Exception {
    ProxySettings keyed =
        ProxySettings.DEFAULTS.withUpstream(
            UpstreamSettings.DEFAULTS.withKeys(EngineKeys.of("operator")));
    try (ProxyRig rig = new ProxyRig(transport, keyed, clock);
        ScriptedEngine full =
            ScriptedEngine.start(limited("x-ratelimit-limit-requests: 5\r\n", LIMIT_CODE));
        ScriptedEngine free = ScriptedEngine.start(Answer.ok())) {
      Worker resting = rig.worker(full.url());
      rig.worker(free.url());

      assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).status()).isEqualTo(200);
      assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).status()).isEqualTo(200);

      assertThat(resting.restLeft(clock.nanos())).isPositive();
      assertThat(full.requests()).hasSize(1);
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"error\":\"Model is overloaded\",\"error_type\":\"overloaded\"}",
        "{\"error\":{\"code\":\"queue_full\"}}",
        "{\"error\":{\"code\":\"all_busy\"}}"
      })
  void anOverloadIsNoLimitOfTheCallerWithAKey(String body) throws Exception {
    try (ProxyRig rig = rig();
        ScriptedEngine full = ScriptedEngine.start(limited("x-ratelimit-limit: 5\r\n", body));
        ScriptedEngine free = ScriptedEngine.start(Answer.ok())) {
      Worker resting = rig.worker(full.url());
      rig.worker(free.url());

      WireResponse response = rig.ask(ProxyRig.post(CHAT, "authorization: Bearer mine\r\n", BODY));

      assertThat(response.status()).isEqualTo(200);
      assertThat(resting.restLeft(clock.nanos())).isPositive();
    }
  }
}
