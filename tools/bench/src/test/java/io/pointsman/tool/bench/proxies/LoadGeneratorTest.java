package io.pointsman.tool.bench.proxies;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.pointsman.testkit.engine.RefusedPort;
import io.pointsman.tool.bench.BuiltRouter;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashSet;
import java.util.Locale;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The native load generator against a server with a given response. */
@Tag("full")
final class LoadGeneratorTest {
  private static final Workload UNARY = workload(Workload.Kind.UNARY, 3_000, 0);
  private static final Workload STREAM = workload(Workload.Kind.STREAMS, 400, 2);
  private static final Workload PACED =
      new Workload("test", "test", Workload.Kind.STREAMS, 3, 400, 100, 100_000, 1, false);
  private static final Duration MEASURED = Duration.ofMillis(1500);

  /** Placeholder in a response for the time at which it is written. */
  private static final String NOW = "NOW_________________";

  private static final String BODY = "{\"choices\":[\"" + "x".repeat(100) + "\"]}";
  private static final String OK =
      "HTTP/1.1 200 OK\r\nContent-Length: " + BODY.length() + "\r\n\r\n" + BODY;

  private final Queue<String> heads = new ConcurrentLinkedQueue<>();
  private final Queue<String> bodies = new ConcurrentLinkedQueue<>();

  private static Workload workload(Workload.Kind kind, int size, int chunks) {
    return new Workload("test", "test", kind, 3, size, chunks, 0, 1, false);
  }

  /** Runs the generator against a server that answers every request with {@code answer}. */
  private LoadResult load(Workload workload, String answer, boolean close) throws Exception {
    return load(workload, answer, close, "");
  }

