package io.pointsman.it.plane;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RawEngine;
import io.pointsman.it.support.RawEngine.Received;
import io.pointsman.it.support.WaitFor;
import io.pointsman.server.wiring.Router;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Bodies without a key, truncated, huge or malformed, and unusual methods, through a proxy with
 * decisions. The engine judges them, nothing hangs, and no lease is left.
 */
@ParameterizedClass
@EnumSource(PlaneRig.Way.class)
@Timeout(300)
@Tag("full")
final class PlaneOddBodiesTest {
  private static final String CHATS = "/v1/chat/completions";
  private static final int MEGABYTE = 1 << 20;

  /** Bodies by name; the same as in {@code PlaneBodiesTest}. */
  private static final List<String> EIGHT_BODIES =
      List.of(
          "",
          "{\"model\":\"sim\",\"mess",
          "hello there",
          "[1,2,3]",
          "{\"model\":\"sim\",\"max_tokens\":5}",
          "{\"model\":\"sim\",\"messages\":[]}",
          "{\"model\":\"sim\",\"prompt\":\"\"}",
          "{\"model\":\"sim\",\"input\":\"some text that is long enough to be a key\"}");

  private static final List<String> WRONG_JSON =
      List.of(
          "{", "null", "{} {}", "\u0000", "{\"model\":7}", "{\"model\":\"sim\",}", "\"", "{\"a\":");

  private final PlaneRig.Way way;
  private final PlaneRig rig;
  private @Nullable Router router;

