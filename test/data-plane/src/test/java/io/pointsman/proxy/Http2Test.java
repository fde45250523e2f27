package io.pointsman.proxy;

import static io.pointsman.proxy.Http2Wire.get;
import static io.pointsman.proxy.Http2Wire.post;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Outcome;
import io.pointsman.proxy.Http2Wire.Answer;
import io.pointsman.proxy.Http2Wire.Frame;
import io.pointsman.proxy.http2.Http2FrontSettings;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.local.LocalRoutes;
import io.pointsman.proxy.settings.LimitSettings;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.Faults.EventStream;
import io.pointsman.testkit.engine.Faults.HangAfter;
import io.pointsman.testkit.engine.Faults.HangBeforeHeaders;
import io.pointsman.testkit.engine.Faults.Raw;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;

/** HTTP/2 in clear text: the same requests and answers as with HTTP/1.1. */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@EveryTransport
@Timeout(60)
class Http2Test {
  private static final String BODY = "{\"model\":\"m\"}";
  private static final String ONE_EVENT =
      "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
          + "b\r\ndata: one\n\n\r\n";

  @Parameter Transport transport = Transport.AUTO;

  private static ProxySettings with(Http2FrontSettings http2) {
    ProxySettings usual = ProxySettings.DEFAULTS;
    return usual.withListen(usual.listen().withHttp2(http2));
  }

