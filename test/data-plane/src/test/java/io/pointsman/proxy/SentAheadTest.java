package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.admission.AdmissionSettings;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.testkit.Residue;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.HangBeforeHeaders;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;

/**
 * The fault {@code SENDS_AHEAD}: clients send requests before their turn. The router reads none of
 * these bytes, so the clients must wait with their requests.
 */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@EveryTransport
@Timeout(60)
class SentAheadTest {
  private static final int LARGE = 9 << 20;
  private static final long HUGE = 500L << 20;

  /** Bytes that the sockets can hold: 4 MB on both sides, and little more after an upload. */
  private static final long SOCKETS_HOLD = 24L << 20;

  private static final long SENT = 3 * SOCKETS_HOLD;

  private static final ProxySettings SETTINGS =
      ProxySettings.DEFAULTS.withUpstream(Aftermath.POOLS);

  private static final String NORMAL = ProxyRig.post("/v1/chat/completions", "{\"model\":\"m\"}");

  @Parameter Transport transport = Transport.AUTO;

  private static String huge(String more) {
    return "POST /x HTTP/1.1\r\nhost: r\r\n" + more + "content-length: " + HUGE + "\r\n\r\n";
  }

  /** Answers {@code /1} on a signal, and no other request. */
  private static EngineScript answeringTheFirst(CountDownLatch when) {
    return (request, connection) -> {
      if (!request.line().startsWith("POST /1 ")) {
        new HangBeforeHeaders().answer(request, connection);
      }
      when.await();
      connection.reply(200, "text/plain", "first");
    };
  }

  @Test
  void sentAheadAfterAStreamedUpload() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    try (ProxyRig rig = new ProxyRig(transport, SETTINGS);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      Aftermath aftermath = before(rig, engine, answeringTheFirst(end));
      List<WireClient> clients = many(rig, ProxyRig.post("/1", " ".repeat(LARGE)));
      awaitMany(engine);

      for (WireClient client : clients) {
        client.send(huge(""));
      }
      assertWait(rig, clients);

      rig.leave();
      end.countDown(); // the bytes sent ahead hide the client's close until their turn
      verify(aftermath, engine);
    }
  }

  @Test
  void sentAheadAfterTheHeadOfAQueuedRequest() throws Exception {
    ProxySettings settings =
        SETTINGS.withAdmission(
            new AdmissionSettings(Residue.FOUND, 2 * Residue.FOUND, Duration.ofSeconds(50), 503));
    CountDownLatch end = new CountDownLatch(1);
    try (ProxyRig rig = new ProxyRig(transport, settings);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      Aftermath aftermath = before(rig, engine, answeringTheFirst(end));
      List<WireClient> clients = many(rig, ProxyRig.post("/1", "") + huge("") + "begin");
      awaitMany(engine);
      many(rig, ProxyRig.post("/2", ""));
      ProxyRig.await("the others wait", () -> rig.server().queued() == Residue.FOUND);
      end.countDown();
      assertTheFirstIsAnswered(clients);
      ProxyRig.await(
          "the others have their turn", () -> engine.requests().size() == 2 * Residue.FOUND);

      assertWait(rig, clients);

      verify(aftermath, engine);
    }
  }

  @Test
  void sentAheadAfterTheHeadOfARequestWithAPendingCallerCheck() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    CountDownLatch asked = new CountDownLatch(1);
    try (ProxyRig rig = new ProxyRig(transport, SETTINGS);
        ScriptedEngine engine = ScriptedEngine.start(Answer.ok())) {
      Aftermath aftermath = before(rig, engine, answeringTheFirst(end));
      rig.callers = new Asks(asked);
      String second = huge("authorization: Bearer new\r\n") + "begin";
      List<WireClient> clients = many(rig, ProxyRig.post("/1", "") + second);
      awaitMany(engine);
      end.countDown();
      assertTheFirstIsAnswered(clients);

      assertWait(rig, clients);

      asked.countDown();
      for (WireClient client : clients) {
        assertThat(client.read().status()).isEqualTo(401);
      }
      verify(aftermath, engine);
    }
  }

  /** Prepares the engine: it serves normal requests, then follows its script. */
  private static Aftermath before(ProxyRig rig, ScriptedEngine engine, EngineScript script)
      throws IOException {
    rig.worker(engine.url());
    Aftermath aftermath = Aftermath.of(rig, NORMAL);
    engine.forget();
    engine.now(script);
    return aftermath;
  }

  private static void verify(Aftermath aftermath, ScriptedEngine engine) throws Exception {
    engine.now(Answer.ok());
    aftermath.verify(engine);
  }

  /** Many clients that have sent {@code request}. */
  private static List<WireClient> many(ProxyRig rig, String request) throws IOException {
    List<WireClient> clients = new ArrayList<>();
    for (int i = 0; i < Residue.FOUND; i++) {
      clients.add(rig.connect().send(request));
    }
    return clients;
  }

  private static void awaitMany(ScriptedEngine engine) throws InterruptedException {
    for (int i = 0; i < Residue.FOUND; i++) {
      engine.awaitRequest();
    }
  }

  private static void assertTheFirstIsAnswered(List<WireClient> clients) throws IOException {
    for (WireClient client : clients) {
      assertThat(client.read().text()).isEqualTo("first");
    }
  }

  /** Admits callers without authorization. Checks others until the end, then refuses them. */
  private record Asks(CountDownLatch end) implements CallerCheck {
    @Override
    public Verdict known(@Nullable String authorization) {
      return authorization == null ? Verdict.ADMITTED : Verdict.UNKNOWN;
    }

    @Override
    public Verdict ask(String authorization) {
      try {
        end.await();
      } catch (InterruptedException _) {
        Thread.currentThread().interrupt();
      }
      return Verdict.REFUSED;
    }
  }

  /** Sends until the router reads nothing more. That must happen long before the end. */
  private static void assertWait(ProxyRig rig, List<WireClient> clients) throws IOException {
    List<Flood> floods = clients.stream().map(Flood::new).toList();
    rig.settled(() -> floods.stream().mapToLong(Flood::taken).sum());
    assertThat(floods)
        .allSatisfy(flood -> assertThat(flood.taken()).as("bytes taken").isLessThan(SOCKETS_HOLD));
  }

  /** Sends without end. */
  private static final class Flood {
    private final byte[] piece = new byte[64 << 10];
    private volatile long taken;

    Flood(WireClient client) {
      Thread.ofVirtual().start(() -> send(client));
    }

    private void send(WireClient client) {
      try {
        for (long sent = 0; sent < SENT; sent += piece.length) {
          client.send(piece);
          taken = sent + piece.length;
        }
      } catch (IOException _) {
        // The test is over.
      }
    }

    long taken() {
      return taken;
    }
  }
}