  PlaneOddBodiesTest(PlaneRig.Way way) {
    this.way = way;
    rig = new PlaneRig(way);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  private List<RawEngine> begun() throws IOException {
    List<RawEngine> engines =
        List.of(rig.scripted(PlaneOddBodiesTest::judged), rig.scripted(PlaneOddBodiesTest::judged));
    router = rig.router("cache_aware", "metrics.enabled", "true", "metrics.port", "0");
    rig.carrier();
    return engines;
  }

  /** An engine's own response, good or bad, that no proxy would send. */
  private static void judged(Received request, OutputStream out) throws IOException {
    String body = new String(request.body(), StandardCharsets.UTF_8);
    boolean good = status(request.body()) == 200 || body.contains("pinned?");
    byte[] said = (request.line() + " " + request.body().length).getBytes(StandardCharsets.UTF_8);
    String head = "HTTP/1.1 " + (good ? "200 OK" : "422 No") + "\r\ncontent-type: text/plain";
    head += "\r\ncontent-length: " + said.length + "\r\n\r\n";
    out.write(head.getBytes(StandardCharsets.US_ASCII));
    out.write(said);
  }

  private static int status(byte[] body) {
    return body.length % 2 == 0 ? 200 : 422;
  }

  /** Checks that the engine got the unchanged body, and the client the unchanged response. */
  private void assertJudged(String method, byte[] body, int piece, List<RawEngine> engines)
      throws IOException {
    long before = received(body, engines);
    try (RawClient client = RawClient.connect(rig.port())) {
      if (piece > 0) {
        client.sendChunked(method, CHATS, body, piece);
      } else {
        client.send(method, CHATS, body, List.of());
      }
      HttpAnswer answer = client.read();
      String name =
          method + " " + new String(body, 0, Math.min(body.length, 40), StandardCharsets.UTF_8);
      assertThat(answer.status()).as(name).isEqualTo(status(body));
      assertThat(answer.text()).startsWith(method + " " + CHATS).endsWith(" " + body.length);
      assertThat(answer.header("x-pointsman-worker") != null)
          .as("placed by the router: " + name)
          .isEqualTo(method.equals("POST"));
    }
    assertThat(received(body, engines)).as("times that it was sent on").isEqualTo(before + 1);
  }

  /** Number of times that engines have got exactly this body. */
  private static long received(byte[] body, List<RawEngine> engines) {
    return engines.stream()
        .flatMap(engine -> engine.received().stream())
        .filter(each -> Arrays.equals(each.body(), body))
        .count();
  }

  private void assertNoLeaseIsOpen() throws IOException {
    rig.awaitNoLoad();
    int metrics = URI.create(String.valueOf(requireNonNull(router).metricsUrl())).getPort();
    WaitFor.until(
        "no lease is open",
        WaitFor.LONG,
        () ->
            metricLines(metrics)
                .anyMatch(line -> line.matches("pointsman_external_leases 0(\\.0)?")));
    assertThat(metricLines(metrics).filter(line -> line.contains("{outcome=\"expired\"}")))
        .as("all were settled")
        .anyMatch(line -> line.matches("pointsman_external_leases_ended_total\\{.*} 0(\\.0)?"));
  }

  private static Stream<String> metricLines(int metrics) {
    try {
      return PlaneRig.get(metrics, "/metrics").text().lines();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void enginesJudgeBodiesWithoutAKeyAndInvalidJson() throws Exception {
    List<RawEngine> engines = begun();
    for (List<String> bodies : List.of(EIGHT_BODIES, WRONG_JSON)) {
      for (String body : bodies) {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        assertJudged("POST", bytes, 0, engines);
        assertJudged("POST", bytes, 5, engines);
      }
    }
    assertNoLeaseIsOpen();
  }

  @Test
  void twentyMegabytesAreForwardedCompletely() throws Exception {
    List<RawEngine> engines = begun();
    byte[] body =
        ("{\"model\":\"sim\",\"prompt\":\"" + "x".repeat(20 * MEGABYTE) + "\"}")
            .getBytes(StandardCharsets.UTF_8);

    assertJudged("POST", body, 0, engines);
    assertJudged("POST", body, 100_003, engines);
    assertNoLeaseIsOpen();
  }

  @Test
  void enginesJudgeOtherMethods() throws Exception {
    List<RawEngine> engines = begun();
    byte[] body = "{\"model\":\"sim\"}".getBytes(StandardCharsets.UTF_8);
    for (String method : List.of("PUT", "DELETE", "PATCH")) {
      assertJudged(method, body, 0, engines);
    }
    assertJudged("GET", new byte[0], 0, engines);
    assertJudged("OPTIONS", new byte[0], 0, engines);
    assertNoLeaseIsOpen();
  }

  /** A body shorter than its length, and endless chunks: no engine gets a half one. */
  @Test
  void aClientThatLeavesWithinItsBodyLeavesNothing() throws Exception {
    List<RawEngine> engines = begun();
    // HAProxy starts to forward a body larger than its buffer, like the built-in proxy.
    for (int size : new int[] {200, 100_000, 400_000}) {
      byte[] body =
          ("{\"model\":\"sim\",\"prompt\":\"" + "y".repeat(size) + "\"}")
              .getBytes(StandardCharsets.UTF_8);
      try (RawClient client = RawClient.connect(rig.port())) {
        client.sendPart("POST", CHATS, body, size / 2);
        client.reset();
      }
      try (RawClient client = RawClient.connect(rig.port())) {
        client.sendPart("POST", CHATS, body, size / 2);
        client.leave();
      }
      try (RawClient client = RawClient.connect(rig.port())) {
        client.send(
            ("POST " + CHATS + " HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n")
                .getBytes(StandardCharsets.US_ASCII));
        client.send("10\r\n0123456789abcdef\r\n".getBytes(StandardCharsets.US_ASCII));
        client.reset();
      }
    }
    assertNoLeaseIsOpen();
    assertThat(
            engines.stream()
                .flatMap(engine -> engine.received().stream())
                .filter(each -> new String(each.body(), StandardCharsets.UTF_8).contains("yyy")))
        .as("bodies that have begun and not ended")
        .allMatch(each -> each.body().length > 50_000 && each.body().length <= 200_000);
    assertJudged("POST", "{\"model\":\"sim\"}".getBytes(StandardCharsets.UTF_8), 0, engines);
    assertNoLeaseIsOpen();
  }

  /** Otherwise a client could exclude a worker for all others with ten requests. */
  @Test
  void noWorkerIsBlamedForAnInvalidChunk() throws Exception {
    begun();
    byte[] begin =
        ("POST " + CHATS + " HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n40000\r\n")
            .getBytes(StandardCharsets.US_ASCII);
    byte[] chunk = "x".repeat(0x40000).getBytes(StandardCharsets.US_ASCII);

    for (int i = 0; i < 3; i++) {
      rig.awaitNoLoad();
      try (RawClient client = RawClient.connect(rig.port())) {
        client.send(begin).send(chunk);
        if (way != PlaneRig.Way.NGINX) {
          // nginx reads the whole body before its query.
          WaitFor.until("it is on its way to a worker", WaitFor.LONG, () -> rig.load() == 1);
        }
        client.send("\r\nzz\r\n".getBytes(StandardCharsets.US_ASCII));
        assertThat(client.read().status()).isEqualTo(400);
      }
    }

    assertNoLeaseIsOpen();
    assertThat(requireNonNull(router).fleet().snapshot().workers())
        .hasSize(2)
        .allMatch(worker -> worker.failures() == 0);
  }
}
