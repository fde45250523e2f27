package io.pointsman.it.plane;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.HttpAnswer.Header;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RawEngine;
import io.pointsman.it.support.RouterProcess;
import io.pointsman.it.support.WaitFor;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/** The bytes that pass the proxy, as seen by the engine and by the client. */
@ParameterizedClass
@EnumSource(PlaneRig.Way.class)
@Timeout(300)
@Tag("full")
final class PlaneBytesTest {
  private static final String VIA = "x-pointsman-via";
  private static final String PATH = "/v1/completions";
  private static final int MB = 1 << 20;

  private final PlaneRig rig;

  PlaneBytesTest(PlaneRig.Way way) {
    rig = new PlaneRig(way);
  }

  @AfterEach
  void close() {
    rig.close();
  }

  private static byte[] body(int size) {
    String words = "0123456789 ".repeat(size / 11 + 1);
    return "{\"model\":\"sim\",\"prompt\":\"\u00e4\u20ac\ud83d\ude00 %s\"}"
        .formatted(words)
        .getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] noise(int size) {
    byte[] bytes = new byte[size];
    new Random(size).nextBytes(bytes);
    return bytes;
  }

  private static byte[] events(int count) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < count; i++) {
      text.append("data: {\"id\":").append(i).append(",\"text\":\"\u00e4 ").append(i % 97);
      text.append("\"}\n\n");
    }
    return text.append("data: [DONE]\n\n").toString().getBytes(StandardCharsets.UTF_8);
  }

  private static void chunked(OutputStream out, String type, byte[] body, int piece)
      throws IOException {
    String head = "HTTP/1.1 200 OK\r\ncontent-type: " + type + "\r\ntransfer-encoding: chunked";
    out.write((head + "\r\n\r\n").getBytes(StandardCharsets.ISO_8859_1));
    chunks(out, body, piece);
    out.write("0\r\n\r\n".getBytes(StandardCharsets.ISO_8859_1));
  }

  private static void chunks(OutputStream out, byte[] body, int piece) throws IOException {
    for (int from = 0; from < body.length; from += piece) {
      int length = Math.min(piece, body.length - from);
      out.write((Integer.toHexString(length) + "\r\n").getBytes(StandardCharsets.ISO_8859_1));
      out.write(body, from, length);
      out.write("\r\n".getBytes(StandardCharsets.ISO_8859_1));
      if (from % 16 == 0) {
        out.flush();
      }
    }
  }

  @Test
  void bodiesReachTheEngineUnchanged() throws Exception {
    RawEngine engine =
        rig.scripted((_, out) -> out.write(RawEngine.answer("text/plain", new byte[] {'!'})));
    rig.router("cache_aware");
    rig.carrier();
    for (int size : new int[] {1, 5_000, 114_000, 131_072, 300_000, 5 * MB}) {
      byte[] body = body(size);
      for (int piece : new int[] {0, 7_001}) {
        try (RawClient client = RawClient.connect(rig.port())) {
          if (piece == 0) {
            client.send("POST", PATH, body, List.of());
          } else {
            client.sendChunked("POST", PATH, body, piece);
          }
          HttpAnswer answer = client.read();
          assertThat(answer.status()).as("%d bytes, chunks of %d", size, piece).isEqualTo(200);
          assertThat(answer.header("x-pointsman-worker")).isNotNull();
        }
        assertThat(Arrays.equals(engine.last().body(), body))
            .as("%d bytes, chunks of %d", size, piece)
            .isTrue();
      }
    }
    rig.awaitNoLoad();
  }

  @Test
  void responsesReachTheClientUnchanged() throws Exception {
    byte[] noise = noise(2 * MB + 3);
    byte[] events = events(3_000);
    rig.scripted(
        (request, out) -> {
          String text = new String(request.body(), StandardCharsets.UTF_8);
          if (text.contains("whole")) {
            out.write(RawEngine.answer("application/octet-stream", noise));
          } else if (text.contains("pieces")) {
            chunked(out, "application/octet-stream", noise, 10_007);
          } else {
            chunked(out, "text/event-stream", events, 37);
          }
        });
    rig.router("cache_aware");
    rig.carrier();

    HttpAnswer whole = rig.send(PlaneRig.completion("whole"));
    HttpAnswer pieces = rig.send(PlaneRig.completion("pieces"));
    HttpAnswer stream = rig.send(PlaneRig.completion("stream"));

    assertThat(Arrays.equals(whole.body(), noise)).isTrue();
    assertThat(pieces.complete()).isTrue();
    assertThat(Arrays.equals(pieces.body(), noise)).isTrue();
    assertThat(stream.complete()).isTrue();
    assertThat(stream.header("content-type")).isEqualTo("text/event-stream");
    assertThat(stream.text()).isEqualTo(new String(events, StandardCharsets.UTF_8));
    rig.awaitNoLoad();
  }

  /** If responses passed through the router, none could arrive. */
  @Test
  void responsesBypassTheRouter() throws Exception {
    byte[] events = events(100_000);
    CountDownLatch frozen = new CountDownLatch(1);
    rig.scripted(
        (request, out) -> {
          if (!new String(request.body(), StandardCharsets.UTF_8).contains("long")) {
            out.write(RawEngine.answer("text/plain", new byte[] {'!'}));
            return;
          }
          String head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
          head += "transfer-encoding: chunked\r\n\r\n";
          out.write(head.getBytes(StandardCharsets.ISO_8859_1));
          chunks(out, Arrays.copyOf(events, 100), 100);
          out.flush();
          await(frozen);
          chunks(out, Arrays.copyOfRange(events, 100, events.length), 1_999);
          out.write("0\r\n\r\n".getBytes(StandardCharsets.ISO_8859_1));
        });
    RouterProcess router = rig.routerProcess("cache_aware");
    rig.carrier();
    try (RawClient client = RawClient.connect(rig.port())) {
      client.send("POST", PATH, PlaneRig.completion("long"));
      HttpAnswer.Head head = client.readHead();
      assertThat(head.header("x-pointsman-worker")).isNotNull();
      router.freeze(true);
      frozen.countDown();
      HttpAnswer answer = client.readBody(head);
      router.freeze(false);

      assertThat(answer.complete()).isTrue();
      assertThat(Arrays.equals(answer.body(), events)).isTrue();
    } finally {
      router.freeze(false);
      frozen.countDown();
    }
    rig.awaitNoLoad();
  }

  private static void await(CountDownLatch latch) throws IOException {
    try {
      if (!latch.await(WaitFor.LONG.toSeconds(), TimeUnit.SECONDS)) {
        throw new IOException("not let go on");
      }
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
  }

  @Test
  void clientsCannotSendTheRoutersHeadersAndTheseAreAdded() throws Exception {
    RawEngine engine =
        rig.scripted((_, out) -> out.write(RawEngine.answer("text/plain", new byte[] {'!'})));
    rig.worker(WorkerSpec.of(engine.url()).withModels(Set.of("ranked")).atRank(3));
    rig.router("cache_aware", "unknown-model", "base-model");
    rig.carrier();
    String[] forged = {
      "X-Pointsman-Lease-Ttl: 1",
      "x-pointsman-worker: nobody",
      "x-pointsman-anything: 1",
      "X-Serve-Request-Path: /nowhere",
      "x-serve-request-method: GET",
      "x-serve-router-kv-token-key: 1",
      "X-Body-Truncated: 1/2",
      "X-Data-Parallel-Rank: 7",
      "X-Prefiller-Host-Port: 9.9.9.9:1",
      "X-Encoder-Hosts-Ports: 9.9.9.9:1",
      "X-Data-Parallel-Host-Port: 9.9.9.9:1",
      "X-Gateway-Destination-Endpoint: 9.9.9.9:1",
      "X-KV-Transfer-Params: 1",
      "HTTP2-Settings: AAMAAABk",
      "X-Forwarded-For: 9.9.9.9",
      "X-Forwarded-Host: a.example",
      "X-Forwarded-Proto: https",
      "X-Real-IP: 9.9.9.9",
      "Forwarded: for=9.9.9.9",
      "x-session-id: s1",
      "Authorization: Bearer k",
      "x-mine: kept"
    };
    assertThat(rig.send(PlaneRig.completion("plain"), forged).status()).isEqualTo(200);
    Set<String> names = names(engine.last().headers());
    assertThat(names).contains("x-session-id", "authorization", "x-mine");
    assertThat(names)
        .doesNotContain(
            "x-body-truncated",
            "x-data-parallel-rank",
            "x-prefiller-host-port",
            "x-encoder-hosts-ports",
            "x-data-parallel-host-port",
            "x-gateway-destination-endpoint",
            "x-kv-transfer-params",
            "http2-settings",
            "x-forwarded-host",
            "forwarded")
        .noneMatch(name -> name.startsWith("x-pointsman-") && !name.equals(VIA))
        .noneMatch(name -> name.startsWith("x-serve-"));
    assertThat(engine.last().header("x-forwarded-for")).isEqualTo("127.0.0.1");
    assertThat(engine.last().header("x-real-ip")).isEqualTo("127.0.0.1");
    assertThat(engine.last().header("x-forwarded-proto")).isEqualTo("http");

    assertThat(rig.send("{\"model\":\"ranked\",\"prompt\":\"x\"}", forged).status()).isEqualTo(200);
    assertThat(engine.last().header("x-data-parallel-rank")).isEqualTo("3");
    assertThat(rig.send("{\"model\":\"sim:poet\",\"prompt\":\"x\"}", forged).status())
        .isEqualTo(200);
    assertThat(engine.last().header("serve_multiplexed_model_id")).isEqualTo("sim:poet");
    rig.awaitNoLoad();
  }

  @Test
  void theProxyAddsItsNameToThoseBeforeItAndEndsACircle() throws Exception {
    RawEngine engine =
        rig.scripted((_, out) -> out.write(RawEngine.answer("text/plain", new byte[] {'!'})));
    rig.router("cache_aware", "unknown-model", "base-model");
    rig.carrier();
    rig.send(PlaneRig.completion("plain"));
    String own = String.valueOf(engine.last().header(VIA));
    assertThat(own).isIn("haproxy", "nginx");

    rig.send(PlaneRig.completion("behind routers"), VIA + ": a, b");
    assertThat(engine.last().header(VIA)).isEqualTo(own + ", a, b");

    int requests = engine.received().size();
    HttpAnswer ended = rig.send(PlaneRig.completion("circle"), VIA + ": 1, 2, 3, 4, 5, 6, 7, 8, 9");
    assertThat(ended.status()).isEqualTo(508);
    assertThat(ended.text()).contains("\"code\":\"routing_loop\"");
    assertThat(ended.header("x-should-retry")).isEqualTo("false");
    assertThat(engine.received()).hasSize(requests);
    rig.awaitNoLoad();
  }

  /** The same holds for the built-in proxy; the engine may itself be such a router. */
  @Test
  void enginesCannotSendTheRoutersHeaders() throws Exception {
    byte[] answer =
        RawEngine.answer(
            "text/plain",
            new byte[] {'!'},
            "X-Pointsman-Worker: theirs",
            "x-pointsman-prefill-worker: theirs",
            "x-pointsman-split: theirs",
            "x-engine: kept");
    RawEngine engine = rig.scripted((_, out) -> out.write(answer));
    rig.router("round_robin");
    rig.carrier();

    HttpAnswer decided = rig.send(PlaneRig.completion("x"));
    HttpAnswer balanced = PlaneRig.get(rig.port(), "/v1/anything");

    assertThat(decided.header("x-pointsman-worker")).isEqualTo(WorkerSpec.idOf(engine.url()));
    assertThat(decided.head().headers().toString()).contains("kept").doesNotContain("theirs");
    assertThat(balanced.status()).isEqualTo(200);
    assertThat(balanced.head().headers().toString()).contains("kept").doesNotContain("theirs");
  }

  /** Ray's own header: a client may name the adapter there instead of in the body. */
  @Test
  void theClientsHeaderForMultiplexedModelsIsUsedAndForwarded() throws Exception {
    RawEngine.Script script =
        (_, out) -> out.write(RawEngine.answer("text/plain", new byte[] {'!'}));
    RawEngine one = rig.scripted(script);
    RawEngine other = rig.scripted(script);
    rig.router("round_robin", "unknown-model", "base-model");
    rig.carrier();
    String header = "serve_multiplexed_model_id";
    String named = null;
    for (int i = 0; i < 6; i++) {
      HttpAnswer answer = rig.send(PlaneRig.completion("turn " + i), header + ": sim:poet");
      assertThat(answer.status()).isEqualTo(200);
      RawEngine served = one.url().endsWith(workersPort(answer)) ? one : other;
      assertThat(served.last().header(header)).isEqualTo("sim:poet");
      assertThat(named == null || named.equals(answer.header("x-pointsman-worker")))
          .as("an adapter stays with its worker, though the policy takes turns")
          .isTrue();
      named = answer.header("x-pointsman-worker");
    }
    // A header for another model than the body's changes nothing; the engine judges it.
    assertThat(rig.send(PlaneRig.completion("x"), header + ": foreign:a").status()).isEqualTo(200);
    assertThat(Stream.of(one, other).flatMap(engine -> engine.received().stream()))
        .anyMatch(received -> "foreign:a".equals(received.header(header)));
    rig.awaitNoLoad();
  }

  private static String workersPort(HttpAnswer answer) {
    String worker = String.valueOf(answer.header("x-pointsman-worker"));
    return worker.substring(worker.indexOf(':'));
  }

  private static Set<String> names(List<Header> headers) {
    return headers.stream()
        .map(header -> header.name().toLowerCase(Locale.ROOT))
        .collect(Collectors.toSet());
  }
}
