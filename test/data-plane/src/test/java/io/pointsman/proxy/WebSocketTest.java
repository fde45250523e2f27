package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.retry.RetrySettings;
import io.pointsman.proxy.settings.CorsSettings;
import io.pointsman.proxy.settings.TimeoutSettings;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.HangAfter;
import io.pointsman.testkit.engine.Faults.Raw;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;

/** Requests that continue with the WebSocket protocol. */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@EveryTransport
@Timeout(60)
class WebSocketTest {
  private static final String REALTIME = "/v1/realtime?model=m";
  private static final String SWITCH =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          + "Sec-WebSocket-Accept: abc\r\n\r\n";

  @Parameter Transport transport = Transport.AUTO;

  private static String upgrade(String target) {
    return upgrade(target, "");
  }

  private static String upgrade(String target, String more) {
    return "GET "
        + target
        + " HTTP/1.1\r\nhost: r\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"
        + "Sec-WebSocket-Key: key\r\nSec-WebSocket-Version: 13\r\nAuthorization: Bearer k\r\n"
        + more
        + "\r\n";
  }

  /** Switches, then returns everything with a prefix, piece by piece. */
  private static EngineScript echo() {
    return (request, connection) -> {
      connection.send(SWITCH);
      String four = connection.receive(4);
      while (four.length() == 4) {
        connection.send("<" + four + ">");
        four = connection.receive(4);
      }
      connection.close();
    };
  }

