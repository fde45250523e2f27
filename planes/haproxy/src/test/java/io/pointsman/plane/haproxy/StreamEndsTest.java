package io.pointsman.plane.haproxy;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class StreamEndsTest {
  @ParameterizedTest
  @CsvSource({
    "200, --, w3, succeeded",
    "400, --, w3, refused",
    "499, --, w3, refused",
    "429, --, w3, ignored",
    "503, --, w3, ignored",
    "529, --, w3, ignored",
    "500, --, w3, error",
    "502, --, w3, error",
    "200, CD, w3, ignored",
    "200, cD, w3, ignored",
    "-1, CH, w3, left",
    "503, SC, w3, connect",
    "503, sC, w3, connect",
    "502, SH, w3, error",
    "200, SD, w3, error",
    "504, sH, w3, timeout",
    "502, PH, w3, error",
    "400, PH, w3, ignored",
    "500, PH, w3, ignored",
    "200, PD, w3, ignored",
    "400, PR, w3, ignored",
    "200, sD, w3, timeout",
    "503, RC, w3, ignored",
    "503, SC, -, ignored",
    "200, --, -, ignored"
  })
  void theOutcomeIsReadFromTheTerminationFlags(
      int status, String signs, String decided, String outcome) {
    assertEnding("pm 1z-k3 " + status + " " + signs + " w3 " + decided + " - 0", outcome);
  }

  @ParameterizedTest
  @CsvSource({
    "+1, w4, connect",
    "+2, w4, connect",
    "0, w4, ignored",
    "1, w4, ignored",
    "+1, -, ignored"
  })
  void aRedispatchIsAFailureOnlyIfTheServerWasTried(
      String retries, String decided, String outcome) {
    assertEnding("pm 1z-k3 200 -- w3 " + decided + " - " + retries, outcome);
  }

  private static void assertEnding(String logged, String outcome) {
    boolean failed = !Set.of("succeeded", "refused", "ignored", "left").contains(outcome);
    String body =
        failed
            ? "{\"outcome\":\"failed\",\"failure\":\"" + outcome + "\"}"
            : "{\"outcome\":\"" + outcome + "\"}";
    assertThat(StreamEnds.read(logged)).isEqualTo(new StreamEnds.Settlement("1z-k3", body));
  }

  @Test
  void aLineContainsTheFirstTokenIfHaproxyRecordedIt() {
    assertThat(StreamEnds.read("pm 1z-k3 200 -- w3 w3 412 0"))
        .isEqualTo(
            new StreamEnds.Settlement("1z-k3", "{\"outcome\":\"succeeded\",\"ttft_ms\":412}"));
    assertThat(StreamEnds.read("pm 1z-k3 500 -- w3 w3 - 0\n"))
        .isEqualTo(
            new StreamEnds.Settlement("1z-k3", "{\"outcome\":\"failed\",\"failure\":\"error\"}"));
    assertThat(StreamEnds.read("pm - 200 -- w3 - - 0")).isNull();
    assertThat(StreamEnds.read("pm 550e8400-e29b-41d4-a716-446655440000 -1 CR <NOSRV> - - 0"))
        .as("given up before the answer came")
        .isEqualTo(
            new StreamEnds.Settlement(
                "550e8400-e29b-41d4-a716-446655440000", "{\"outcome\":\"ignored\"}"));
    assertThat(StreamEnds.read("pm 1z-k3 99999999999 -- w3 w3 - 0")).isNull();
  }

  @Test
  void theTimeToAnErrorIsIgnored() {
    for (int status : new int[] {400, 404, 429, 500, 503}) {
      assertThat(StreamEnds.read("pm 1z-k3 " + status + " -- w3 w3 3 0"))
          .asString()
          .contains("1z-k3")
          .doesNotContain("ttft_ms");
    }
  }

  /** Records settlements; does not respond to settlements of abandoned queries. */
  private static final class HalfMuteRouter implements AutoCloseable {
    private final ServerSocket listener =
        new ServerSocket(0, 1024, InetAddress.getLoopbackAddress());
    private final Set<Socket> mute = ConcurrentHashMap.newKeySet();
    private final CountDownLatch ended = new CountDownLatch(1);

    HalfMuteRouter() throws IOException {
      Thread.ofVirtual().name("half-mute-router").start(this::run);
    }

    URI url() {
      return URI.create("http://127.0.0.1:" + listener.getLocalPort());
    }

    private void run() {
      while (!listener.isClosed()) {
        try {
          Socket socket = listener.accept();
          Thread.ofVirtual().start(() -> take(socket));
        } catch (IOException e) {
          // The end.
        }
      }
    }

    private void take(Socket socket) {
      try {
        String line =
            new BufferedReader(new InputStreamReader(socket.getInputStream(), US_ASCII)).readLine();
        if (line != null && line.contains("/given-up-")) {
          mute.add(socket);
        } else {
          ended.countDown();
          socket.close();
        }
      } catch (IOException e) {
        mute.remove(socket);
      }
    }

    @Override
    public void close() throws IOException {
      listener.close();
      for (Socket each : mute) {
        each.close();
      }
    }
  }

  /** 16 at a time, with a timeout of 5 s each. */
  @Test
  @Timeout(120)
  void abandonedQueriesDoNotDelayTheEndsOfStreams() throws Exception {
    try (HalfMuteRouter mute = new HalfMuteRouter();
        RouterCalls router = new RouterCalls(mute.url(), "");
        StreamEnds ends = StreamEnds.open(router);
        DatagramSocket haproxy = new DatagramSocket()) {
      InetSocketAddress at = new InetSocketAddress(InetAddress.getLoopbackAddress(), ends.port());
      for (int i = 0; i < 200; i++) {
        send(haproxy, at, "pm given-up-" + i + " -1 -- - - - 0\n");
      }
      send(haproxy, at, "pm 1z-k3 200 -- w3 w3 412 0");

      assertThat(mute.ended.await(60, TimeUnit.SECONDS)).isTrue();
      assertThat(mute.mute).hasSizeLessThan(100);
    }
  }

  private static void send(DatagramSocket socket, InetSocketAddress to, String line)
      throws IOException {
    byte[] bytes = line.getBytes(US_ASCII);
    socket.send(new DatagramPacket(bytes, bytes.length, to));
  }

  @ParameterizedTest
  @ValueSource(strings = {"ftp://r:1", "http://r", "https://r", "r:1", "http:///"})
  void anInvalidRouterIsRefused(String router) {
    InetSocketAddress listen = InetSocketAddress.createUnresolved("127.0.0.1", 0);

    assertThatThrownBy(() -> HaproxySettings.of(listen, URI.create(router), listen))
        .hasMessageContaining(
            "router: " + router + " (expected: http://host:port or https://host:port)");
  }

  @Test
  void aMissingProgramIsReported() {
    HaproxySettings usual =
        HaproxySettings.of(
            InetSocketAddress.createUnresolved("127.0.0.1", 0),
            URI.create("http://127.0.0.1:1"),
            InetSocketAddress.createUnresolved("127.0.0.1", 4));
    HaproxySettings missing = usual.withExecutable("no-such-haproxy");

    assertThatThrownBy(() -> HaproxyPlane.start(missing)).hasMessageContaining("no-such-haproxy");
  }
}
