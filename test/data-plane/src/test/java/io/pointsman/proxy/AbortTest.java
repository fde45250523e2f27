package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.admission.AdmissionSettings;
import io.pointsman.proxy.retry.RetrySettings;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.HangAfter;
import io.pointsman.testkit.engine.Faults.HangBeforeHeaders;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;

/**
 * A client that leaves is noticed in each phase. The engine request is cancelled immediately and
 * does not count as a failure.
 */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@EveryTransport
@Timeout(60)
class AbortTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"m\"}";

  @Parameter Transport transport = Transport.AUTO;

  private void leaves(
      String request, io.pointsman.testkit.engine.EngineScript script, boolean reset)
      throws Exception {
    // The clock stands still, so no timeout can end the request.
    try (ProxyRig rig = new ProxyRig(transport, ProxySettings.DEFAULTS, new FakeClock());
        ScriptedEngine engine = ScriptedEngine.start(script)) {
      Worker worker = rig.worker(engine.url());
      WireClient client = rig.connect().send(request);
      engine.awaitRequest();
      assertThat(worker.inFlight()).isEqualTo(1);

      if (reset) {
        client.reset();
      } else {
        client.close();
      }

      assertThat(engine.awaitDeparture()).isTrue();
      ProxyRig.await("ended", () -> !rig.ended.isEmpty());
      assertThat(rig.outcomes).containsExactly(Outcome.IGNORED);
      assertThat(rig.ended.getFirst().left()).isTrue();
      assertThat(worker.inFlight()).isZero();
    }
  }

  @Test
  void clientLeavesBeforeTheHead() throws Exception {
    leaves(ProxyRig.post(CHAT, BODY), new HangBeforeHeaders(), false);
  }

  @Test
  void clientResetsBeforeTheHead() throws Exception {
    leaves(ProxyRig.post(CHAT, BODY), new HangBeforeHeaders(), true);
  }

  @Test
  void clientLeavesInTheMiddleOfAStream() throws Exception {
    leaves(
        ProxyRig.post(CHAT, BODY),
        new HangAfter(
            "HTTP/1.1 200 OK\r\n"
                + "content-type: text/event-stream\r\n"
                + "transfer-encoding: chunked\r\n\r\n"
                + "b\r\n"
                + "data: one\n\n\r\n"),
        false);
  }

  @Test
  void clientLeavesInTheMiddleOfAnAnswerWithLength() throws Exception {
    leaves(
        ProxyRig.post(CHAT, BODY),
        new HangAfter("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart"),
        true);
  }

  @Test
  void clientLeavesWhileItSendsItsBody() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      rig.connect()
          .send("POST " + CHAT + " HTTP/1.1\r\nhost: r\r\ncontent-length: 100\r\n\r\n{")
          .close();

      ProxyRig.await("ended", () -> !rig.ended.isEmpty());
      assertThat(rig.outcomes).isEmpty();
      assertThat(engine.requests()).isEmpty();
    }
  }

  /** The reset arrives before the router reads the bytes, which must not hide it. */
  @Test
  void clientResetsDirectlyAfterItsBytes() throws Exception {
    int clients = 100;
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      for (int i = 0; i < clients; i++) {
        rig.connect()
            .send("POST " + CHAT + " HTTP/1.1\r\nhost: r\r\ncontent-length: 100\r\n\r\n{")
            .reset();
      }

      // Connections are accepted in order; this one follows all others.
      assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).status()).isEqualTo(200);
      ProxyRig.await("every end is seen", () -> rig.ended.size() == clients + 1);
      ProxyRig.await("nobody is connected", () -> rig.server().running() == 0);
      assertThat(rig.ended).filteredOn(each -> !each.left()).hasSize(1);
      assertThat(engine.requests()).hasSize(1);
    }
  }

  @Test
  void clientLeavesWhileItWaitsInTheQueue() throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS.withAdmission(
            new AdmissionSettings(1, 10, Duration.ofSeconds(30), 503));
    try (ProxyRig rig = new ProxyRig(transport, settings);
        ScriptedEngine engine = ScriptedEngine.start(new HangBeforeHeaders())) {
      rig.worker(engine.url());
      WireClient first = rig.connect().send(ProxyRig.post(CHAT, BODY));
      engine.awaitRequest();
      WireClient second = rig.connect().send(ProxyRig.post(CHAT, BODY));
      ProxyRig.await("queued", () -> rig.server().queued() == 1);

      second.close();

      ProxyRig.await("gone from the queue", () -> rig.server().queued() == 0);
      ProxyRig.await("reported", () -> !rig.waits.isEmpty());
      assertThat(rig.waits).containsExactly(false);
      engine.now(Answer.ok());
      first.close();
      assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).status()).isEqualTo(200);
    }
  }

  @Test
  void clientLeavesDuringTheDelayOfARetry() throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS.withRetry(
            RetrySettings.DEFAULTS.withBackoff(Duration.ofSeconds(20), Duration.ofSeconds(30)));
    try (ProxyRig rig = new ProxyRig(transport, settings);
        ScriptedEngine broken = ScriptedEngine.start(new Answer(500, "{}"));
        ScriptedEngine whole = ScriptedEngine.start(Answer.ok())) {
      rig.worker(broken.url());
      rig.worker(whole.url());
      WireClient client = rig.connect().send(ProxyRig.post(CHAT, BODY));
      ProxyRig.await("retried", () -> !rig.retried.isEmpty());

      client.close();

      ProxyRig.await("ended", () -> !rig.ended.isEmpty());
      assertThat(whole.requests()).isEmpty();
    }
  }
}
