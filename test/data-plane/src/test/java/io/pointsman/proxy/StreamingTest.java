package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.CloseAfter;
import io.pointsman.testkit.engine.Faults.EventStream;
import io.pointsman.testkit.engine.Faults.HangAfter;
import io.pointsman.testkit.engine.Faults.MalformedChunk;
import io.pointsman.testkit.engine.Faults.ResetAfterBytes;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;

/** Event streams: relayed on arrival, no faster than the client reads, with a proper end. */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@EveryTransport
@Timeout(60)
class StreamingTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"m\"}";

  @Parameter Transport transport = Transport.AUTO;

  private static final String EVENTS_HEAD =
      "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
  private static final String ONE_EVENT = EVENTS_HEAD + "b\r\ndata: one\n\n\r\n";

  @Test
  void chunksArriveAsTheyAreSent() throws Exception {
    CountDownLatch seen = new CountDownLatch(1);
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine =
            ScriptedEngine.start(
                (request, connection) -> {
                  connection.beginEvents().chunk("data: one\n\n");
                  seen.await();
                  connection.chunk("data: two\n\n").lastChunk();
                })) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(ProxyRig.post(CHAT, BODY));

      assertThat(client.head().header("content-type")).startsWith("text/event-stream");
      assertThat(client.chunk()).isEqualTo("data: one\n\n");
      seen.countDown();
      assertThat(client.chunk()).isEqualTo("data: two\n\n");
      assertThat(client.chunk()).isEmpty();
      ProxyRig.await("ended", () -> !rig.ended.isEmpty());
      assertThat(rig.ended.getFirst().ttft()).isPositive();
      assertThat(rig.outcomes).containsExactly(Outcome.SUCCEEDED);
    }
  }

  @Test
  void connectionServesTheNextRequestAfterAStream() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(new EventStream(List.of("a", "b")))) {
      rig.worker(engine.url());
      WireClient client = rig.connect();
      for (int i = 0; i < 5; i++) {
        WireResponse response = client.send(ProxyRig.post(CHAT, BODY)).read();
        assertThat(response.text()).isEqualTo("data: a\n\ndata: b\n\ndata: [DONE]\n\n");
      }
      assertThat(engine.connections()).isEqualTo(1);
    }
  }

  @Test
  void slowReaderSlowsTheEngine() throws Exception {
    AtomicLong sent = new AtomicLong();
    String data = "x".repeat(65_536);
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine =
            ScriptedEngine.start(
                (request, connection) -> {
                  connection.beginEvents();
                  for (int i = 0; i < 1600; i++) {
                    connection.chunk(data);
                    sent.addAndGet(data.length());
                  }
                  connection.lastChunk();
                })) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(ProxyRig.post(CHAT, BODY));
      client.head();

      rig.settled(sent::get);
      assertThat(sent.get()).isLessThan(40L << 20);
      long read = 0;
      String chunk;
      while ((chunk = client.chunk()) != null && !chunk.isEmpty()) {
        read += chunk.length();
      }
      assertThat(read).isEqualTo(1600L * 65_536);
      // The pooled connection must read again for its next user.
      engine.now(Answer.ok());
      assertThat(client.send(ProxyRig.post(CHAT, BODY)).read().status()).isEqualTo(200);
    }
  }

  @Test
  void workersConnectionReadsAgainAfterAnAnswerOfAnySize() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine =
            ScriptedEngine.start(
                (request, connection) -> {
                  int size = Integer.parseInt(request.line().split("[/ ]", -1)[2]);
                  connection.reply(200, "text/plain", "x".repeat(size));
                })) {
      rig.worker(engine.url());
      WireClient client = rig.connect();
      for (int size = 1000; size < 400_000; size += 9_973) {
        client.send("GET /" + size + " HTTP/1.1\r\nhost: r\r\n\r\n");
        assertThat(client.read().body()).hasSize(size);
      }
      assertThat(engine.connections()).isEqualTo(1);
    }
  }

  private void cutStreamEndsWithAnErrorEvent(
      io.pointsman.testkit.engine.EngineScript script, Outcome outcome, String code)
      throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(script)) {
      rig.worker(engine.url());
      WireClient client = rig.connect();
      WireResponse response = client.send(ProxyRig.post(CHAT, BODY)).read();

      assertThat(response.complete()).isTrue();
      assertThat(response.text())
          .matches("(?s)data: one\n\n(\n\n)?data: \\{\"error\":\\{\"message\":.*")
          .contains("\"code\":\"" + code + "\"")
          .doesNotContain("[DONE]")
          .endsWith("\n\n");
      assertThat(rig.outcomes).containsExactly(outcome);
      engine.now(Answer.ok());
      assertThat(client.send(ProxyRig.post(CHAT, BODY)).read().status()).isEqualTo(200);
    }
  }

  @Test
  void resetBetweenEventsBecomesAnErrorEvent() throws Exception {
    cutStreamEndsWithAnErrorEvent(
        new ResetAfterBytes(ONE_EVENT), new Outcome.Failed(Failure.ERROR), "upstream_broke_off");
  }

  @Test
  void closeBetweenEventsBecomesAnErrorEvent() throws Exception {
    cutStreamEndsWithAnErrorEvent(
        new CloseAfter(ONE_EVENT), new Outcome.Failed(Failure.ERROR), "upstream_broke_off");
  }

  @Test
  void malformedChunkBecomesAnErrorEvent() throws Exception {
    cutStreamEndsWithAnErrorEvent(
        new MalformedChunk(), new Outcome.Failed(Failure.ERROR), "upstream_broke_off");
  }

  @Test
  void silenceBecomesAnErrorEvent() throws Exception {
    FakeClock clock = new FakeClock();
    ProxySettings settings =
        ProxySettings.DEFAULTS.withTimeouts(
            TimeoutSettings.DEFAULTS.withAnswer(Duration.ofSeconds(20), Duration.ofMillis(400)));
    try (ProxyRig rig = new ProxyRig(transport, settings, clock);
        ScriptedEngine engine = ScriptedEngine.start(new HangAfter(ONE_EVENT))) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(ProxyRig.post(CHAT, BODY));
      client.head();
      assertThat(client.chunk()).isEqualTo("data: one\n\n");

      clock.advance(Duration.ofMillis(401));

      assertThat(client.chunk())
          .startsWith("data: {\"error\":{\"message\":")
          .contains("\"code\":\"upstream_stalled\"")
          .endsWith("\n\n");
      assertThat(client.chunk()).isEmpty();
      ProxyRig.await("ended", () -> !rig.ended.isEmpty());
      assertThat(rig.outcomes).containsExactly(new Outcome.Failed(Failure.TIMEOUT));
      engine.now(Answer.ok());
      assertThat(client.send(ProxyRig.post(CHAT, BODY)).read().status()).isEqualTo(200);
    }
  }

  /** Engines send the head of a stream before they have computed the prompt. */
  @Test
  void firstByteTimeoutAppliesAfterTheHeadOfAStream() throws Exception {
    CountDownLatch computed = new CountDownLatch(1);
    FakeClock clock = new FakeClock();
    ProxySettings settings =
        ProxySettings.DEFAULTS
            .withTimeouts(
                TimeoutSettings.DEFAULTS.withAnswer(Duration.ofSeconds(20), Duration.ofSeconds(1)))
            .withSseKeepalive(Duration.ofSeconds(15));
    try (ProxyRig rig = new ProxyRig(transport, settings, clock);
        ScriptedEngine engine =
            ScriptedEngine.start(
                (request, connection) -> {
                  connection.beginEvents();
                  computed.await();
                  connection.chunk("data: one\n\n").lastChunk();
                })) {
      Worker worker = rig.worker(engine.url());
      long before = clock.nanos();
      WireClient client = rig.connect().send(ProxyRig.post(CHAT, BODY));
      ProxyRig.await("head arrived", () -> worker.begunSince(before));

      clock.advance(Duration.ofSeconds(19));

      client.head();
      assertThat(client.chunk()).isEqualTo(": keep-alive\n\n");
      computed.countDown();
      assertThat(client.chunk()).isEqualTo("data: one\n\n");
      assertThat(client.chunk()).isEmpty();
      ProxyRig.await("ended", () -> !rig.ended.isEmpty());
      assertThat(rig.outcomes).containsExactly(Outcome.SUCCEEDED);
    }
  }

  /** The head waits for the first byte of the body, because another worker may still serve. */
  @Test
  void streamWithoutAByteIs504WhenTheFirstByteIsLate() throws Exception {
    FakeClock clock = new FakeClock();
    ProxySettings settings =
        ProxySettings.DEFAULTS.withTimeouts(
            TimeoutSettings.DEFAULTS.withAnswer(Duration.ofSeconds(20), Duration.ofHours(1)));
    try (ProxyRig rig = new ProxyRig(transport, settings, clock);
        ScriptedEngine engine = ScriptedEngine.start(new HangAfter(EVENTS_HEAD))) {
      Worker worker = rig.worker(engine.url());
      long before = clock.nanos();
      WireClient client = rig.connect().send(ProxyRig.post(CHAT, BODY));
      ProxyRig.await("head arrived", () -> worker.begunSince(before));

      clock.advance(Duration.ofSeconds(21));

      WireResponse response = client.read();
      assertThat(response.status()).isEqualTo(504);
      assertThat(response.text()).contains("\"code\":\"upstream_timeout\"");
      ProxyRig.await("ended", () -> !rig.ended.isEmpty());
      assertThat(rig.outcomes).containsExactly(new Outcome.Failed(Failure.TIMEOUT));
    }
  }

  private void cutAnswerIsNotComplete(String bytes) throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(new CloseAfter(bytes))) {
      rig.worker(engine.url());
      WireClient client = rig.connect();
      WireResponse response = client.send(ProxyRig.post(CHAT, BODY)).read();

      assertThat(response.complete()).isFalse();
      assertThat(client.atEnd()).isTrue();
      ProxyRig.await("ended", () -> !rig.ended.isEmpty());
      assertThat(rig.outcomes).containsExactly(new Outcome.Failed(Failure.ERROR));
      assertThat(rig.ended.getFirst().blame()).isEqualTo("UPSTREAM");
    }
  }

  private void cutWithinEndsWithAnErrorEvent(String bytes, String text) throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(new CloseAfter(EVENTS_HEAD + bytes))) {
      rig.worker(engine.url());
      WireResponse response = rig.ask(ProxyRig.post(CHAT, BODY));

      assertThat(response.complete()).isTrue();
      assertThat(response.text()).startsWith(text + "\n\ndata: {\"error\":").endsWith("}\n\n");
      ProxyRig.await("ended", () -> !rig.ended.isEmpty());
      assertThat(rig.outcomes).containsExactly(new Outcome.Failed(Failure.ERROR));
    }
  }

  @Test
  void cutEventIsClosedBeforeTheErrorEvent() throws Exception {
    cutWithinEndsWithAnErrorEvent("9\r\ndata: one\r\n", "data: one");
  }

  @Test
  void cutChunkIsFilledBeforeTheErrorEvent() throws Exception {
    cutWithinEndsWithAnErrorEvent("ff\r\ndata: one", "data: one" + "\n".repeat(255 - 9));
    cutWithinEndsWithAnErrorEvent("9\r\ndata: one", "data: one");
    cutWithinEndsWithAnErrorEvent("9\r\ndata: one\r", "data: one");
  }

  @Test
  void chunkCutAfterItsSizeIsFilledBeforeTheErrorEvent() throws Exception {
    String one = "9\r\ndata: one\r\n";
    cutWithinEndsWithAnErrorEvent(one + "3", "data: one\n\n\n");
    cutWithinEndsWithAnErrorEvent(one + "3\r", "data: one\n\n\n");
    cutWithinEndsWithAnErrorEvent(one + "3\r\n", "data: one\n\n\n");
  }

  @Test
  void hugeCutChunkBreaksTheConnection() throws Exception {
    cutAnswerIsNotComplete(EVENTS_HEAD + "ffffff\r\ndata: one\n\n");
  }

  @Test
  void cutChunkedAnswerBreaksTheConnection() throws Exception {
    cutAnswerIsNotComplete(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n"
            + "2\r\n{}\r\n");
  }

  /** It is buffered until it is complete, because its engine may have aborted it. */
  @Test
  void cutAnswerInOnePieceIs502() throws Exception {
    String cut = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{";
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(new CloseAfter(cut))) {
      rig.worker(engine.url());

      assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).status()).isEqualTo(502);
      assertThat(rig.outcomes).containsExactly(new Outcome.Failed(Failure.ERROR));
    }
  }

  @Test
  void cutAnswerWithLengthBreaksTheConnection() throws Exception {
    cutAnswerIsNotComplete("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart");
  }

  @Test
  void resetIsNotTheEndOfAnAnswerThatEndsWithItsConnection() throws Exception {
    ResetAfterBytes reset =
        new ResetAfterBytes("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\npart");
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(reset)) {
      rig.worker(engine.url());

      assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).complete()).isFalse();
      ProxyRig.await("ended", () -> !rig.ended.isEmpty());
      assertThat(rig.outcomes).containsExactly(new Outcome.Failed(Failure.ERROR));
    }
  }

  @Test
  void http10ClientSeesAResetWhenChunksAreCut() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine =
            ScriptedEngine.start(
                new CloseAfter(
                    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n"))) {
      rig.worker(engine.url());
      WireResponse response = rig.ask("GET /x HTTP/1.0\r\n\r\n");

      assertThat(response.complete()).isFalse();
    }
  }

  @Test
  void commentsKeepASilentStreamAlive() throws Exception {
    CountDownLatch seen = new CountDownLatch(1);
    ProxySettings settings = ProxySettings.DEFAULTS.withSseKeepalive(Duration.ofMillis(50));
    try (ProxyRig rig = new ProxyRig(transport, settings);
        ScriptedEngine engine =
            ScriptedEngine.start(
                (request, connection) -> {
                  connection.beginEvents().chunk("data: one\n\n");
                  seen.await();
                  connection.chunk("data: two\n\n").lastChunk();
                })) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(ProxyRig.post(CHAT, BODY));
      client.head();

      assertThat(client.chunk()).isEqualTo("data: one\n\n");
      assertThat(client.chunk()).isEqualTo(": keep-alive\n\n");
      seen.countDown();
      String next;
      while ((next = client.chunk()) != null && next.startsWith(":")) {
        assertThat(next).isEqualTo(": keep-alive\n\n");
      }
      assertThat(next).isEqualTo("data: two\n\n");
    }
  }

  @Test
  void silenceCausesOneCommentPerInterval() throws Exception {
    CountDownLatch seen = new CountDownLatch(1);
    FakeClock clock = new FakeClock();
    Duration witness = Duration.ofMillis(100);
    ProxySettings settings =
        ProxySettings.DEFAULTS
            .withSseKeepalive(Duration.ofSeconds(1))
            .withTimeouts(
                TimeoutSettings.DEFAULTS.withClient(
                    Duration.ofHours(1), Duration.ofHours(1), witness))
            .withListen(ListenSettings.DEFAULTS.withEventLoops(1));
    try (ProxyRig rig = new ProxyRig(transport, settings, clock);
        ScriptedEngine engine =
            ScriptedEngine.start(
                (request, connection) -> {
                  connection.beginEvents().chunk("data: one\n\n");
                  seen.await();
                  connection.chunk("data: two\n\n").lastChunk();
                })) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(ProxyRig.post(CHAT, BODY));
      client.head();
      assertThat(client.chunk()).isEqualTo("data: one\n\n");

      for (int passed = 0; passed < 12; passed++) {
        // The next sweep closes this connection and checks the stream too.
        WireClient idle = rig.connect().send(ProxyRig.post(CHAT, "{\"model\":\"none\"}"));
        assertThat(idle.read().status()).isEqualTo(404);
        clock.advance(witness.multipliedBy(3));
        assertThat(idle.atEnd()).isTrue();
      }

      seen.countDown();
      for (int interval = 0; interval < 3; interval++) {
        assertThat(client.chunk()).isEqualTo(": keep-alive\n\n");
      }
      assertThat(client.chunk()).isEqualTo("data: two\n\n");
    }
  }
}