  @Test
  void bytesPassBothWaysAfterTheSwitch() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(echo())) {
      var worker = rig.worker(engine.url());
      WireClient client = rig.connect().send(upgrade(REALTIME));
      WireResponse head = client.head();
      assertThat(head.line()).isEqualTo("HTTP/1.1 101 Switching Protocols");
      assertThat(head.values("upgrade")).containsExactly("websocket");
      assertThat(head.values("connection")).containsExactly("Upgrade");
      assertThat(head.header("sec-websocket-accept")).isEqualTo("abc");
      assertThat(client.send("ping").text(6)).isEqualTo("<ping>");
      assertThat(client.send("GET ").text(6)).isEqualTo("<GET >");
      assertThat(worker.inFlight()).isEqualTo(1);
      assertThat(rig.ended).isEmpty();

      EngineRequest request = engine.awaitRequest();
      assertThat(request.line()).isEqualTo("GET " + REALTIME + " HTTP/1.1");
      assertThat(request.values("connection")).containsExactly("Upgrade");
      assertThat(request.values("upgrade")).containsExactly("websocket");
      assertThat(request.header("sec-websocket-key")).isEqualTo("key");
      assertThat(request.header("sec-websocket-version")).isEqualTo("13");
      assertThat(request.header("authorization")).isEqualTo("Bearer k");

      client.socket().shutdownOutput();
      assertThat(client.atEnd()).isTrue();
      ProxyRig.await("ended", () -> !rig.ended.isEmpty());
      assertThat(rig.outcomes).containsExactly(Outcome.SUCCEEDED);
      assertThat(worker.served()).isEqualTo(1);
      assertThat(worker.nanosBetweenEnds()).as("no service time").isZero();
      assertThat(rig.ended.getFirst().status()).isEqualTo(101);
      assertThat(rig.ended.getFirst().blame()).isEqualTo("NONE");
      assertThat(rig.ended.getFirst().bytesOut()).isGreaterThan(12);
    }
  }

  @Test
  void bytesAroundTheSwitchAreKept() throws Exception {
    EngineScript script =
        (request, connection) -> {
          connection.send(SWITCH + "first");
          connection.send("<" + connection.receive(9) + ">");
          connection.close();
        };
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(script)) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(upgrade(REALTIME) + "early");
      assertThat(client.head().status()).isEqualTo(101);
      assertThat(client.text(5)).isEqualTo("first");
      assertThat(client.send("late").text(11)).isEqualTo("<earlylate>");
      assertThat(client.atEnd()).isTrue();
    }
  }

  @Test
  void theModelInTheQueryChoosesTheWorker() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine other = ScriptedEngine.start(echo());
        ScriptedEngine engine = ScriptedEngine.start(echo())) {
      rig.worker(WorkerSpec.of(other.url()).withModels(Set.of("a")));
      rig.worker(WorkerSpec.of(engine.url()).withModels(Set.of("b/c")));
      for (String query : List.of("?model=b/c", "?x=1&model=b%2Fc", "?model=a&model=b/c")) {
        WireClient client = rig.connect().send(upgrade("/v1/realtime" + query));
        assertThat(client.head().status()).as(query).isEqualTo(101);
        client.close();
      }
      WireResponse unknown = rig.ask(upgrade("/v1/realtime?model=x"));
      assertThat(unknown.status()).isEqualTo(404);
      assertThat(unknown.text()).contains("\"code\":\"model_not_found\"");
      WireResponse unnamed = rig.ask(upgrade("/v1/realtime"));
      assertThat(unnamed.status()).isEqualTo(400);
      assertThat(unnamed.text()).contains("model: missing (expected: one of a, b/c, in the query)");
      assertThat(other.requests()).isEmpty();
      assertThat(engine.requests()).hasSize(3);
    }
  }

  @Test
  void withoutAWorkerThereIsAnErrorAndNoSwitch() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport)) {
      WireClient client = rig.connect().send(upgrade(REALTIME) + "early");
      WireResponse refused = client.read();
      assertThat(refused.status()).isEqualTo(503);
      assertThat(refused.text()).contains("\"code\":\"no_workers\"");
      assertThat(refused.header("connection")).isEqualTo("close");
      assertThat(client.atEnd()).isTrue();
    }
  }

  @Test
  void aClientMayEndItsSideAndReadOn() throws Exception {
    EngineScript script =
        (request, connection) -> {
          connection.send(SWITCH);
          connection.send("<" + connection.receiveAll() + ">").close();
        };
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(script)) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(upgrade(REALTIME));
      client.head();
      client.send("last words");
      client.socket().shutdownOutput();
      assertThat(client.text(12)).isEqualTo("<last words>");
      assertThat(client.atEnd()).isTrue();
      ProxyRig.await("ended", () -> !rig.ended.isEmpty());
      assertThat(rig.outcomes).containsExactly(Outcome.SUCCEEDED);
    }
  }

  @Test
  void theEngineIsLeftWhenTheClientResets() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(new HangAfter(SWITCH))) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(upgrade(REALTIME));
      client.head();
      client.reset();
      assertThat(engine.awaitDeparture()).isTrue();
      ProxyRig.await("ended", () -> !rig.ended.isEmpty());
      assertThat(rig.outcomes).containsExactly(Outcome.IGNORED);
      assertThat(rig.ended.getFirst().left()).isTrue();
    }
  }

  @Test
  void anEngineThatIgnoresTheClientsEndIsLeftAfterAWhile() throws Exception {
    FakeClock clock = new FakeClock();
    AtomicBoolean sawEnd = new AtomicBoolean();
    CountDownLatch over = new CountDownLatch(1);
    EngineScript script =
        (request, connection) -> {
          connection.send(SWITCH).receiveAll();
          sawEnd.set(true);
          over.await();
        };
    try (ProxyRig rig = new ProxyRig(transport, ProxySettings.DEFAULTS, clock);
        ScriptedEngine engine = ScriptedEngine.start(script)) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(upgrade(REALTIME));
      client.head();
      client.socket().shutdownOutput();
      ProxyRig.await("end passed on", sawEnd::get);
      clock.advance(Duration.ofSeconds(31));
      assertThat(client.atEnd()).isTrue();
      ProxyRig.await("ended", () -> !rig.ended.isEmpty());
      assertThat(rig.outcomes).containsExactly(Outcome.IGNORED);
      over.countDown();
    }
  }

  @Test
  void aWebSocketEndsWithItsEngine() throws Exception {
    EngineScript script =
        (request, connection) -> {
          connection.send(SWITCH + "part").receive(1);
          connection.reset();
        };
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(script);
        ScriptedEngine other = ScriptedEngine.start(echo())) {
      rig.worker(engine.url());
      rig.worker(other.url());
      WireClient client = rig.connect().send(upgrade(REALTIME));
      client.head();
      assertThat(client.text(4)).isEqualTo("part");
      client.send("x");
      assertThat(client.atEnd()).isTrue();
      ProxyRig.await("ended", () -> !rig.ended.isEmpty());
      assertThat(rig.outcomes).containsExactly(new Outcome.Failed(Failure.ERROR));
      assertThat(rig.ended.getFirst().blame()).isEqualTo("UPSTREAM");
      assertThat(other.requests()).isEmpty();
    }
  }

  @Test
  void refusalsOfTheEnginePassAndTheConnectionCloses() throws Exception {
    for (Answer refusal : List.of(new Answer(403, "{\"no\":1}"), Answer.ok())) {
      try (ProxyRig rig = new ProxyRig(transport);
          ScriptedEngine engine = ScriptedEngine.start(refusal)) {
        rig.worker(engine.url());
        WireClient client = rig.connect().send(upgrade(REALTIME) + "early");
        WireResponse answer = client.read();
        assertThat(answer.status()).isEqualTo(refusal.status());
        assertThat(answer.text()).isEqualTo(refusal.body());
        assertThat(answer.header("connection")).isEqualTo("close");
        assertThat(client.atEnd()).isTrue();
        assertThat(engine.requests()).hasSize(1);
      }
    }
  }

  @Test
  void bytesBeforeTheSwitchAreAFailureOfTheEngine() throws Exception {
    for (String wrong :
        List.of(
            "\u0081\u0002hi" + SWITCH,
            SWITCH.replace("Upgrade: websocket", "Upgrade: h2c"),
            SWITCH.replace("Upgrade: websocket\r\n", ""))) {
      try (ProxyRig rig = new ProxyRig(transport);
          ScriptedEngine engine = ScriptedEngine.start(new Raw(wrong));
          ScriptedEngine other = ScriptedEngine.start(echo())) {
        rig.worker(engine.url());
        WireResponse alone = rig.ask(upgrade(REALTIME));
        assertThat(alone.status()).isEqualTo(502);
        assertThat(alone.text()).contains("\"code\":\"upstream_protocol\"");
        rig.retried.clear();
        rig.worker(other.url());
        WireClient client = rig.connect().send(upgrade(REALTIME));
        assertThat(client.head().status()).isEqualTo(101);
        assertThat(client.send("ping").text(6)).isEqualTo("<ping>");
        assertThat(rig.retried).containsExactly(RetryReason.PROTOCOL);
      }
    }
  }

  @Test
  void aSwitchThatNobodyAskedForIsAFailureOfTheEngine() throws Exception {
    ProxySettings once =
        ProxySettings.DEFAULTS.withRetry(RetrySettings.DEFAULTS.withMaxAttempts(1));
    try (ProxyRig rig = new ProxyRig(transport, once);
        ScriptedEngine engine = ScriptedEngine.start(new Raw(SWITCH))) {
      rig.worker(engine.url());
      for (String request :
          List.of(
              "GET " + REALTIME + " HTTP/1.1\r\nhost: r\r\n\r\n",
              upgrade(REALTIME).replace("keep-alive, Upgrade", "keep-alive"),
              upgrade(REALTIME).replace("WebSocket", "h2c"),
              upgrade(REALTIME, "Upgrade: h2c\r\n"),
              upgrade(REALTIME).replace("HTTP/1.1", "HTTP/1.0"),
              upgrade(REALTIME, "content-length: 2\r\n") + "ab",
              upgrade("/v1/x").replace("GET", "POST"))) {
        assertThat(rig.ask(request).status()).as(request).isEqualTo(502);
      }
      assertThat(engine.requests()).allMatch(request -> request.values("upgrade").isEmpty());
    }
  }

  @Test
  void aSlowReaderSlowsTheEngine() throws Exception {
    AtomicLong sent = new AtomicLong();
    byte[] data = new byte[1 << 16];
    EngineScript script =
        (request, connection) -> {
          connection.send(SWITCH);
          for (int i = 0; i < 1600; i++) {
            connection.send(data);
            sent.addAndGet(data.length);
          }
          connection.close();
        };
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(script)) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(upgrade(REALTIME));
      client.head();
      rig.settled(sent::get);
      assertThat(sent.get()).isLessThan(40L << 20);
      long read = 0;
      int more;
      while ((more = client.text(1 << 16).length()) > 0) {
        read += more;
      }
      assertThat(read).isEqualTo(1600L << 16);
    }
  }

  @Test
  void aClientThatEndedItsSideReadsALongAnswer() throws Exception {
    AtomicLong sent = new AtomicLong();
    byte[] data = new byte[1 << 16];
    EngineScript script =
        (request, connection) -> {
          connection.send(SWITCH);
          assertThat(connection.countAll()).isEqualTo(2);
          for (int i = 0; i < 800; i++) {
            connection.send(data);
            sent.addAndGet(data.length);
          }
          connection.close();
        };
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(script)) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(upgrade(REALTIME));
      client.head();
      client.send("ab");
      client.socket().shutdownOutput();
      rig.settled(sent::get);
      long read = 0;
      int more;
      while ((more = client.text(1 << 16).length()) > 0) {
        read += more;
      }
      assertThat(read).isEqualTo(800L << 16);
    }
  }

  @Test
  void aSlowEngineSlowsTheClient() throws Exception {
    AtomicLong sent = new AtomicLong();
    byte[] data = new byte[1 << 16];
    CountDownLatch reads = new CountDownLatch(1);
    EngineScript script =
        (request, connection) -> {
          connection.send(SWITCH);
          reads.await();
          connection.send(String.valueOf(connection.countAll())).close();
        };
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(script)) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(upgrade(REALTIME));
      client.head();
      Thread sending =
          Thread.ofVirtual()
              .start(
                  () -> {
                    try {
                      for (int i = 0; i < 1600; i++) {
                        client.send(data);
                        sent.addAndGet(data.length);
                      }
                      client.socket().shutdownOutput();
                    } catch (IOException e) {
                      throw new UncheckedIOException(e);
                    }
                  });
      rig.settled(sent::get);
      assertThat(sent.get()).isLessThan(40L << 20);
      reads.countDown();
      sending.join();
      assertThat(client.text(9)).isEqualTo(String.valueOf(1600L << 16));
    }
  }

  @Test
  void aWebSocketWithoutBytesEndsAfterTheIdleTimeout() throws Exception {
    FakeClock clock = new FakeClock();
    Duration idle = TimeoutSettings.DEFAULTS.idle();
    try (ProxyRig rig = new ProxyRig(transport, ProxySettings.DEFAULTS, clock);
        ScriptedEngine engine = ScriptedEngine.start(echo())) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(upgrade(REALTIME));
      client.head();
      for (int i = 0; i < 3; i++) {
        clock.advance(idle.minusSeconds(1));
        assertThat(client.send("ping").text(6)).isEqualTo("<ping>");
      }
      assertThat(rig.ended).isEmpty();
      clock.advance(idle.plusSeconds(1));
      assertThat(client.atEnd()).isTrue();
      ProxyRig.await("ended", () -> !rig.ended.isEmpty());
      assertThat(rig.outcomes).containsExactly(Outcome.IGNORED);
      assertThat(rig.ended.getFirst().blame()).isEqualTo("NONE");
    }
  }

  @Test
  void aStopEndsWebSocketsAtItsTimeout() throws Exception {
    ProxySettings soon = ProxySettings.DEFAULTS.withDrainTimeout(Duration.ofSeconds(1));
    ProxyRig rig = new ProxyRig(transport, soon);
    try (ScriptedEngine engine = ScriptedEngine.start(echo())) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(upgrade(REALTIME));
      client.head();
      Thread closing = Thread.ofVirtual().start(() -> rig.server().close());
      assertThat(client.send("ping").text(6)).isEqualTo("<ping>");
      assertThat(client.atEnd()).isTrue();
      closing.join();
      assertThat(rig.outcomes).containsExactly(Outcome.IGNORED);
      assertThat(engine.awaitDeparture()).isTrue();
      rig.close();
    }
  }

  @Test
  void pagesOfOtherOriginsThanTheListsGetNoWebSocket() throws Exception {
    CorsSettings cors = new CorsSettings(true, List.of("https://a.example"));
    try (ProxyRig rig = new ProxyRig(transport, ProxySettings.DEFAULTS.withCors(cors));
        ScriptedEngine engine = ScriptedEngine.start(echo())) {
      rig.worker(engine.url());
      WireResponse other = rig.ask(upgrade(REALTIME, "Origin: https://b.example\r\n"));
      assertThat(other.status()).isEqualTo(403);
      assertThat(other.text()).contains("\"code\":\"origin_refused\"");
      for (String origin : List.of("Origin: https://a.example\r\n", "")) {
        WireClient client = rig.connect().send(upgrade(REALTIME, origin));
        assertThat(client.head().status()).isEqualTo(101);
      }
    }
  }
}
