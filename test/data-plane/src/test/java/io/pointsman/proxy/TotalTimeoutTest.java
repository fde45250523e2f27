package io.pointsman.proxy;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults.HangAfter;
import io.pointsman.testkit.engine.Faults.HangBeforeHeaders;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The side to blame when a request exceeds the total timeout. */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@Timeout(60)
class TotalTimeoutTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"m\",\"stream\":true}";
  private static final Duration TOTAL = Duration.ofSeconds(20);
  private static final ProxySettings SETTINGS =
      ProxySettings.DEFAULTS
          .withTimeouts(TimeoutSettings.DEFAULTS.withTotals(TOTAL, TOTAL))
          .withLimits(new LimitSettings(1 << 20, 8 << 10, 1024, 1000, 1 << 20));

  private static final Duration LONGER = TOTAL.plusSeconds(1);

  private final FakeClock clock = new FakeClock();

  private static void endsWith(ProxyRig rig, Outcome outcome, String blame) {
    ProxyRig.await("ended", () -> !rig.ended.isEmpty());
    assertThat(rig.outcomes).containsExactly(outcome);
    assertThat(rig.ended.getFirst().blame()).isEqualTo(blame);
  }

  @Test
  void silentWorkerFails() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, SETTINGS, clock);
        ScriptedEngine engine = ScriptedEngine.start(new HangBeforeHeaders())) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(ProxyRig.post(CHAT, BODY));
      engine.awaitRequest();
      clock.advance(LONGER);
      WireResponse response = client.read();

      assertThat(response.status()).isEqualTo(504);
      assertThat(response.text()).contains("\"code\":\"total_timeout\"");
      endsWith(rig, new Outcome.Failed(Failure.TIMEOUT), "UPSTREAM");
    }
  }

  @Test
  void workerThatFallsSilentWithinItsAnswerFails() throws Exception {
    String begun = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab";
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, SETTINGS, clock);
        ScriptedEngine engine = ScriptedEngine.start(new HangAfter(begun))) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(ProxyRig.post(CHAT, BODY));
      assertThat(client.head().status()).isEqualTo(200);
      clock.advance(LONGER);

      endsWith(rig, new Outcome.Failed(Failure.TIMEOUT), "UPSTREAM");
    }
  }

  @Test
  void streamInProgressIsNoFailureOfItsWorker() throws Exception {
    Semaphore events = new Semaphore(0);
    EngineScript script =
        (request, connection) -> {
          connection.beginEvents();
          while (true) {
            events.acquire();
            connection.chunk("data: x\n\n");
          }
        };
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, SETTINGS, clock);
        ScriptedEngine engine = ScriptedEngine.start(script)) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(ProxyRig.post(CHAT, BODY));
      events.release();
      client.head();
      assertThat(client.chunk()).isEqualTo("data: x\n\n");
      for (int passed = 0; passed < 3; passed++) {
        clock.advance(Duration.ofSeconds(6));
        events.release();
        assertThat(client.chunk()).isEqualTo("data: x\n\n");
      }
      clock.advance(Duration.ofSeconds(3));

      assertThat(client.chunk()).contains("\"code\":\"total_timeout\"");
      assertThat(client.chunk()).isEmpty();
      endsWith(rig, Outcome.IGNORED, "ROUTER");
    }
  }

  /** Sends events until the router stops reading. */
  @Test
  void clientThatDoesNotReadIsToBlame() throws Exception {
    String event = "data: " + "x".repeat(60_000) + "\n\n";
    AtomicLong sent = new AtomicLong();
    EngineScript script =
        (request, connection) -> {
          connection.beginEvents();
          while (true) {
            connection.chunk(event);
            sent.incrementAndGet();
          }
        };
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, SETTINGS, clock);
        ScriptedEngine engine = ScriptedEngine.start(script)) {
      rig.worker(engine.url());
      rig.connect().send(ProxyRig.post(CHAT, BODY));
      awaitRest(sent);
      clock.advance(LONGER);

      endsWith(rig, Outcome.IGNORED, "CLIENT");
    }
  }

  @Test
  void clientThatDoesNotReadIsResetEvenWithoutAnIdleTimeout() throws Exception {
    TimeoutSettings noIdle =
        SETTINGS
            .timeouts()
            .withClient(Duration.ofSeconds(60), Duration.ofSeconds(60), Duration.ZERO);
    String event = "data: " + "x".repeat(60_000) + "\n\n";
    AtomicLong sent = new AtomicLong();
    EngineScript script =
        (request, connection) -> {
          connection.beginEvents();
          while (true) {
            connection.chunk(event);
            sent.incrementAndGet();
          }
        };
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, SETTINGS.withTimeouts(noIdle), clock);
        ScriptedEngine engine = ScriptedEngine.start(script)) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(ProxyRig.post(CHAT, BODY));
      awaitRest(sent);
      clock.advance(LONGER);

      ProxyRig.await("the client is reset", () -> !takes(client));
      endsWith(rig, Outcome.IGNORED, "CLIENT");
    }
  }

  @Test
  void clientThatDoesNotReadABrokenAnswerIsClosedEvenWithoutAnIdleTimeout() throws Exception {
    TimeoutSettings timeouts =
        TimeoutSettings.DEFAULTS.withClient(
            Duration.ofSeconds(60), Duration.ofSeconds(60), Duration.ZERO);
    String part = "{\"model\":\"m\",\"stream\":true,\"a\":\"" + "x".repeat(10_000);
    AtomicLong sent = new AtomicLong();
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, SETTINGS.withTimeouts(timeouts), clock);
        ServerSocket engine = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      rig.worker("http://127.0.0.1:" + engine.getLocalPort());
      WireClient client = rig.connect().send(chunked(part));
      try (Socket connection = engine.accept()) {
        assertThat(connection.getInputStream().readNBytes(100)).hasSize(100);
        Thread.ofVirtual().start(() -> answerWithoutEnd(connection, sent));
        awaitRest(sent);
        client.send("no size\r\n");
        endsWith(rig, Outcome.IGNORED, "CLIENT");
        clock.advance(Duration.ofSeconds(31));

        ProxyRig.await("the connection is closed", () -> !takes(client));
      }
    }
  }

  /** A request with this chunk at the start of its body. */
  private static String chunked(String part) {
    return "POST "
        + CHAT
        + " HTTP/1.1\r\nhost: router\r\ncontent-type: application/json\r\n"
        + "transfer-encoding: chunked\r\n\r\n"
        + Integer.toHexString(part.length())
        + "\r\n"
        + part
        + "\r\n";
  }

  private static void answerWithoutEnd(Socket connection, AtomicLong sent) {
    byte[] bytes = "x".repeat(16 << 10).getBytes(US_ASCII);
    try {
      OutputStream out = connection.getOutputStream();
      out.write("HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n".getBytes(US_ASCII));
      while (true) {
        out.write(bytes);
        sent.incrementAndGet();
      }
    } catch (IOException _) {
      // The router accepts no more bytes.
    }
  }

  /** True if the router still accepts bytes on this connection. */
  private static boolean takes(WireClient client) {
    try {
      client.send("x");
      return true;
    } catch (IOException | UncheckedIOException _) {
      return false;
    }
  }

  /** Waits until a count has changed and then stays constant. */
  private static void awaitRest(AtomicLong count) {
    AtomicLong before = new AtomicLong();
    AtomicInteger still = new AtomicInteger();
    ProxyRig.await(
        "everything is full",
        () -> {
          long now = count.get();
          boolean same = now > 0 && before.getAndSet(now) == now;
          return (same ? still.incrementAndGet() : still.getAndSet(0)) > 500;
        });
  }

  @Test
  void clientThatUploadsSlowlyIsToBlame() throws Exception {
    slowUpload(SETTINGS, "");
  }

  @Test
  void clientThatSlowlyUploadsAStreamedBodyIsToBlame() throws Exception {
    slowUpload(
        SETTINGS.withTimeouts(TimeoutSettings.DEFAULTS.withTotals(TOTAL, Duration.ZERO)),
        "\"stream\":true,");
  }

  private void slowUpload(ProxySettings settings, String member) throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, settings, clock);
        ServerSocket engine = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      rig.worker("http://127.0.0.1:" + engine.getLocalPort());
      WireClient client = rig.connect();
      String whole =
          ProxyRig.post(CHAT, "{\"model\":\"m\"," + member + "\"a\":\"" + "x".repeat(4000) + "\"}");
      client.send(whole.substring(0, 3000));
      try (Socket connection = engine.accept()) {
        assertThat(connection.getInputStream().readNBytes(100)).hasSize(100);
        clock.advance(LONGER);

        assertThat(client.read().status()).isEqualTo(408);
        endsWith(rig, Outcome.IGNORED, "CLIENT");
      }
    }
  }
}
