package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.retry.RetrySettings;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.CloseAfter;
import io.pointsman.testkit.engine.Faults.HangAfter;
import io.pointsman.testkit.engine.Faults.OneRequestPerConnection;
import io.pointsman.testkit.engine.Faults.Raw;
import io.pointsman.testkit.engine.Faults.ResetAfterBytes;
import io.pointsman.testkit.engine.RefusedPort;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;

/** Retries: their conditions, their workers, and the client's answer if none succeeds. */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@EveryTransport
@Timeout(60)
class RetryTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"m\"}";

  @Parameter Transport transport = Transport.AUTO;

  private final Semaphore goOn = new Semaphore(0);

  private static final Outcome ERROR = new Outcome.Failed(Failure.ERROR);

  private void nextOneServes(
      io.pointsman.testkit.engine.EngineScript script, RetryReason reason, Outcome outcome)
      throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine broken = ScriptedEngine.start(script);
        ScriptedEngine whole = ScriptedEngine.start(Answer.ok())) {
      rig.worker(broken.url());
      rig.worker(whole.url());

      WireResponse response = rig.ask(ProxyRig.post(CHAT, BODY));

      assertThat(response.status()).isEqualTo(200);
      assertThat(response.header("x-pointsman-worker")).isEqualTo(whole.id());
      assertThat(broken.requests()).hasSize(1);
      assertThat(whole.requests().getFirst().bodyText()).isEqualTo(BODY);
      assertThat(rig.retried).containsExactly(reason);
      assertThat(rig.outcomes).containsExactly(outcome, Outcome.SUCCEEDED);
      assertThat(rig.ended.getFirst().attempts()).isEqualTo(2);
    }
  }

  @Test
  void nextWorkerServesAfterAnErrorStatus() throws Exception {
    nextOneServes(new Answer(500, "{}"), RetryReason.STATUS, ERROR);
    nextOneServes(new Answer(502, "{}"), RetryReason.STATUS, ERROR);
    nextOneServes(new Answer(504, "{}"), RetryReason.STATUS, ERROR);
    nextOneServes(new Answer(503, "{\"why\":\"dead\"}"), RetryReason.STATUS, ERROR);
  }

  @Test
  void nextWorkerServesAfter408WhichIsNoFailure() throws Exception {
    nextOneServes(new Answer(408, "{}"), RetryReason.STATUS, Outcome.REFUSED);
  }

  @Test
  void nextWorkerServesAfterAReset() throws Exception {
    nextOneServes(new ResetAfterBytes(""), RetryReason.RESET, ERROR);
    nextOneServes(new ResetAfterBytes("HTTP/1.1 200 O"), RetryReason.RESET, ERROR);
    nextOneServes(new CloseAfter(""), RetryReason.RESET, ERROR);
  }

  private static final String BROKEN_AT_ONCE =
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n";

  @Test
  void nextWorkerServesAfterABodyBrokenAtItsFirstByte() throws Exception {
    nextOneServes(new HangAfter(BROKEN_AT_ONCE), RetryReason.RESET, ERROR);
  }

  @Test
  void aBodyBrokenAtItsFirstByteIs502WithoutAnotherWorker() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine broken = ScriptedEngine.start(new HangAfter(BROKEN_AT_ONCE))) {
      rig.worker(broken.url());
      WireResponse response = rig.ask(ProxyRig.post(CHAT, BODY));

      assertThat(response.status()).isEqualTo(502);
      assertThat(response.text()).contains("\"code\":\"upstream_broke_off\"");
    }
  }

  @Test
  void nextWorkerServesAfterAnAnswerThatIsNotHttp() throws Exception {
    nextOneServes(new Raw("SSH-2.0-OpenSSH\r\n\r\n"), RetryReason.PROTOCOL, ERROR);
    nextOneServes(
        new Raw("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx"),
        RetryReason.PROTOCOL,
        ERROR);
    nextOneServes(
        new Raw("HTTP/1.1 200 OK\r\nx: a\r\n folded\r\ncontent-length: 0\r\n\r\n"),
        RetryReason.PROTOCOL,
        ERROR);
  }

  @Test
  void refusedConnectionIsRetriedElsewhereWithoutDelay() throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS.withRetry(
            RetrySettings.DEFAULTS.withBackoff(Duration.ofSeconds(30), Duration.ofSeconds(30)));
    try (ProxyRig rig = new ProxyRig(transport, settings);
        ScriptedEngine whole = ScriptedEngine.start(Answer.ok())) {
      Worker dead = rig.worker(rig.closing(RefusedPort.open()).url());
      rig.worker(whole.url());

      assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).status()).isEqualTo(200);

      assertThat(rig.outcomes)
          .containsExactly(new Outcome.Failed(Failure.CONNECT), Outcome.SUCCEEDED);
      assertThat(dead.health().healthy()).isFalse();
    }
  }

  @Test
  void lastErrorIsForwardedUnchangedWhenAllWereTried() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine one = ScriptedEngine.start(new Answer(500, "{\"from\":1}"));
        ScriptedEngine two =
            ScriptedEngine.start(
                new Raw(
                    "HTTP/1.1 502 Odd\r\nx-mine: 1\r\ntransfer-encoding: chunked\r\n\r\n"
                        + "4\r\nfrom\r\n1\r\n2\r\n0\r\n\r\n"))) {
      rig.worker(one.url());
      rig.worker(two.url());

      WireResponse response = rig.ask(ProxyRig.post(CHAT, BODY));

      assertThat(response.line()).isEqualTo("HTTP/1.1 502 Odd");
      assertThat(response.header("x-mine")).isEqualTo("1");
      assertThat(response.text()).isEqualTo("from2");
      assertThat(one.requests()).hasSize(1);
      assertThat(two.requests()).hasSize(1);
    }
  }

  @Test
  void attemptsAreBounded() throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS.withRetry(RetrySettings.DEFAULTS.withMaxAttempts(2));
    try (ProxyRig rig = new ProxyRig(transport, settings);
        ScriptedEngine one = ScriptedEngine.start(new Answer(500, "{\"from\":1}"));
        ScriptedEngine two = ScriptedEngine.start(new Answer(500, "{\"from\":2}"));
        ScriptedEngine three = ScriptedEngine.start(Answer.ok())) {
      rig.worker(one.url());
      rig.worker(two.url());
      rig.worker(three.url());

      assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).text()).isEqualTo("{\"from\":2}");
      assertThat(three.requests()).isEmpty();
    }
  }

  @Test
  void budgetStopsARetryStorm() throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS
            .withRetry(RetrySettings.DEFAULTS.withBudget(0.25, 0))
            .withListen(ListenSettings.DEFAULTS.withEventLoops(1));
    try (ProxyRig rig = new ProxyRig(transport, settings);
        ScriptedEngine one = ScriptedEngine.start(new Answer(500, "{\"from\":1}"));
        ScriptedEngine two = ScriptedEngine.start(Answer.ok())) {
      rig.worker(one.url());
      rig.worker(two.url());
      int served = 0;
      for (int i = 0; i < 8; i++) {
        served += rig.ask(ProxyRig.post(CHAT, BODY)).status() == 200 ? 1 : 0;
      }
      assertThat(served).isEqualTo(2);
    }
  }

  @Test
  void requestsThatAreNotAdmittedAddNoRetries() throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS
            .withRetry(RetrySettings.DEFAULTS.withBudget(0.25, 0))
            .withLimits(LimitSettings.DEFAULTS.withMaxBodyBytes(100))
            .withListen(ListenSettings.DEFAULTS.withEventLoops(1));
    try (ProxyRig rig = new ProxyRig(transport, settings);
        ScriptedEngine one = ScriptedEngine.start(new Answer(500, "{}"));
        ScriptedEngine two = ScriptedEngine.start(new Answer(500, "{}"))) {
      rig.worker(one.url());
      rig.worker(two.url());
      for (int i = 0; i < 8; i++) {
        assertThat(rig.ask(ProxyRig.post(CHAT, BODY + " ".repeat(100))).status()).isEqualTo(413);
      }
      assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).status()).isEqualTo(500);
      assertThat(rig.retried).isEmpty();
    }
  }

  @Test
  void noRetryFollowsAfterTheStartOfTheAnswer() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine one =
            ScriptedEngine.start(
                new CloseAfter("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\npart"));
        ScriptedEngine two = ScriptedEngine.start(Answer.ok())) {
      rig.worker(one.url());
      rig.worker(two.url());

      assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).complete()).isFalse();
      assertThat(two.requests()).isEmpty();
    }
  }

  @Test
  void stalePooledConnectionIsReplacedInvisibly() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport)) {
      // Answers one request on each connection, and closes it at the second one.
      ScriptedEngine engine =
          rig.closing(
              ScriptedEngine.start(
                  new io.pointsman.testkit.engine.EngineScript() {
                    private int last;

                    @Override
                    public synchronized void answer(
                        io.pointsman.testkit.engine.EngineRequest request,
                        io.pointsman.testkit.engine.EngineConnection connection)
                        throws java.io.IOException {
                      if (request.connection() == last) {
                        connection.reset();
                        return;
                      }
                      last = request.connection();
                      connection.reply(200, "application/json", "{}");
                    }
                  }));
      rig.worker(engine.url());
      WireClient client = rig.connect();

      for (int i = 0; i < 5; i++) {
        assertThat(client.send(ProxyRig.post(CHAT, BODY)).read().status()).isEqualTo(200);
      }

      assertThat(rig.retried).hasSize(4).containsOnly(RetryReason.STALE);
      assertThat(rig.outcomes).hasSize(5).containsOnly(Outcome.SUCCEEDED);
      assertThat(rig.ended).allMatch(e -> e.attempts() == 1);
    }
  }

  private static final ProxySettings NOT_AFTER_LATE_RESETS =
      ProxySettings.DEFAULTS.withRetry(RetrySettings.DEFAULTS.withAfterLateReset(false));

  /** Answers, but breaks the connection during the second request on a signal. */
  private static EngineScript breaksUnderTheSecond(Semaphore goOn) {
    AtomicInteger requests = new AtomicInteger();
    return (request, connection) -> {
      if (requests.incrementAndGet() == 2) {
        goOn.acquire();
        connection.reset();
      } else {
        Answer.ok().answer(request, connection);
      }
    };
  }

  private WireResponse afterALateReset(ProxyRig rig, FakeClock clock, ScriptedEngine breaking)
      throws Exception {
    WireClient client = rig.connect();
    assertThat(client.send(ProxyRig.post(CHAT, BODY)).read().status()).isEqualTo(200);
    client.send(ProxyRig.post(CHAT, BODY));
    ProxyRig.await("it has the second one", () -> breaking.requests().size() == 2);
    clock.advance(Duration.ofSeconds(60));
    goOn.release();
    return client.read();
  }

  @Test
  void lateResetIsNotStaleAndNotRetriedIfDisabled() throws Exception {
    FakeClock clock = new FakeClock();
    try (ProxyRig rig = new ProxyRig(transport, NOT_AFTER_LATE_RESETS, clock);
        ScriptedEngine breaking = ScriptedEngine.start(breaksUnderTheSecond(goOn));
        ScriptedEngine whole = ScriptedEngine.start(Answer.ok())) {
      rig.worker(breaking.url());
      rig.worker(whole.url());

      WireResponse response = afterALateReset(rig, clock, breaking);

      assertThat(response.status()).isEqualTo(502);
      assertThat(response.text()).contains("\"code\":\"upstream_reset\"");
      assertThat(rig.retried).isEmpty();
      assertThat(rig.outcomes).containsExactly(Outcome.SUCCEEDED, ERROR);
      assertThat(breaking.requests()).hasSize(2);
      assertThat(whole.requests()).isEmpty();
    }
  }

  @Test
  void requestIsRetriedAfterALateReset() throws Exception {
    FakeClock clock = new FakeClock();
    try (ProxyRig rig = new ProxyRig(transport, ProxySettings.DEFAULTS, clock);
        ScriptedEngine breaking = ScriptedEngine.start(breaksUnderTheSecond(goOn));
        ScriptedEngine whole = ScriptedEngine.start(Answer.ok())) {
      rig.worker(breaking.url());
      rig.worker(whole.url());

      assertThat(afterALateReset(rig, clock, breaking).status()).isEqualTo(200);

      assertThat(rig.retried).containsExactly(RetryReason.LATE_RESET);
      assertThat(breaking.requests()).hasSize(2);
      assertThat(whole.requests()).hasSize(1);
    }
  }

  @Test
  void requestFailsAfterTwoLateResets() throws Exception {
    FakeClock clock = new FakeClock();
    EngineScript breaks =
        (request, connection) -> {
          goOn.acquire();
          connection.reset();
        };
    try (ProxyRig rig = new ProxyRig(transport, ProxySettings.DEFAULTS, clock);
        ScriptedEngine one = ScriptedEngine.start(breaks);
        ScriptedEngine two = ScriptedEngine.start(breaks);
        ScriptedEngine whole = ScriptedEngine.start(Answer.ok())) {
      rig.worker(one.url());
      rig.worker(two.url());
      rig.worker(whole.url());
      WireClient client = rig.connect().send(ProxyRig.post(CHAT, BODY));
      for (ScriptedEngine breaking : List.of(one, two)) {
        ProxyRig.await("it has the request", () -> breaking.requests().size() == 1);
        clock.advance(Duration.ofSeconds(60));
        goOn.release();
      }

      assertThat(client.read().status()).isEqualTo(502);
      assertThat(rig.retried).containsExactly(RetryReason.LATE_RESET);
      assertThat(whole.requests()).isEmpty();
    }
  }

  @Test
  void staleConnectionIsReplacedEvenWithoutRetries() throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS.withRetry(RetrySettings.DEFAULTS.withMaxAttempts(1));
    try (ProxyRig rig = new ProxyRig(transport, settings);
        ScriptedEngine engine = ScriptedEngine.start(new OneRequestPerConnection(true))) {
      rig.worker(engine.url());
      WireClient client = rig.connect();

      for (int i = 0; i < 2; i++) {
        assertThat(client.send(ProxyRig.post(CHAT, BODY)).read().status()).isEqualTo(200);
      }
      assertThat(rig.retried).containsExactly(RetryReason.STALE);
    }
  }

  @Test
  void unrepeatableRequestUsesANewConnection() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(new OneRequestPerConnection(true))) {
      rig.worker(engine.url());
      WireClient client = rig.connect();

      for (int i = 0; i < 3; i++) {
        assertThat(client.send(ProxyRig.post("/load_adapter", BODY)).read().status())
            .isEqualTo(200);
      }
      assertThat(rig.retried).isEmpty();
      assertThat(engine.requests()).hasSize(3);
    }
  }

  @Test
  void unrepeatableRequestIsNotRetriedAfterItWasSent() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine broken = ScriptedEngine.start(new ResetAfterBytes(""));
        ScriptedEngine whole = ScriptedEngine.start(Answer.ok())) {
      rig.worker(broken.url());
      rig.worker(whole.url());

      assertThat(rig.ask(ProxyRig.post("/load_adapter", BODY)).status()).isEqualTo(502);
      assertThat(whole.requests()).isEmpty();
    }
  }

  private void isNotTriedElsewhereAfter(int status, String body) throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine broken = ScriptedEngine.start(new Answer(status, body));
        ScriptedEngine whole = ScriptedEngine.start(Answer.ok())) {
      rig.worker(broken.url());
      rig.worker(whole.url());

      WireResponse response = rig.ask(ProxyRig.post("/load_adapter", BODY));

      assertThat(response.status()).isEqualTo(status);
      assertThat(response.text()).isEqualTo(body);
      assertThat(whole.requests()).isEmpty();
      assertThat(rig.retried).isEmpty();
    }
  }

  @Test
  void unrepeatableRequestIsNotRetriedAfterAnError() throws Exception {
    isNotTriedElsewhereAfter(500, "{}");
    isNotTriedElsewhereAfter(502, "{}");
    isNotTriedElsewhereAfter(504, "{}");
    isNotTriedElsewhereAfter(408, "{}");
    isNotTriedElsewhereAfter(503, "{\"why\":\"dead\"}");
  }

  @Test
  void unrepeatableRequestIsRetriedAfterABusyWorker() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine busy = ScriptedEngine.start(new Answer(429, "{}"));
        ScriptedEngine whole = ScriptedEngine.start(Answer.ok())) {
      rig.worker(busy.url());
      rig.worker(whole.url());

      assertThat(rig.ask(ProxyRig.post("/load_adapter", BODY)).status()).isEqualTo(200);
      assertThat(rig.retried).containsExactly(RetryReason.BUSY);
    }
  }

  @Test
  void connectionClosedWhileIdleIsNotUsed() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireClient client = rig.connect();
      assertThat(client.send(ProxyRig.post(CHAT, BODY)).read().status()).isEqualTo(200);
      engine.closeConnections();

      assertThat(client.send(ProxyRig.post(CHAT, BODY)).read().status()).isEqualTo(200);
      assertThat(rig.outcomes).containsExactly(Outcome.SUCCEEDED, Outcome.SUCCEEDED);
    }
  }

  @Test
  void noWorkerIs503() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport)) {
      WireResponse response = rig.ask(ProxyRig.post(CHAT, BODY));

      assertThat(response.status()).isEqualTo(503);
      assertThat(response.header("retry-after")).isNotNull();
      assertThat(response.header("x-request-id")).isNotNull();
      assertThat(response.text()).contains("\"code\":\"no_workers\"");
    }
  }

  @Test
  void unknownModelIs404() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());

      WireResponse response = rig.ask(ProxyRig.post(CHAT, "{\"model\":\"no\\\"pe\"}"));

      assertThat(response.status()).isEqualTo(404);
      assertThat(response.text())
          .contains("\"code\":\"model_not_found\"")
          .contains("no\\\"pe")
          .contains("\"param\":\"model\"");
    }
  }

  @Test
  void unreachableWorkerIs502() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport)) {
      rig.worker(rig.closing(RefusedPort.open()).url());

      WireResponse response = rig.ask(ProxyRig.post(CHAT, BODY));

      assertThat(response.status()).isEqualTo(502);
      assertThat(response.text()).contains("\"code\":\"upstream_connect\"");
    }
  }
}
