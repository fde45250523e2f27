package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.proxy.admission.AdmissionSettings;
import io.pointsman.proxy.settings.ClientLimits;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.HangAfter;
import io.pointsman.testkit.engine.Faults.HangBeforeHeaders;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.net.InetAddress;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;

/** Requests that are too large, too slow or too many, and their answers. */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@EveryTransport
@Timeout(60)
class LimitsTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"m\"}";

  @Parameter Transport transport = Transport.AUTO;

  private static final LimitSettings SMALL = new LimitSettings(2000, 1024, 256, 1000, 1 << 20);

  @Test
  void announcedBodyAboveTheLimitIs413() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, ProxySettings.DEFAULTS.withLimits(SMALL));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireResponse response = rig.ask(ProxyRig.post(CHAT, " ".repeat(2001)));

      assertThat(response.status()).isEqualTo(413);
      assertThat(response.text()).contains("2000 bytes");
      assertThat(response.header("connection")).isEqualTo("close");
      assertThat(engine.requests()).isEmpty();
      assertThat(rig.outcomes).isEmpty();
    }
  }

  @Test
  void aSlowUploaderReadsTheRefusalAfterItsBody() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, ProxySettings.DEFAULTS.withLimits(SMALL))) {
      WireClient client = rig.connect();
      client.send("POST " + CHAT + " HTTP/1.1\r\nhost: r\r\ncontent-length: 3000000\r\n\r\n");
      for (int i = 0; i < 30; i++) {
        client.send(" ".repeat(100_000));
        Thread.sleep(100); // makes the upload slow
      }

      assertThat(client.read().status()).isEqualTo(413);
    }
  }

  @Test
  void anUploaderThatContinuesForTooLongIsCut() throws Exception {
    FakeClock clock = new FakeClock();
    ProxySettings settings = ProxySettings.DEFAULTS.withLimits(SMALL);
    try (ProxyRig rig = new ProxyRig(transport, settings, clock)) {
      WireClient client = rig.connect();
      client.send("POST " + CHAT + " HTTP/1.1\r\nhost: r\r\ncontent-length: 3000000\r\n\r\n");
      assertThat(client.head().status()).isEqualTo(413);
      clock.advance(Duration.ofSeconds(31));
      ProxyRig.await(
          "it cannot send any more",
          () -> {
            try {
              client.send(" ");
              return false;
            } catch (IOException _) {
              return true;
            }
          });
    }
  }

  @Test
  void chunkedBodyAboveTheLimitIs413() throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS.withLimits(LimitSettings.DEFAULTS.withMaxBodyBytes(2000));
    try (ProxyRig rig = new ProxyRig(transport, settings);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireClient client = rig.connect();
      client.send("POST " + CHAT + " HTTP/1.1\r\nhost: r\r\ntransfer-encoding: chunked\r\n\r\n");
      client.send("7d1\r\n" + " ".repeat(2001) + "\r\n");

      assertThat(client.read().status()).isEqualTo(413);
      assertThat(client.atEnd()).isTrue();
      assertThat(engine.requests()).isEmpty();
    }
  }

  @Test
  void headersAboveTheLimitAre431() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, ProxySettings.DEFAULTS.withLimits(SMALL))) {
      WireResponse response =
          rig.ask("GET / HTTP/1.1\r\nhost: r\r\nx-a: " + "a".repeat(1100) + "\r\n\r\n");

      assertThat(response.status()).isEqualTo(431);
      assertThat(response.header("x-request-id")).isNotNull();
    }
  }

  @Test
  void longRequestLineIs414() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, ProxySettings.DEFAULTS.withLimits(SMALL))) {
      assertThat(rig.ask("GET /" + "a".repeat(300) + " HTTP/1.1\r\nhost: r\r\n\r\n").status())
          .isEqualTo(414);
    }
  }

  @Test
  void bodyAboveTheBufferIsStreamed() throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS.withLimits(LimitSettings.DEFAULTS.withMaxBufferedBody(1000));
    String body = "{\"model\":\"m\",\"prompt\":\"" + "x".repeat(3_000_000) + "\"}";
    try (ProxyRig rig = new ProxyRig(transport, settings);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireClient client = rig.connect();

      assertThat(client.send(ProxyRig.post(CHAT, body)).read().status()).isEqualTo(200);
      EngineRequest request = engine.awaitRequest();
      assertThat(request.bodyText()).isEqualTo(body);
      assertThat(request.header("content-length")).isEqualTo(String.valueOf(body.length()));
      assertThat(client.send(ProxyRig.post(CHAT, body)).read().status()).isEqualTo(200);
    }
  }

  @Test
  void chunkedBodyAboveTheBufferIsStreamedInChunks() throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS.withLimits(LimitSettings.DEFAULTS.withMaxBufferedBody(1000));
    try (ProxyRig rig = new ProxyRig(transport, settings);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireClient client = rig.connect();
      client.send("POST " + CHAT + " HTTP/1.1\r\nhost: r\r\ntransfer-encoding: chunked\r\n\r\n");
      StringBuilder body = new StringBuilder();
      for (int i = 0; i < 200; i++) {
        String part = (i == 0 ? "{\"model\":\"m\",\"prompt\":\"" : "") + "y".repeat(500);
        client.send(Integer.toHexString(part.length()) + "\r\n" + part + "\r\n");
        body.append(part);
      }
      client.send("2\r\n\"}\r\n0\r\n\r\n");

      assertThat(client.read().status()).isEqualTo(200);
      EngineRequest request = engine.awaitRequest();
      assertThat(request.bodyText()).isEqualTo(body + "\"}");
      assertThat(request.header("transfer-encoding")).isEqualTo("chunked");
    }
  }

  @Test
  void readingResumesAfterABodyThatEndsWhenItExceedsTheBuffer() throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS.withLimits(LimitSettings.DEFAULTS.withMaxBufferedBody(1000));
    try (ProxyRig rig = new ProxyRig(transport, settings);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      WireClient client = rig.connect();
      String head = "POST /x HTTP/1.1\r\nhost: r\r\ntransfer-encoding: chunked\r\n\r\n";
      String body = "400\r\n" + "z".repeat(1024) + "\r\n0\r\n\r\n";

      assertThat(client.send(head + body).read().status()).isEqualTo(200);
      assertThat(client.send(head + body).read().status()).isEqualTo(200);
    }
  }

  @Test
  void clientThatStopsWithinAStreamedBodyIs408AndNotTheWorkersFault() throws Exception {
    Duration soon = Duration.ofMillis(400);
    ProxySettings settings =
        ProxySettings.DEFAULTS
            .withLimits(LimitSettings.DEFAULTS.withMaxBufferedBody(1000))
            .withTimeouts(
                TimeoutSettings.DEFAULTS
                    .withAnswer(Duration.ofMillis(200), Duration.ofSeconds(20))
                    .withClient(Duration.ofSeconds(20), soon, Duration.ofSeconds(20)));
    try (ProxyRig rig = new ProxyRig(transport, settings);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      String part =
          "POST /x HTTP/1.1\r\nhost: r\r\ncontent-length: 9000\r\n\r\n" + "z".repeat(5000);

      assertThat(rig.ask(part).status()).isEqualTo(408);
      ProxyRig.await("ended", () -> !rig.ended.isEmpty());
      assertThat(rig.ended.getFirst().blame()).isEqualTo("CLIENT");
      assertThat(rig.outcomes).containsExactly(Outcome.IGNORED);
    }
  }

  private static ProxySettings limited(int places, int queue, Duration wait, int status) {
    return ProxySettings.DEFAULTS.withAdmission(new AdmissionSettings(places, queue, wait, status));
  }

  @Test
  void fullQueueIs429() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, limited(1, 0, Duration.ofSeconds(5), 503));
        ScriptedEngine engine = ScriptedEngine.start(new HangBeforeHeaders())) {
      rig.worker(engine.url());
      WireClient first = rig.connect().send(ProxyRig.post(CHAT, BODY));
      engine.awaitRequest();

      WireResponse response = rig.ask("GET /any HTTP/1.1\r\nhost: r\r\n\r\n");

      assertThat(response.status()).isEqualTo(429);
      assertThat(response.header("retry-after")).isEqualTo("1");
      first.close();
    }
  }

  @Test
  void aLowPriorityGivesItsPlaceInTheFullQueueAway() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, limited(1, 1, Duration.ofSeconds(50), 503));
        ScriptedEngine engine = ScriptedEngine.start(new HangBeforeHeaders())) {
      rig.worker(engine.url());
      WireClient first = rig.connect().send(ProxyRig.post(CHAT, BODY));
      engine.awaitRequest();
      WireClient low =
          rig.connect().send(ProxyRig.post(CHAT, "x-pointsman-priority: low\r\n", BODY));
      ProxyRig.await("the low one waits", () -> rig.server().queued() == 1);

      WireClient usual = rig.connect().send(ProxyRig.post(CHAT, BODY));

      WireResponse displaced = low.read();
      assertThat(displaced.status()).isEqualTo(429);
      assertThat(displaced.text()).contains("\"code\":\"queue_displaced\"");
      assertThat(displaced.header("x-pointsman-shed-reason")).isEqualTo("queue_displaced");
      assertThat(displaced.header("retry-after")).isEqualTo("1");
      assertThat(rig.server().queued()).isEqualTo(1);
      assertThat(rig.waits).containsExactly(false);

      // Above limits.max-priority it is normal, as the one that waits.
      String high = ProxyRig.post(CHAT, "x-pointsman-priority: high\r\n", BODY);
      WireResponse full = rig.ask(high);
      assertThat(full.status()).isEqualTo(429);
      assertThat(full.header("x-pointsman-shed-reason")).isEqualTo("queue_full");
      WireResponse wrong = rig.ask(ProxyRig.post(CHAT, "x-pointsman-priority: urgent\r\n", BODY));
      assertThat(wrong.status()).isEqualTo(400);
      assertThat(wrong.text()).contains("x-pointsman-priority").contains("high, normal or low");
      usual.close();
      first.close();
    }
  }

  @Test
  void queueTimeoutIs503OrTheConfiguredStatus() throws Exception {
    for (int status : new int[] {503, 408}) {
      try (ProxyRig rig = new ProxyRig(transport, limited(1, 5, Duration.ofMillis(300), status));
          ScriptedEngine engine = ScriptedEngine.start(new HangBeforeHeaders())) {
        rig.worker(engine.url());
        WireClient first = rig.connect().send(ProxyRig.post(CHAT, BODY));
        engine.awaitRequest();

        assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).status()).isEqualTo(status);

        // It waited in the queue, and was not admitted.
        assertThat(rig.waits).containsExactly(false);
        first.close();
      }
    }
  }

  @Test
  void permitIsHeldToTheEndOfTheStreamAndGrantedInOrder() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    try (ProxyRig rig = new ProxyRig(transport, limited(1, 5, Duration.ofSeconds(20), 503));
        ScriptedEngine engine =
            ScriptedEngine.start(
                (request, connection) -> {
                  connection.beginEvents().chunk("data: " + request.line() + "\n\n");
                  end.await();
                  connection.lastChunk();
                })) {
      rig.worker(engine.url());
      WireClient first = rig.connect().send(ProxyRig.post("/1", BODY));
      first.head();
      assertThat(first.chunk()).contains("/1");
      WireClient second = rig.connect().send(ProxyRig.post("/2", BODY));
      ProxyRig.await("second waits", () -> rig.server().queued() == 1);
      WireClient third = rig.connect().send(ProxyRig.post("/3", BODY));
      ProxyRig.await("third waits", () -> rig.server().queued() == 2);
      assertThat(engine.requests()).hasSize(1);

      end.countDown();

      assertThat(second.read().status()).isEqualTo(200);
      assertThat(third.read().status()).isEqualTo(200);
      assertThat(engine.requests().stream().map(EngineRequest::line))
          .containsExactly("POST /1 HTTP/1.1", "POST /2 HTTP/1.1", "POST /3 HTTP/1.1");
      assertThat(rig.waits).containsExactly(true, true);
    }
  }

  @Test
  void aFreePermitWaitsForTheRate() throws Exception {
    AdmissionSettings settings = new AdmissionSettings(1, 5, Duration.ofSeconds(20), 503, 2);
    CountDownLatch end = new CountDownLatch(1);
    try (ProxyRig rig = new ProxyRig(transport, ProxySettings.DEFAULTS.withAdmission(settings));
        ScriptedEngine engine =
            ScriptedEngine.start(
                (request, connection) -> {
                  end.await();
                  Answer.ok().answer(request, connection);
                })) {
      rig.worker(engine.url());
      WireClient first = rig.connect().send(ProxyRig.post("/1", BODY));
      engine.awaitRequest();
      WireClient second = rig.connect().send(ProxyRig.post("/2", BODY));
      ProxyRig.await("second waits", () -> rig.server().queued() == 1);
      WireClient third = rig.connect().send(ProxyRig.post("/3", BODY));
      ProxyRig.await("third waits", () -> rig.server().queued() == 2);

      end.countDown();

      assertThat(first.read().status()).isEqualTo(200);
      assertThat(second.read().status()).isEqualTo(200);
      assertThat(third.read().status()).isEqualTo(200);
      assertThat(rig.waits).containsExactly(true, true);
    }
  }

  @Test
  void workerThatNeverAnswersIs504() throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS.withTimeouts(
            TimeoutSettings.DEFAULTS.withAnswer(Duration.ofMillis(300), Duration.ofSeconds(9)));
    try (ProxyRig rig = new ProxyRig(transport, settings);
        ScriptedEngine engine = ScriptedEngine.start(new HangBeforeHeaders());
        ScriptedEngine other = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      rig.worker(other.url());

      WireResponse response = rig.ask(ProxyRig.post(CHAT, BODY));

      assertThat(response.status()).isEqualTo(504);
      assertThat(response.text()).contains("\"code\":\"upstream_timeout\"");
      assertThat(rig.outcomes).containsExactly(new Outcome.Failed(Failure.TIMEOUT));
      assertThat(engine.awaitDeparture()).isTrue();
      assertThat(other.requests()).isEmpty();
    }
  }

  @Test
  void totalTimeoutEndsAnAnswerButNotAStream() throws Exception {
    FakeClock clock = new FakeClock();
    Duration total = Duration.ofMillis(400);
    ProxySettings settings =
        ProxySettings.DEFAULTS
            .withTimeouts(TimeoutSettings.DEFAULTS.withTotals(total, Duration.ZERO))
            .withListen(ListenSettings.DEFAULTS.withEventLoops(1));
    try (ProxyRig rig = new ProxyRig(transport, settings, clock);
        ScriptedEngine engine = ScriptedEngine.start(new HangBeforeHeaders())) {
      rig.worker(engine.url());
      WireClient first = rig.connect().send(ProxyRig.post(CHAT, BODY));
      engine.awaitRequest();
      clock.advance(total.plusMillis(1));
      assertThat(first.read().status()).isEqualTo(504);

      engine.now(new HangAfter("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab"));
      WireClient second = rig.connect().send(ProxyRig.post(CHAT, BODY));
      assertThat(second.head().status()).isEqualTo(200);
      clock.advance(total.plusMillis(1));
      int body = 0;
      while (!second.atEnd()) {
        body++;
      }
      assertThat(body).as("bytes of five").isLessThan(5);

      CountDownLatch late = new CountDownLatch(1);
      engine.now(
          (request, connection) -> {
            connection.beginEvents().chunk("data: x\n\n");
            late.await();
            connection.lastChunk();
          });
      WireClient third =
          rig.connect().send(ProxyRig.post(CHAT, "{\"model\":\"m\",\"stream\":true}"));
      third.head();
      assertThat(third.chunk()).isEqualTo("data: x\n\n");
      engine.now(new HangBeforeHeaders());
      WireClient fourth = rig.connect().send(ProxyRig.post(CHAT, BODY));
      ProxyRig.await("asked four times", () -> engine.requests().size() == 4);
      clock.advance(total.plusMillis(1));
      // There is one event loop. The sweep that ends this request has checked the stream too.
      assertThat(fourth.read().status()).isEqualTo(504);
      late.countDown();
      assertThat(third.chunk()).isEmpty();
    }
  }

  @Test
  void slowHeadAndSlowBodyAre408() throws Exception {
    Duration soon = Duration.ofMillis(300);
    ProxySettings settings =
        ProxySettings.DEFAULTS.withTimeouts(
            TimeoutSettings.DEFAULTS.withClient(soon, soon, Duration.ofSeconds(20)));
    try (ProxyRig rig = new ProxyRig(transport, settings)) {
      assertThat(rig.ask("GET / HTTP/1.1\r\nhost:").status()).isEqualTo(408);
      assertThat(rig.ask("POST / HTTP/1.1\r\nhost: r\r\ncontent-length: 9\r\n\r\n1").status())
          .isEqualTo(408);
    }
  }

  @Test
  void idleConnectionIsClosed() throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS.withTimeouts(
            TimeoutSettings.DEFAULTS.withClient(
                Duration.ofSeconds(9), Duration.ofSeconds(9), Duration.ofMillis(200)));
    try (ProxyRig rig = new ProxyRig(transport, settings)) {
      assertThat(rig.connect().atEnd()).isTrue();
    }
  }

  @Test
  void idleWorkerConnectionIsClosedAfterItsTimeout() throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS.withUpstream(
            io.pointsman.proxy.upstream.UpstreamSettings.DEFAULTS.withPoolIdleTimeout(
                Duration.ofMillis(200)));
    try (ProxyRig rig = new ProxyRig(transport, settings);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      rig.ask(ProxyRig.post(CHAT, BODY));

      assertThat(engine.awaitDeparture()).isTrue();
    }
  }

  private static final String UPLOAD =
      "POST " + CHAT + " HTTP/1.1\r\nhost: r\r\ncontent-length: 20000\r\n\r\n";

  private static ProxySettings clients(ClientLimits limits, long memory) {
    return ProxySettings.DEFAULTS.withLimits(
        LimitSettings.DEFAULTS
            .withMaxBufferedBody(1 << 16)
            .withMaxBufferedTotal(memory)
            .withClients(limits));
  }

  @Test
  void aBodyThatTricklesIs408() throws Exception {
    FakeClock clock = new FakeClock();
    ClientLimits limits =
        new ClientLimits(0, 1, 100, Duration.ofSeconds(10), Duration.ofSeconds(2), 1);
    try (ProxyRig rig = new ProxyRig(transport, clients(limits, 1 << 20), clock)) {
      WireClient slow = rig.connect().send(UPLOAD + "0123456789");
      ProxyRig.await("the body has memory", () -> rig.server().bodies().taken() > 0);
      AtomicBoolean over = new AtomicBoolean();
      Thread trickling =
          Thread.ofVirtual()
              .start(
                  () -> {
                    while (!over.get()) {
                      clock.advance(Duration.ofSeconds(1));
                      try {
                        slow.send("x");
                        Thread.sleep(2); // lets the router read single bytes
                      } catch (IOException | InterruptedException _) {
                        return;
                      }
                    }
                  });
      assertThat(slow.read().status()).isEqualTo(408);
      over.set(true);
      trickling.join();
      ProxyRig.await("the memory is free", () -> rig.server().bodies().taken() == 0);
    }
  }

  @Test
  void aBodyAboveTheMinimumRateIsServed() throws Exception {
    FakeClock clock = new FakeClock();
    ClientLimits limits =
        new ClientLimits(0, 1, 100, Duration.ofSeconds(10), Duration.ofSeconds(2), 1);
    try (ProxyRig rig = new ProxyRig(transport, clients(limits, 1 << 20), clock);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      String body = "{\"model\":\"m\",\"prompt\":\"" + "y".repeat(19_975) + "\"}";
      assertThat(body).hasSize(20_000);
      WireClient client = rig.connect().send(UPLOAD);
      for (int at = 0; at < body.length(); at += 1000) {
        client.send(body.substring(at, at + 1000));
        clock.advance(Duration.ofSeconds(5));
      }
      assertThat(client.read().status()).isEqualTo(200);
    }
  }

  /** A second address of the loopback is another client. */
  @Test
  void oneClientCannotHoldAllMemoryForBodies() throws Exception {
    ClientLimits limits =
        new ClientLimits(0, 0.5, 0, Duration.ofSeconds(10), Duration.ofSeconds(2), 1);
    try (ProxyRig rig = new ProxyRig(transport, clients(limits, 1 << 17));
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      rig.worker(engine.url());
      for (int i = 0; i < 16; i++) {
        rig.connect().send(UPLOAD + " ".repeat(10_000));
      }
      ProxyRig.await("its share is used", () -> rig.server().bodies().refused() > 0);
      assertThat(rig.server().bodies().taken()).isBetween(1L, 1L << 16);

      InetAddress other = InetAddress.getByAddress(new byte[] {127, 0, 0, 2});
      try (WireClient polite = new WireClient(rig.server().port(), other)) {
        assertThat(polite.send(ProxyRig.post(CHAT, BODY)).read().status()).isEqualTo(200);
      }
    }
  }
}
