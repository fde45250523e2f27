package io.pointsman.proxy;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.proxy.settings.LimitSettings;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;

/**
 * Workers that answer a large upload before its end and then reset the connection. Servers do so if
 * they close a connection with unread bytes. The router reads both together, while it has bytes to
 * send.
 */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@EveryTransport
@Timeout(60)
class EarlyAnswerTest {
  private static final int SIZE = 1 << 30;
  private static final String BEGIN =
      "POST /v1/chat/completions HTTP/1.1\r\nhost: r\r\ncontent-type: application/json\r\n"
          + "content-length: "
          + SIZE
          + "\r\n\r\n{\"model\":\"m\",\"a\":\"";

  private static final ProxySettings SETTINGS =
      ProxySettings.DEFAULTS
          .withLimits(new LimitSettings(Integer.MAX_VALUE, 8 << 10, 1024, 1000, 1 << 20))
          .withListen(ListenSettings.DEFAULTS.withEventLoops(1));

  @Parameter Transport transport = Transport.AUTO;

  private void uploads(String answer, int status, Outcome outcome) throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, SETTINGS);
        ServerSocket engine = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      rig.worker("http://127.0.0.1:" + engine.getLocalPort());
      WireClient client = rig.connect().send(BEGIN);
      AtomicLong sent = new AtomicLong();
      Thread uploading = Thread.ofVirtual().start(() -> upload(client, sent));
      CountDownLatch answered = new CountDownLatch(1);
      try (Socket connection = engine.accept()) {
        assertThat(connection.getInputStream().readNBytes(100)).hasSize(100);
        awaitRest(sent);
        occupy(rig, answered);
        connection.getOutputStream().write(answer.getBytes(ISO_8859_1));
      }
      answered.countDown();
      assertThat(client.read().status()).isEqualTo(status);
      ProxyRig.await("ended", () -> !rig.ended.isEmpty());
      assertThat(rig.outcomes).containsExactly(outcome);
      client.close();
      uploading.join();
    }
  }

  private static void upload(WireClient client, AtomicLong sent) {
    byte[] part = "x".repeat(16 << 10).getBytes(ISO_8859_1);
    try {
      while (true) {
        client.send(part);
        sent.addAndGet(part.length);
      }
    } catch (IOException _) {
      // The router accepts no more bytes.
    }
  }

  /** Waits until all buffers on the path are full. */
  private static void awaitRest(AtomicLong sent) {
    AtomicLong before = new AtomicLong();
    AtomicInteger still = new AtomicInteger();
    ProxyRig.await(
        "everything is full",
        () -> {
          long now = sent.get();
          boolean same = now > 0 && before.getAndSet(now) == now;
          return (same ? still.incrementAndGet() : still.getAndSet(0)) > 200;
        });
  }

  /** Returns when the event loop is blocked. */
  private static void occupy(ProxyRig rig, CountDownLatch until) throws InterruptedException {
    CountDownLatch occupied = new CountDownLatch(1);
    rig.server()
        .executeOnLoops(
            () -> {
              occupied.countDown();
              await(until);
            });
    occupied.await();
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void anEarlyAnswerReachesTheClientAndIsNoFailure() throws Exception {
    uploads(
        "HTTP/1.1 413 Content Too Large\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}",
        413,
        Outcome.REFUSED);
  }

  @Test
  void aResetWithoutAnAnswerIsAFailure() throws Exception {
    uploads("", 502, new Outcome.Failed(Failure.ERROR));
  }

  @Test
  void aPartialAnswerIsAFailure() throws Exception {
    uploads("HTTP/1.1 413 Conte", 502, new Outcome.Failed(Failure.ERROR));
  }
}