  @Test
  void requestAndAnswerAreThoseOfHttp1() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine =
            ScriptedEngine.start(
                new Raw(
                    "HTTP/1.1 201 Created\r\nX-Engine: e\r\nKeep-Alive: timeout=5\r\n"
                        + "Connection: keep-alive\r\nContent-Length: 2\r\n\r\nhi"));
        Http2Wire client = new Http2Wire(rig.server().port())) {
      rig.worker(engine.url());
      client
          .head(
              1,
              false,
              post(
                  "/v1/chat/completions?a=b",
                  "content-type",
                  "application/json",
                  "cookie",
                  "a=1",
                  "cookie",
                  "b=2",
                  "te",
                  "trailers",
                  "content-length",
                  "13"))
          .data(1, false, BODY.substring(0, 5))
          .data(1, true, BODY.substring(5));

      Answer answer = client.answer(1);
      EngineRequest sent = engine.awaitRequest();

      assertThat(sent.line()).isEqualTo("POST /v1/chat/completions?a=b HTTP/1.1");
      assertThat(sent.bodyText()).isEqualTo(BODY);
      assertThat(sent.header("cookie")).isEqualTo("a=1; b=2");
      assertThat(answer.status()).isEqualTo("201");
      assertThat(answer.body()).isEqualTo("hi");
      assertThat(answer.header("x-engine")).isEqualTo("e");
      assertThat(answer.header("content-length")).isEqualTo("2");
      assertThat(answer.header("x-request-id")).isNotNull();
      assertThat(answer.header("connection")).isNull();
      assertThat(answer.header("keep-alive")).isNull();
    }
  }

  @Test
  void streamsOfOneConnectionAreServedAtOnce() throws Exception {
    CountDownLatch first = new CountDownLatch(1);
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine =
            ScriptedEngine.start(
                (request, connection) -> {
                  if (request.bodyText().contains("slow")) {
                    first.await();
                  }
                  new EventStream(List.of("a", "b")).answer(request, connection);
                });
        Http2Wire client = new Http2Wire(rig.server().port())) {
      rig.worker(engine.url());
      client.chat(1, "{\"model\":\"m\",\"user\":\"slow\"}").chat(3, BODY);

      String events = "data: a\n\ndata: b\n\ndata: [DONE]\n\n";
      assertThat(client.answer(3).body()).isEqualTo(events);
      first.countDown();
      assertThat(client.answer(1).body()).isEqualTo(events);
    }
  }

  @Test
  void eventsArriveAsTheyCome() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine =
            ScriptedEngine.start(
                (request, connection) -> {
                  connection.send(ONE_EVENT);
                  end.await();
                  connection.chunk("data: two\n\n");
                  connection.send("0\r\nx-sum: 7\r\n\r\n");
                });
        Http2Wire client = new Http2Wire(rig.server().port())) {
      rig.worker(engine.url());
      client.chat(1, BODY);

      Frame head = client.next(Http2Wire.HEADERS);
      Frame data = client.next(Http2Wire.DATA);
      assertThat(requireNonNull(head).lines())
          .startsWith("200\n")
          .doesNotContain("transfer-encoding");
      assertThat(requireNonNull(data).payload())
          .asString(StandardCharsets.UTF_8)
          .isEqualTo("data: one\n\n");
      end.countDown();
      Answer rest = client.answer(1);
      assertThat(rest.body()).isEqualTo("data: two\n\n");
      assertThat(rest.trailers()).containsExactly("x-sum: 7\n");
    }
  }

  @Test
  void resetOfTheClientCancelsTheEnginesRequest() throws Exception {
    // The clock stands still, so no timeout can end the request.
    try (ProxyRig rig = new ProxyRig(transport, ProxySettings.DEFAULTS, new FakeClock());
        ScriptedEngine engine = ScriptedEngine.start(new HangAfter(ONE_EVENT));
        Http2Wire client = new Http2Wire(rig.server().port())) {
      rig.worker(engine.url());
      client.chat(1, BODY);
      client.next(Http2Wire.DATA);

      client.frame(Http2Wire.RESET, 0, 1, Http2Wire.number(Http2Wire.CANCEL));

      assertThat(engine.awaitDeparture()).isTrue();
      ProxyRig.await("ended", () -> !rig.ended.isEmpty());
      assertThat(rig.outcomes).containsExactly(Outcome.IGNORED);
      assertThat(rig.ended.getFirst().left()).isTrue();
      // The connection goes on.
      engine.now(Faults.Answer.ok());
      assertThat(client.chat(3, BODY).answer(3).status()).isEqualTo("200");
    }
  }

  @Test
  void endOfTheConnectionCancelsItsRequests() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, ProxySettings.DEFAULTS, new FakeClock());
        ScriptedEngine engine = ScriptedEngine.start(new HangBeforeHeaders())) {
      rig.worker(engine.url());
      try (Http2Wire client = new Http2Wire(rig.server().port())) {
        client.chat(1, BODY).chat(3, BODY);
        engine.awaitRequest();
        engine.awaitRequest();
      }
      assertThat(engine.awaitDeparture()).isTrue();
      assertThat(engine.awaitDeparture()).isTrue();
      ProxyRig.await("ended", () -> rig.ended.size() == 2);
      ProxyRig.await("the connection is forgotten", () -> rig.server().clients() == 0);
    }
  }

  @Test
  void aBrokenAnswerIsAReset() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine =
            ScriptedEngine.start(
                new Faults.CloseAfter("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart"));
        Http2Wire client = new Http2Wire(rig.server().port())) {
      rig.worker(engine.url());
      Answer answer = client.chat(1, BODY).answer(1);
      assertThat(answer.body()).isEqualTo("part");
      assertThat(answer.reset()).isEqualTo(Http2Wire.INTERNAL_ERROR);
    }
  }

  @Test
  void anAnswerBeforeTheEndOfTheBodyArrivesWhole() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        Http2Wire client = new Http2Wire(rig.server().port())) {
      client.head(
          1, false, post("/v1/chat/completions", "content-length", Long.toString(1L << 40)));
      Answer answer = client.answer(1);
      assertThat(answer.status()).isEqualTo("413");
      assertThat(answer.body()).contains("request body: too large");
      Frame reset = client.next(Http2Wire.RESET);
      assertThat(reset).isNotNull();
      assertThat(requireNonNull(reset).number(0)).isEqualTo(Http2Wire.NO_ERROR);
    }
  }

  /** The worker is not read while the client reads nothing, in both directions. */
  @Test
  void aClientThatDoesNotReadHoldsBackItsWorker() throws Exception {
    String chunk = "x".repeat(16_384);
    int chunks = 2560;
    AtomicLong sent = new AtomicLong();
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine =
            ScriptedEngine.start(
                (request, connection) -> {
                  connection.beginEvents();
                  for (int i = 0; i < chunks; i++) {
                    connection.chunk(chunk);
                    sent.addAndGet(chunk.length());
                  }
                  connection.lastChunk();
                });
        Http2Wire client = new Http2Wire(rig.server().port())) {
      rig.worker(engine.url());
      client.reads = false;
      client.chat(1, BODY);
      rig.settled(sent::get);
      assertThat(sent.get()).isLessThan(32L << 20);
      // Another stream of the connection does not wait.
      client.reads = true;
      assertThat(client.head(3, true, get("/v1/none")).answer(3).status()).isNotEmpty();
      // One window for the rest: each frame costs time, because the leak detector follows it.
      client.reads = false;
      int all = chunks * chunk.length();
      client.frame(Http2Wire.WINDOW, 0, 0, Http2Wire.number(all));
      client.frame(Http2Wire.WINDOW, 0, 1, Http2Wire.number(all));
      assertThat(client.answer(1).body()).hasSize(all);
    }
  }

  @Test
  void aLargeBodyWaitsForItsWorker() throws Exception {
    CountDownLatch read = new CountDownLatch(1);
    int parts = 4096;
    String part = "x".repeat(16_000);
    ProxySettings streamed =
        ProxySettings.DEFAULTS.withLimits(
            new LimitSettings(1L << 40, 65_536, 16_384, 1024, 1 << 20));
    AtomicLong sent = new AtomicLong();
    try (ProxyRig rig = new ProxyRig(transport, streamed);
        ServerSocket worker = new ServerSocket(0);
        Http2Wire client = new Http2Wire(rig.server().port())) {
      rig.worker("http://127.0.0.1:" + worker.getLocalPort());
      Thread engine =
          Thread.ofVirtual()
              .start(
                  () -> {
                    try (Socket socket = worker.accept()) {
                      read.await();
                      long left = (long) parts * part.length();
                      while (left > 0) {
                        left -= socket.getInputStream().skip(65_536);
                      }
                      socket
                          .getOutputStream()
                          .write(
                              "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
                                  .getBytes(StandardCharsets.UTF_8));
                    } catch (Exception e) {
                      throw new IllegalStateException(e);
                    }
                  });
      client.head(
          1,
          false,
          post("/v1/audio", "content-length", Long.toString((long) parts * part.length())));
      Window window = new Window(client);
      for (int i = 0; i < parts; i++) {
        window.take(part.length(), read, sent);
        client.data(1, i == parts - 1, part);
        sent.addAndGet(part.length());
      }
      assertThat(client.answer(1).status()).isEqualTo("200");
      engine.join(Await.LONG);
      assertThat(window.deferredAt).isPositive().isLessThan(32L << 20);
    }
  }

  /** The bytes that a client may send. */
  private static final class Window {
    private final Http2Wire client;
    private long ofStream = 65_535;
    private long ofConnection = 65_535;
    long deferredAt = -1;

    Window(Http2Wire client) {
      this.client = client;
    }

    /** Waits until the router grants bytes; the first time with nothing left, the worker reads. */
    void take(int bytes, CountDownLatch read, AtomicLong sent) throws Exception {
      while (ofStream < bytes || ofConnection < bytes) {
        if (deferredAt < 0 && client.quiet()) {
          deferredAt = sent.get();
          read.countDown();
        }
        Frame frame = requireNonNull(client.next());
        if (frame.type() == Http2Wire.WINDOW && frame.stream() == 0) {
          ofConnection += frame.number(0);
        } else if (frame.type() == Http2Wire.WINDOW) {
          ofStream += frame.number(0);
        } else if (frame.type() == Http2Wire.SETTINGS && frame.flags() == 0) {
          for (int at = 0; at < frame.payload().length; at += 6) {
            ofStream += frame.payload()[at + 1] == 4 ? frame.number(at + 2) - 65_535 : 0;
          }
        }
      }
      ofStream -= bytes;
      ofConnection -= bytes;
    }
  }

  @Test
  void theRoutersOwnAnswersAndErrorsAreTheSame() throws Exception {
    LocalRoutes routes =
        LocalRoutes.builder().on("GET", "/own", _ -> LocalResponse.json(200, "{}")).build();
    try (ProxyRig rig = new ProxyRig(transport, ProxySettings.DEFAULTS, routes);
        Http2Wire client = new Http2Wire(rig.server().port())) {
      assertThat(client.head(1, true, get("/own")).answer(1).body()).isEqualTo("{}");
      Answer none = client.chat(3, BODY).answer(3);
      assertThat(none.status()).isEqualTo("503");
      assertThat(none.header("content-type")).isEqualTo("application/json");
      assertThat(client.head(5, true, "bad", "order").answer(5).reset())
          .isEqualTo(Http2Wire.PROTOCOL_ERROR);
      assertThat(client.head(7, true, get("/" + "u".repeat(20_000))).answer(7).status())
          .isEqualTo("414");
      assertThat(client.head(9, true, get("/x", "h", "v".repeat(70_000))).answer(9).status())
          .isEqualTo("431");
    }
  }

  @Test
  void webSocketsAreRefusedWithAReason() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        Http2Wire client = new Http2Wire(rig.server().port())) {
      client.head(
          1,
          false,
          ":method",
          "CONNECT",
          ":protocol",
          "websocket",
          ":scheme",
          "http",
          ":path",
          "/v1/realtime",
          ":authority",
          "router");
      Answer answer = client.answer(1);
      assertThat(answer.status()).isEqualTo("405");
      assertThat(answer.body()).contains("HTTP/1.1 for WebSockets");
    }
  }

  @Test
  void theClientOfTheJdkUpgrades() throws Exception {
    ProxySettings upgrading = with(new Http2FrontSettings(true, true, 100, 1000));
    try (ProxyRig rig = new ProxyRig(transport, upgrading);
        ScriptedEngine engine = ScriptedEngine.start(new EventStream(List.of("a")));
        HttpClient client = HttpClient.newHttpClient()) {
      rig.worker(engine.url());
      URI base = URI.create("http://127.0.0.1:" + rig.server().port());
      HttpResponse<String> first =
          client.send(
              HttpRequest.newBuilder(base.resolve("/v1/other?a=b")).header("x-mine", "1").build(),
              HttpResponse.BodyHandlers.ofString());
      HttpResponse<String> second =
          client.send(
              HttpRequest.newBuilder(base.resolve("/v1/chat/completions"))
                  .POST(HttpRequest.BodyPublishers.ofString(BODY))
                  .build(),
              HttpResponse.BodyHandlers.ofString());

      assertThat(first.version()).isEqualTo(HttpClient.Version.HTTP_2);
      assertThat(first.statusCode()).isEqualTo(200);
      assertThat(second.version()).isEqualTo(HttpClient.Version.HTTP_2);
      assertThat(second.body()).isEqualTo("data: a\n\ndata: [DONE]\n\n");
      EngineRequest sent = engine.awaitRequest();
      assertThat(sent.line()).isEqualTo("GET /v1/other?a=b HTTP/1.1");
      assertThat(sent.header("x-mine")).isEqualTo("1");
      assertThat(sent.header("http2-settings")).isNull();
      assertThat(engine.awaitRequest().bodyText()).isEqualTo(BODY);
      assertThat(rig.server().connections().begun(true, false)).isEqualTo(1);
    }
  }

  @Test
  void withoutTheUpgradeSuchRequestsStayWithHttp1() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        ScriptedEngine engine = ScriptedEngine.start(Faults.Answer.ok());
        HttpClient client = HttpClient.newHttpClient()) {
      rig.worker(engine.url());
      HttpResponse<String> answer =
          client.send(
              HttpRequest.newBuilder(
                      URI.create("http://127.0.0.1:" + rig.server().port() + "/v1/other"))
                  .build(),
              HttpResponse.BodyHandlers.ofString());
      assertThat(answer.version()).isEqualTo(HttpClient.Version.HTTP_1_1);
      assertThat(answer.statusCode()).isEqualTo(200);
    }
  }

  @Test
  void switchedOffThePrefaceIsAnUnknownVersion() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport, with(new Http2FrontSettings(false, false, 1, 1)));
        WireClient client = rig.connect()) {
      client.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
      assertThat(client.read().status()).isEqualTo(505);
    }
  }

  @Test
  void aPrefaceInPartsIsRecognised() throws Exception {
    try (ProxyRig rig = new ProxyRig(transport);
        WireClient client = rig.connect()) {
      client.send("PRI * HT");
      client.send("TP/2.0\r\n\r\nSM\r\n\r");
      client.send(new byte[] {'\n', 0, 0, 0, 4, 0, 0, 0, 0, 0});
      ProxyRig.await("settings of the router", client::hasBytes);
      assertThat(rig.server().connections().begun(true, false)).isEqualTo(1);
    }
  }

  @Test
  void drainLetsStreamsFinishAndRefusesFurtherOnes() throws Exception {
    CountDownLatch end = new CountDownLatch(1);
    ProxyRig rig =
        new ProxyRig(transport, ProxySettings.DEFAULTS.withDrainTimeout(Duration.ofSeconds(30)));
    try (ScriptedEngine engine =
            ScriptedEngine.start(
                (request, connection) -> {
                  connection.send(ONE_EVENT);
                  end.await();
                  connection.chunk("data: two\n\n").lastChunk();
                });
        Http2Wire idle = new Http2Wire(rig.server().port());
        Http2Wire client = new Http2Wire(rig.server().port())) {
      rig.worker(engine.url());
      client.chat(1, BODY);
      client.next(Http2Wire.DATA);
      idle.frame(Http2Wire.PING, 0, 0, new byte[8]).next(Http2Wire.PING);
      Thread closing = Thread.ofVirtual().start(() -> rig.server().close());

      assertThat(lastStreams(idle)).containsExactly(Integer.MAX_VALUE, 0);
      assertThat(idle.next()).isNull();
      assertThat(lastStreams(client)).containsExactly(Integer.MAX_VALUE, 1);
      assertThat(closing.isAlive()).isTrue();
      end.countDown();

      Answer rest = client.answer(1);
      assertThat(rest.body()).isEqualTo("data: two\n\n");
      assertThat(rest.reset()).isEqualTo(-1);
      assertThat(client.next()).isNull();
      closing.join(Await.LONG);
      assertThat(closing.isAlive()).isFalse();
      rig.close();
    }
  }

  /** The last streams that two announcements of the end name. */
  private static List<Integer> lastStreams(Http2Wire client) throws Exception {
    Frame first = requireNonNull(client.next(Http2Wire.GOAWAY));
    Frame second = requireNonNull(client.next(Http2Wire.GOAWAY));
    return List.of(first.number(0), second.number(0));
  }

  @Test
  void aRequestAfterTheAnnouncementOfTheEndIsServedAndNamed() throws Exception {
    ProxyRig rig =
        new ProxyRig(transport, ProxySettings.DEFAULTS.withDrainTimeout(Duration.ofMinutes(1)));
    try (ScriptedEngine engine = ScriptedEngine.start(Faults.Answer.ok());
        Http2Wire client = new Http2Wire(rig.server().port())) {
      rig.worker(engine.url());
      assertThat(client.chat(1, BODY).answer(1).status()).isEqualTo("200");
      Thread closing = Thread.ofVirtual().start(() -> rig.server().close());

      Frame announced = requireNonNull(client.next(Http2Wire.GOAWAY));
      assertThat(announced.number(0)).isEqualTo(Integer.MAX_VALUE);
      assertThat(client.chat(3, BODY).answer(3).status()).isEqualTo("200");
      Frame last = requireNonNull(client.next(Http2Wire.GOAWAY));
      assertThat(last.number(0)).isEqualTo(3);
      assertThat(client.next()).isNull();
      closing.join(Await.LONG);
      rig.close();
    }
  }

  @Test
  void whileItStopsTheRouterAnnouncesTheEndWithEachAnswer() throws Exception {
    ProxyRig rig =
        new ProxyRig(
            transport,
            ProxySettings.DEFAULTS
                .withDrainTimeout(Duration.ofHours(2))
                .withDrainDelay(Duration.ofHours(1)));
    try (ScriptedEngine engine = ScriptedEngine.start(Faults.Answer.ok());
        Http2Wire client = new Http2Wire(rig.server().port())) {
      rig.worker(engine.url());
      assertThat(client.chat(1, BODY).answer(1).status()).isEqualTo("200");
      Thread closing = Thread.ofPlatform().start(() -> rig.server().close());
      int stream = 3;
      @Nullable Frame away = null;
      while (away == null) {
        assertThat(client.chat(stream, BODY).answer(stream).status()).isEqualTo("200");
        stream += 2;
        away = client.waiting(Http2Wire.GOAWAY);
      }
      assertThat(away.number(0)).isEqualTo(Integer.MAX_VALUE);
      assertThat(client.chat(stream, BODY).answer(stream).status()).isEqualTo("200");
      closing.interrupt(); // ends the delay and the drain
      closing.join();
      rig.close();
    }
  }
}
