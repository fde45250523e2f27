package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.admission.AdmissionSettings;
import io.pointsman.proxy.local.CallerCheck;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults.HangBeforeHeaders;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The fault {@code SENDS_AHEAD}: a client goes on sending while it is not its turn. Whatever its
 * request waits for, the client has to wait as well, since nothing that it sends is read.
 */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@ParameterizedClass
@EnumSource(
    value = Transport.class,
    names = {"AUTO", "EPOLL", "NIO"})
@Timeout(60)
class SentAheadTest {
  private static final int LARGE = 9 << 20;
  private static final long HUGE = 500L << 20;

  /**
   * The sockets of both sides hold 4 MB before anybody reads, and not much more behind an upload.
   */
  private static final long SOCKETS_HOLD = 24L << 20;

  private static final long SENT = 3 * SOCKETS_HOLD;

  @Parameter Transport transport = Transport.AUTO;

  private static String huge(String more) {
    return "POST /x HTTP/1.1\r\nhost: r\r\n" + more + "content-length: " + HUGE + "\r\n\r\n";
  }

  /** Answers {@code /1} when it may, and nothing else. */
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
  void behindAnUploadThatWasStreamed() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(new HangBeforeHeaders())) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(ProxyRig.post("/x", " ".repeat(LARGE)));
      engine.awaitRequest();

      assertWaits(client.send(huge("")));
    }
  }

  @Test
  void behindTheHeadOfARequestThatWaitsForAPlace() throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS.withAdmission(
            new AdmissionSettings(1, 5, Duration.ofSeconds(50), 503));
    CountDownLatch end = new CountDownLatch(1);
    try (ProxyRig rig = new ProxyRig(transport, settings);
        ScriptedEngine engine = ScriptedEngine.start(answeringTheFirst(end))) {
      rig.worker(engine.url());
      WireClient client = rig.connect().send(ProxyRig.post("/1", "") + huge("") + "begin");
      engine.awaitRequest();
      rig.connect().send(ProxyRig.post("/2", ""));
      ProxyRig.await("the other waits", () -> rig.server().queued() == 1);
      end.countDown();
      assertThat(client.read().text()).isEqualTo("first");
      ProxyRig.await("the other has its turn", () -> engine.requests().size() == 2);

      assertWaits(client);
    }
  }

  @Test
  void behindTheHeadOfARequestWhoseCallerIsAskedFor() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    CountDownLatch asked = new CountDownLatch(1);
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(answeringTheFirst(end))) {
      rig.worker(engine.url());
      rig.callers = new Asks(asked);
      WireClient client = rig.connect();
      client.send(ProxyRig.post("/1", "") + huge("authorization: Bearer new\r\n") + "begin");
      engine.awaitRequest();
      end.countDown();
      assertThat(client.read().text()).isEqualTo("first");

      assertWaits(client);

      asked.countDown();
      assertThat(client.read().status()).isEqualTo(401);
    }
  }

  /** Knows callers without authorization, and refuses others in the end. */
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

  /** Sends until nothing more is taken; that must be long before the end. */
  private static void assertWaits(WireClient client) throws InterruptedException {
    Flood flood = new Flood(client);
    long before = -1;
    long taken = 0;
    while (taken > before && taken < SENT) {
      before = taken;
      TimeUnit.MILLISECONDS.sleep(500);
      taken = flood.taken();
    }
    assertThat(taken).as("bytes taken").isLessThan(SOCKETS_HOLD);
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
