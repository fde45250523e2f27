package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.admission.AdmissionSettings;
import io.pointsman.proxy.local.LocalEndpoint;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.proxy.telemetry.AttemptTrace;
import io.pointsman.proxy.telemetry.RequestReport;
import io.pointsman.proxy.telemetry.RequestTrace;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.proxy.telemetry.SideTrace;
import io.pointsman.proxy.telemetry.TraceContext;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.HangBeforeHeaders;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** An unexpected exception costs one client a status 500 and leaks nothing. */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
class DefectTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String REQUEST = ProxyRig.post(CHAT, "{\"model\":\"m\"}");

  private static void fails(ProxyRig rig) {
    AtomicInteger calls = new AtomicInteger();
    rig.inDecision =
        () -> {
          if (calls.getAndIncrement() == 0) {
            throw new IllegalStateException("a defect");
          }
        };
  }

  /** Checks that the client gets the router's error and that its next request is served. */
  private static void assertReportedAndServedAgain(ProxyRig rig) throws IOException {
    WireClient client = rig.connect();

    WireResponse response = client.send(REQUEST).read();

    assertThat(response.status()).isEqualTo(500);
    assertThat(response.text()).contains("\"code\":\"internal\"");
    assertThat(rig.outcomes).containsExactly(Outcome.IGNORED);
    assertThat(client.send(REQUEST).read().status()).isEqualTo(200);
  }

  @Test
  void defectInTheDecision() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      fails(rig);
      assertReportedAndServedAgain(rig);
    }
  }

  @Test
  void defectInTheDecisionOfADelayedRetry() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine broken = ScriptedEngine.start(new Answer(500, "{}"));
        ScriptedEngine whole = ScriptedEngine.start(Answer.ok())) {
      rig.worker(broken.url());
      rig.worker(whole.url());
      AtomicInteger calls = new AtomicInteger();
      rig.inDecision =
          () -> {
            if (calls.getAndIncrement() == 1) {
              throw new IllegalStateException("a defect");
            }
          };

      assertThat(rig.ask(REQUEST).status()).isEqualTo(500);
      assertThat(whole.requests()).isEmpty();
    }
  }

  @Test
  void defectInTheDecisionOfAQueuedRequest() throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS.withAdmission(
            new AdmissionSettings(1, 10, Duration.ofSeconds(30), 503));
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, settings);
        ScriptedEngine engine = ScriptedEngine.start(new HangBeforeHeaders())) {
      rig.worker(engine.url());
      WireClient first = rig.connect().send(REQUEST);
      engine.awaitRequest();
      WireClient second = rig.connect().send(REQUEST);
      ProxyRig.await("queued", () -> rig.server().queued() == 1);
      fails(rig);
      first.close();

      assertThat(second.read().status()).isEqualTo(500);
    }
  }

  enum Place {
    SENDING,
    ANSWERING
  }

  /** Trace that throws once, at one place. */
  private static final class Throwing implements RequestTrace, AttemptTrace {
    private final Place where;
    private boolean thrown;

    Throwing(Place where) {
      this.where = where;
    }

    private void at(Place place) {
      if (place == where && !thrown) {
        thrown = true;
        throw new OutOfMemoryError("by design");
      }
    }

    @Override
    public AttemptTrace attempt(Worker worker) {
      return this;
    }

    @Override
    public TraceContext context() {
      at(Place.SENDING);
      return new TraceContext("00-1", "");
    }

    @Override
    public void answered(int status) {
      at(Place.ANSWERING);
    }

    @Override
    public void ended(int status, @Nullable RetryReason failure) {}

    @Override
    public void aborted() {}

    @Override
    public SideTrace side(Worker worker, SideTrace.Purpose purpose) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void ended(RequestReport report) {}
  }

  @ParameterizedTest
  @EnumSource(Place.class)
  void defectAtTheStartOfAnAttempt(Place where) throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      Throwing trace = new Throwing(where);
      rig.tracer = (_, _, _, _) -> trace;
      assertReportedAndServedAgain(rig);
    }
  }

  @Test
  void defectAfterAnAnswerSendsNoSecondAnswer() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      rig.inSettled =
          () -> {
            throw new IllegalStateException("a defect");
          };
      WireClient client = rig.connect().send(REQUEST);
      ProxyRig.await("ended", () -> rig.ended.size() == 1);

      assertThat(client.atEnd()).isTrue();
      assertThat(rig.ended.getFirst().blame()).isEqualTo("ROUTER");
    }
  }

  @Test
  void defectInALocalEndpoint() throws Exception {
    LocalRoutes routes =
        LocalRoutes.builder()
            .on(
                "GET",
                "/deep",
                request -> {
                  throw new StackOverflowError();
                })
            .build();
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS, routes)) {
      assertThat(rig.ask("GET /deep HTTP/1.1\r\nhost: r\r\n\r\n").status()).isEqualTo(500);
    }
  }

  @Test
  void aLocalEndpointHasATimeout() throws Exception {
    CountDownLatch never = new CountDownLatch(1);
    LocalRoutes routes =
        LocalRoutes.builder()
            .on(
                "GET",
                "/slow",
                request -> {
                  never.await();
                  throw new IllegalStateException("given up");
                })
            .build();
    ProxySettings settings =
        ProxySettings.DEFAULTS.withTimeouts(
            TimeoutSettings.DEFAULTS.withTotals(Duration.ofMillis(300), Duration.ZERO));
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, settings, routes)) {
      assertThat(rig.ask("GET /slow HTTP/1.1\r\nhost: r\r\n\r\n").status()).isEqualTo(504);
    } finally {
      never.countDown();
    }
  }

  /** Waits for an event; counts its clients that left. */
  private static final class Waiting implements LocalEndpoint {
    private final CountDownLatch event = new CountDownLatch(1);
    private final CountDownLatch left = new CountDownLatch(1);

    @Override
    public LocalResponse handle(LocalRequest request) throws InterruptedException {
      try {
        event.await();
      } catch (InterruptedException e) {
        left.countDown();
        throw e;
      }
      return LocalResponse.text(200, "now");
    }

    @Override
    public boolean waits() {
      return true;
    }
  }

  @Test
  void anEndpointThatWaitsEndsByItselfOrWithItsClient() throws Exception {
    CountDownLatch never = new CountDownLatch(1);
    Waiting waiting = new Waiting();
    LocalRoutes routes =
        LocalRoutes.builder()
            .on("GET", "/waits", waiting)
            .on(
                "GET",
                "/slow",
                request -> {
                  never.await();
                  throw new IllegalStateException("given up");
                })
            .build();
    ProxySettings settings =
        ProxySettings.DEFAULTS.withTimeouts(
            TimeoutSettings.DEFAULTS.withTotals(Duration.ofMillis(300), Duration.ZERO));
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, settings, routes)) {
      WireClient patient = rig.connect().send("GET /waits HTTP/1.1\r\nhost: r\r\n\r\n");
      WireClient leaves = rig.connect().send("GET /waits HTTP/1.1\r\nhost: r\r\n\r\n");
      // Begins later, and has the usual limit.
      assertThat(rig.ask("GET /slow HTTP/1.1\r\nhost: r\r\n\r\n").status()).isEqualTo(504);
      leaves.close();
      assertThat(waiting.left.await(60, TimeUnit.SECONDS)).isTrue();
      waiting.event.countDown();
      assertThat(patient.read().status()).isEqualTo(200);
    } finally {
      never.countDown();
    }
  }

  @Test
  void aDefectInTheTimeoutCheckOfAClientAffectsNoOtherClient() throws Exception {
    TimeoutSettings soon =
        TimeoutSettings.DEFAULTS.withAnswer(Duration.ofMillis(500), Duration.ZERO);
    AtomicBoolean thrown = new AtomicBoolean();
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS.withTimeouts(soon));
        ScriptedEngine engine = ScriptedEngine.start(new HangBeforeHeaders())) {
      rig.worker(engine.url());
      rig.inSettled =
          () -> {
            if (!thrown.getAndSet(true)) {
              throw new AssertionError("by design");
            }
          };
      List<WireClient> clients = new ArrayList<>();
      for (int i = 0; i < 12; i++) {
        clients.add(rig.connect().send(REQUEST));
      }
      int answered = 0;
      for (WireClient client : clients) {
        answered += client.line() == null ? 0 : 1;
      }
      assertThat(answered).isEqualTo(clients.size() - 1);
    }
  }
}