  private LoadResult load(Workload workload, String answer, boolean close, String key)
      throws Exception {
    NativeTools tools = NativeTools.build(BuiltRouter.home());
    // Long enough for a response on a busy machine.
    Load load = new Load(tools, MEASURED, key);
    try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      Thread.startVirtualThread(() -> accept(server, answer, close));
      return load.run(workload, server.getLocalPort(), "", Duration.ZERO, new NoWindow());
    }
  }

  private void accept(ServerSocket server, String answer, boolean close) {
    try {
      while (true) {
        Socket socket = server.accept();
        Thread.startVirtualThread(() -> serve(socket, answer, close));
      }
    } catch (SocketException e) {
      // The test has ended.
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void serve(Socket socket, String answer, boolean close) {
    try (socket) {
      InputStream in = socket.getInputStream();
      while (true) {
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
          int next = in.read();
          if (next < 0) {
            return;
          }
          head.append((char) next);
        }
        heads.add(head.toString());
        String length = head.toString().replaceAll("(?s).*Content-Length: (\\d+).*", "$1");
        bodies.add(new String(in.readNBytes(Integer.parseInt(length)), StandardCharsets.UTF_8));
        // The generator's clock: monotonic time in nanoseconds, with 19 digits.
        String stamp = String.format(Locale.ROOT, "@%019d", System.nanoTime());
        byte[] bytes = answer.replace(NOW, stamp).getBytes(StandardCharsets.UTF_8);
        socket.getOutputStream().write(bytes);
        if (close) {
          return;
        }
      }
    } catch (IOException e) {
      // The generator has ended.
    }
  }

  @Test
  void bodiesAreDistinctChatsOfTheRequestedSize() throws Exception {
    LoadResult result = load(UNARY, OK, false);

    assertThat(result.problem()).isEmpty();
    assertThat(result.requests()).isPositive();
    assertThat(bodies).hasSizeGreaterThan(3).allSatisfy(body -> assertThat(body).hasSize(3_000));
    assertThat(new HashSet<>(bodies)).hasSameSizeAs(bodies);
    assertThat(new ObjectMapper().readTree(bodies.peek()).at("/messages/0/role").asText())
        .isEqualTo("user");
  }

  @Test
  void aKeyIsInEachRequest() throws Exception {
    assertThat(load(UNARY, OK, false, "secret").problem()).isEmpty();
    assertThat(heads)
        .hasSizeGreaterThan(3)
        .allMatch(head -> head.contains("\r\nAuthorization: Bearer secret\r\n"));
    heads.clear();

    assertThat(load(UNARY, OK, false).problem()).isEmpty();
    assertThat(heads).isNotEmpty().noneMatch(head -> head.contains("Authorization"));
  }

  @Test
  void bytesCountOnlyBodies() throws Exception {
    LoadResult result = load(UNARY, OK, false);

    // Each connection may have a partial response at the start and at the end.
    long requests = result.requests();
    assertThat(requests).isGreaterThan(10);
    assertThat(result.requestBytes()).isEqualTo(requests * 3_000);
    assertThat(result.responseBytes())
        .isBetween((requests - 3) * BODY.length(), (requests + 3) * BODY.length());
    assertThat(result.bodyMb() * 1_000_000)
        .as("both ways")
        .isBetween(
            (requests - 3.0) * (3_000 + BODY.length()), (requests + 3.0) * (3_000 + BODY.length()));
  }

  @ParameterizedTest
  @CsvSource({
    "HTTP/1.1 503 Service Unavailable~Content-Length: 0~~, status",
    "HTTP/1.1 200 OK~Content-Length: 2~~{}, short",
    "HTTP/1.1 200 OK~Transfer-Encoding: chunked~~zz~, malformed",
    "SSH-2.0-OpenSSH_9.2~~, malformed",
  })
  void wrongAnswersAreErrors(String answer, String kind) throws Exception {
    LoadResult result = load(UNARY, answer.replace("~", "\r\n"), false);

    assertThat(result.problem()).contains(kind);
    assertThat(result.requests()).isZero();
  }

  @Test
  void aCutAnswerIsAnError() throws Exception {
    LoadResult result = load(UNARY, OK.substring(0, OK.length() - 1), true);

    assertThat(result.problem()).contains("closed");
  }

  @Test
  void aPortWithoutListenerIsAnError() throws Exception {
    NativeTools tools = NativeTools.build(BuiltRouter.home());
    Load load = new Load(tools, Duration.ofMillis(200), "");
    try (RefusedPort nobody = RefusedPort.open()) {
      LoadResult result = load.run(UNARY, nobody.port(), "", Duration.ZERO, new NoWindow());

      assertThat(result.problem()).contains("connect");
    }
  }

  @Test
  void aStreamWithMissingEventsIsAnError() throws Exception {
    assertThat(load(STREAM, stream(2, true), false).problem()).isEmpty();
    assertThat(load(STREAM, stream(1, true), false).problem()).contains("short");
    assertThat(load(STREAM, stream(2, false), false).problem()).contains("short");
  }

  @Test
  void missingEventsCountAsStallsUntilTheEnd() throws Exception {
    StringBuilder one = new StringBuilder("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    chunk(one, "data: {\"content\":\"" + NOW + " \"}\n\n");

    assertOverdue(load(PACED, one.toString(), false), 3);
  }

  @Test
  void streamsThatDoNotBeginCountAsStallsUntilTheEnd() throws Exception {
    assertOverdue(load(PACED, "", false), 0);
  }

  /** Checks that all events due after 0.2 s are counted as missing. */
  private static void assertOverdue(LoadResult result, int most) {
    // Events before the measurement do not count.
    assertThat(result.events()).isBetween(0L, (long) most);
    assertThat(result.json().path("overdue").asInt()).isGreaterThan(18);
    double delay = result.millis("delay_us", "p50");
    assertThat(delay).isPositive();
    // The events are due one after the other, and all are late until the end.
    assertThat(result.millis("delay_us", "p99")).isGreaterThan(delay);
    // A stall lasts longer than the delay of most of its events.
    assertThat(result.millis("stall_us", "p50")).isGreaterThan(delay);
  }

  private static String stream(int events, boolean done) {
    StringBuilder out = new StringBuilder();
    out.append("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < events; i++) {
      chunk(out, "data: {\"content\":\"@0000000000000000001 \"}\n\n");
    }
    chunk(out, done ? "data: [DONE]\n\n" : ": the end\n\n");
    return out.append("0\r\n\r\n").toString();
  }

  private static void chunk(StringBuilder out, String text) {
    out.append(Integer.toHexString(text.length())).append("\r\n").append(text).append("\r\n");
  }

  private static final class NoWindow implements Load.Window {
    @Override
    public void begin() {}

    @Override
    public void middle() {}

    @Override
    public void end() {}
  }
}
