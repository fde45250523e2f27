package io.pointsman.proxy;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.upstream.EngineKeys;
import io.pointsman.proxy.upstream.UpstreamSettings;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.CloseDelimited;
import io.pointsman.testkit.engine.Faults.Raw;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.Parameter;

/** The parts of requests and answers that are forwarded, and the parts that are not. */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@EveryTransport
@Timeout(60)
class FidelityTest {
  private static final String CHAT = "/v1/chat/completions";

  @Parameter Transport transport = Transport.AUTO;
  private ProxyRig rig;
  private ScriptedEngine engine;

  @BeforeEach
  void start() throws Exception {
    rig = new ProxyRig(transport);
    engine = rig.closing(ScriptedEngine.start(Answer.ok()));
    rig.worker(engine.url());
  }

  @AfterEach
  void stop() throws Exception {
    rig.close();
  }

  private EngineRequest reached() throws Exception {
    return engine.awaitRequest();
  }

  @Test
  void bodyReachesTheEngineByteForByte() throws Exception {
    String body =
        "{ \"model\":\"m\", \"x_unknown\":{\"a\":[1,2]}, \"big\":12345678901234567890123,"
            + "\"odd\":1.0E+2, \"esc\":\"\\u00e9\\ud83d\\ude00\\/\", \"a\":1, \"a\":2,"
            + "\"temperature\":0.7 , \"messages\":[]}\n";

    WireResponse response = rig.ask(ProxyRig.post(CHAT, body));

    assertThat(response.status()).isEqualTo(200);
    assertThat(response.text()).isEqualTo("{\"ok\":true}");
    assertThat(reached().bodyText()).isEqualTo(body);
  }

  @Test
  void pathAndQueryStringAreForwarded() throws Exception {
    rig.ask("GET /some/path%20x?a=b&c=%2F&d HTTP/1.1\r\nhost: r\r\n\r\n");

    assertThat(reached().line()).isEqualTo("GET /some/path%20x?a=b&c=%2F&d HTTP/1.1");
  }

  @Test
  void hostIsTheWorkersAndHopHeadersAreNotForwarded() throws Exception {
    rig.ask(
        ProxyRig.post(
            CHAT,
            "Connection: X-Hop, keep-alive\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\n"
                + "Upgrade: h2c\r\nProxy-Authorization: p\r\nAuthorization: Bearer b\r\n"
                + "traceparent: 00-1-2-03\r\nCookie: a=1\r\nX-Twice: 1\r\nX-Twice: 2\r\n",
            "{\"model\":\"m\"}"));

    EngineRequest request = reached();
    assertThat(request.values("host")).containsExactly(engine.id());
    assertThat(request.values("x-hop")).isEmpty();
    assertThat(request.values("keep-alive")).isEmpty();
    assertThat(request.values("te")).isEmpty();
    assertThat(request.values("upgrade")).isEmpty();
    assertThat(request.values("proxy-authorization")).isEmpty();
    assertThat(request.values("connection")).isEmpty();
    assertThat(request.values("authorization")).containsExactly("Bearer b");
    assertThat(request.values("traceparent")).containsExactly("00-1-2-03");
    assertThat(request.values("x-twice")).containsExactly("1", "2");
    assertThat(request.values("content-length")).containsExactly("13");
  }

  @Test
  void requestIdIsGeneratedAndReturned() throws Exception {
    WireResponse response = rig.ask(ProxyRig.post(CHAT, "{\"model\":\"m\"}"));

    assertThat(response.header("x-request-id")).matches("chatcmpl-[A-Za-z0-9]{24}");
    assertThat("chatcmpl-" + reached().header("x-request-id"))
        .as("engines put the prefix before the id")
        .isEqualTo(response.header("x-request-id"));
    assertThat(response.header("x-pointsman-worker")).isEqualTo(engine.id());
  }

  @Test
  void aPrefixThatEnginesAddIsNotSent() throws Exception {
    WireResponse completion = rig.ask(ProxyRig.post("/v1/completions", "{\"model\":\"m\"}"));
    assertThat("cmpl-" + reached().header("x-request-id"))
        .isEqualTo(completion.header("x-request-id"));
  }

  @Test
  void aClientsOwnIdIsSentUnchanged() throws Exception {
    rig.ask(ProxyRig.post(CHAT, "X-Request-Id: chatcmpl-mine\r\n", "{\"model\":\"m\"}"));

    assertThat(reached().values("x-request-id")).containsExactly("chatcmpl-mine");
  }

  /** Log, client and engine have the same id. */
  @Test
  void anIdThatIsNotUsedIsReplacedForTheWorkerToo() throws Exception {
    for (String given : List.of("x".repeat(257), "caf\u00e9", "")) {
      WireClient client = rig.connect();
      String request = ProxyRig.post(CHAT, "X-Request-Id: " + given + "\r\n", "{\"model\":\"m\"}");
      WireResponse response = client.send(request.getBytes(StandardCharsets.ISO_8859_1)).read();

      String id = requireNonNull(response.header("x-request-id"));
      assertThat(id).matches("chatcmpl-[A-Za-z0-9]{24}");
      assertThat(reached().values("x-request-id"))
          .containsExactly(id.substring("chatcmpl-".length()));
    }
    String longest = "x".repeat(256);
    rig.ask(ProxyRig.post(CHAT, "X-Request-Id: " + longest + "\r\n", "{\"model\":\"m\"}"));
    assertThat(reached().values("x-request-id")).containsExactly(longest);
  }

  /** Its framing counts as faulty, so nothing may follow on the connection. */
  @Test
  void theConnectionOfAnHttp10AnswerInChunksIsNotUsedAgain() throws Exception {
    engine.now(
        new Raw(
            "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n"
                + "2\r\nok\r\n0\r\n\r\n"));
    for (int i = 1; i <= 3; i++) {
      assertThat(rig.ask(ProxyRig.post(CHAT, "{\"model\":\"m\"}")).text()).isEqualTo("ok");
      assertThat(engine.connections()).isEqualTo(i);
    }
  }

  @Test
  void aTrailerWithoutAColonMakesAnAnswerInvalid() throws Exception {
    engine.now(
        new Raw(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                + "transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nno trailer\r\n\r\n"));

    assertThat(rig.ask(ProxyRig.post(CHAT, "{\"model\":\"m\"}")).status()).isEqualTo(502);
  }

  @Test
  void requestIdIsKept() throws Exception {
    WireResponse response =
        rig.ask(ProxyRig.post(CHAT, "X-Correlation-Id: abc\r\n", "{\"model\":\"m\"}"));

    assertThat(response.values("x-request-id")).containsExactly("abc");
  }

  @Test
  void responseHeadersAreForwardedUnchanged() throws Exception {
    engine.now(
        new Raw(
            "HTTP/1.1 200 Fine\r\n"
                + "Set-Cookie: a\r\n"
                + "set-cookie: b\r\n"
                + "Connection: x-own\r\n"
                + "X-Own: 1\r\n"
                + "Keep-Alive: timeout=5\r\n"
                + "X-Request-Id: theirs\r\n"
                + "X-Weird:  spaced \r\n"
                + "Content-Length: 2\r\n\r\n"
                + "hi"));

    WireResponse response = rig.ask(ProxyRig.post(CHAT, "{\"model\":\"m\"}"));

    assertThat(response.line()).isEqualTo("HTTP/1.1 200 Fine");
    assertThat(response.values("set-cookie")).containsExactly("a", "b");
    assertThat(response.headers()).contains("X-Weird:  spaced ");
    assertThat(response.values("x-own")).isEmpty();
    assertThat(response.values("keep-alive")).isEmpty();
    assertThat(response.values("x-request-id")).doesNotContain("theirs").hasSize(1);
    assertThat(response.text()).isEqualTo("hi");
  }

  @Test
  void compressedAnswersAreForwardedUnchanged() throws Exception {
    engine.now(
        new Raw(
            "HTTP/1.1 200 OK\r\n"
                + "content-encoding: gzip\r\n"
                + "content-length: 4\r\n\r\n"
                + "\u001f\u008b\u0008x"));
    WireResponse response =
        rig.ask(ProxyRig.post(CHAT, "accept-encoding: gzip, br\r\n", "{\"model\":\"m\"}"));

    assertThat(response.header("content-encoding")).isEqualTo("gzip");
    assertThat(response.body()).isEqualTo(new byte[] {0x1f, (byte) 0x8b, 8, 'x'});
    assertThat(reached().header("accept-encoding")).isEqualTo("gzip, br");
  }

  @Test
  void chunkedRequestArrivesCompletely() throws Exception {
    WireClient client = rig.connect();
    client.send(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: r\r\ntransfer-encoding: chunked\r\n\r\n"
            + "8\r\n{\"model\"\r\n");
    WireResponse response = client.send("5;x=y\r\n:\"m\"}\r\n0\r\n\r\n").read();

    assertThat(response.status()).isEqualTo(200);
    EngineRequest request = reached();
    assertThat(request.bodyText()).isEqualTo("{\"model\":\"m\"}");
    assertThat(request.values("content-length")).containsExactly("13");
    assertThat(request.values("transfer-encoding")).isEmpty();
  }

  @Test
  void multipartIsForwardedByteForByte() throws Exception {
    String body =
        "--b\r\ncontent-disposition: form-data; name=\"model\"\r\n\r\nm\r\n--b\r\n"
            + "content-disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n"
            + "\u0000\u0001RIFF\r\n--b--\r\n";
    WireClient client = rig.connect();
    WireResponse response =
        client
            .send(
                "POST /v1/audio/transcriptions HTTP/1.1\r\nhost: r\r\n"
                    + "content-type: multipart/form-data; boundary=b\r\ncontent-length: "
                    + body.length()
                    + "\r\n\r\n"
                    + body)
            .read();

    assertThat(response.status()).isEqualTo(200);
    assertThat(reached().body()).isEqualTo(body.getBytes(StandardCharsets.US_ASCII));
  }

  @Test
  void answerToHeadHasLengthButNoBody() throws Exception {
    engine.now(new Raw("HTTP/1.1 200 OK\r\ncontent-length: 17\r\n\r\n"));
    WireClient client = rig.connect();
    client.send("HEAD /v1/x HTTP/1.1\r\nhost: r\r\n\r\n");

    WireResponse first = client.head();
    client.send("HEAD /v1/y HTTP/1.1\r\nhost: r\r\n\r\n");

    assertThat(first.header("content-length")).isEqualTo("17");
    assertThat(client.head().status()).isEqualTo(200);
    assertThat(engine.connections()).isEqualTo(1);
  }

  @Test
  void optionsAndUnusualMethodsAreForwarded() throws Exception {
    assertThat(rig.ask("OPTIONS /x HTTP/1.1\r\nhost: r\r\n\r\n").status()).isEqualTo(200);
    assertThat(rig.ask("PATCH /x HTTP/1.1\r\nhost: r\r\n\r\n").status()).isEqualTo(200);
    assertThat(reached().line()).startsWith("OPTIONS");
    assertThat(reached().line()).startsWith("PATCH");
  }

  @Test
  void refusedMethodsTakeNoLease() throws Exception {
    WireResponse response = rig.ask("TRACE /x HTTP/1.1\r\nhost: r\r\n\r\n");

    assertThat(response.status()).isEqualTo(405);
    assertThat(response.header("allow")).contains("POST");
    assertThat(rig.ask("CONNECT x:1 HTTP/1.1\r\nhost: x:1\r\n\r\n").status()).isEqualTo(405);
    assertThat(rig.outcomes).isEmpty();
    assertThat(engine.requests()).isEmpty();
  }

  @Test
  void interimAnswersExceptContinueAreForwarded() throws Exception {
    engine.now(
        new Raw(
            "HTTP/1.1 103 Early\r\nlink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
                + "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"));

    WireClient client = rig.connect();
    client.send(ProxyRig.post(CHAT, "{\"model\":\"m\"}"));
    WireResponse early = client.head();
    assertThat(early.status()).isEqualTo(103);
    assertThat(early.header("link")).isEqualTo("x");

    WireResponse response = client.read();
    assertThat(response.status()).isEqualTo(200);
    assertThat(response.text()).isEqualTo("ok");
  }

  @Test
  void expectationIsAnsweredByTheRouter() throws Exception {
    WireClient client = rig.connect();
    client.send(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: r\r\nexpect: 100-continue\r\n"
            + "content-length: 13\r\n\r\n");

    assertThat(client.head().status()).isEqualTo(100);
    assertThat(client.send("{\"model\":\"m\"}").read().status()).isEqualTo(200);
    assertThat(reached().values("expect")).isEmpty();
  }

  @Test
  void otherExpectationsAreRefused() throws Exception {
    assertThat(rig.ask(ProxyRig.post(CHAT, "expect: wonders\r\n", "{}")).status()).isEqualTo(417);
    assertThat(engine.requests()).isEmpty();
  }

  @Test
  void answerEndingWithItsConnectionGetsChunks() throws Exception {
    engine.now(new CloseDelimited("until the end"));
    WireClient client = rig.connect();

    WireResponse response = client.send(ProxyRig.post(CHAT, "{\"model\":\"m\"}")).read();

    assertThat(response.header("transfer-encoding")).isEqualTo("chunked");
    assertThat(response.complete()).isTrue();
    assertThat(response.text()).isEqualTo("until the end");
    engine.now(Answer.ok());
    assertThat(client.send(ProxyRig.post(CHAT, "{\"model\":\"m\"}")).read().status())
        .isEqualTo(200);
  }

  @Test
  void http10ClientGetsAnAnswerWithoutChunks() throws Exception {
    engine.now(
        new Raw(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
                + "3;ext\r\nabc\r\n2\r\nde\r\n0\r\nx-trailer: t\r\n\r\n"));
    WireClient client = rig.connect();

    WireResponse response = client.send("GET /x HTTP/1.0\r\n\r\n").read();

    assertThat(response.values("transfer-encoding")).isEmpty();
    assertThat(response.header("connection")).isEqualTo("close");
    assertThat(response.text()).isEqualTo("abcde");
  }

  @Test
  void http10ClientMayKeepItsConnection() throws Exception {
    WireClient client = rig.connect();
    String request = "GET /x HTTP/1.0\r\nconnection: keep-alive\r\n\r\n";

    WireResponse first = client.send(request).read();

    assertThat(first.header("connection")).isEqualTo("keep-alive");
    assertThat(client.send(request).read().status()).isEqualTo(200);
  }

  @Test
  void errorsOfEnginesAreForwardedUnchanged() throws Exception {
    engine.now(new Answer(422, "{\"detail\":\"no\"}"));

    WireResponse response = rig.ask(ProxyRig.post(CHAT, "{\"model\":\"m\"}"));

    assertThat(response.status()).isEqualTo(422);
    assertThat(response.text()).isEqualTo("{\"detail\":\"no\"}");
    assertThat(rig.outcomes).containsExactly(Outcome.REFUSED);
  }

  @Test
  void connectionsAreUsedAgain() throws Exception {
    WireClient client = rig.connect();
    for (int i = 0; i < 20; i++) {
      assertThat(client.send(ProxyRig.post(CHAT, "{\"n\":" + i + "}")).read().status())
          .isEqualTo(200);
    }

    assertThat(engine.connections()).isEqualTo(1);
    assertThat(engine.requests()).hasSize(20);
  }

  @Test
  void workersPathRankAndKeyAreAdded() throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS.withUpstream(
            UpstreamSettings.DEFAULTS.withKeys(EngineKeys.of("secret")));
    try (ProxyRig own = new ProxyRig(transport, settings)) {
      own.worker(WorkerSpec.of(engine.url() + "/base").withModels(Set.of("m")).atRank(3));

      own.ask(ProxyRig.post(CHAT + "?q=1", "X-Data-Parallel-Rank: 9\r\n", "{\"model\":\"m\"}"));

      EngineRequest request = reached();
      assertThat(request.line()).isEqualTo("POST /base/v1/chat/completions?q=1 HTTP/1.1");
      assertThat(request.values("x-data-parallel-rank")).containsExactly("3");
      assertThat(request.values("authorization")).containsExactly("Bearer secret");
    }
  }

  /** vLLM ignores the header with the rank on {@code /v1/responses}. */
  @Test
  void theAnswerNamesTheRankWhereEnginesReadIt() throws Exception {
    try (ProxyRig own = new ProxyRig(transport)) {
      WorkerSpec spec = WorkerSpec.of(engine.url()).withModels(Set.of("m")).atRank(3);
      own.worker(spec);

      String body = "{\"model\":\"m\"}";
      assertThat(own.ask(ProxyRig.post(CHAT, body)).values("x-pointsman-worker"))
          .containsExactly(spec.id());
      assertThat(own.ask(ProxyRig.post("/v1/responses", body)).values("x-pointsman-worker"))
          .containsExactly(WorkerSpec.of(engine.url()).id());
    }
  }

  @Test
  void theWorkersKeyReplacesTheClientsIfConfigured() throws Exception {
    for (boolean replace : List.of(false, true)) {
      ProxySettings settings =
          ProxySettings.DEFAULTS.withUpstream(
              UpstreamSettings.DEFAULTS.withKeys(new EngineKeys("secret", null, null, replace)));
      try (ProxyRig own = new ProxyRig(transport, settings)) {
        own.worker(engine.url());

        own.ask(ProxyRig.post(CHAT, "Authorization: Bearer client\r\nX-A: b\r\n", "{}"));

        EngineRequest request = reached();
        assertThat(request.values("authorization"))
            .containsExactly(replace ? "Bearer secret" : "Bearer client");
        assertThat(request.values("x-a")).containsExactly("b");
      }
    }
  }

  @Test
  void aWorkersOwnKeyReplacesTheClients() throws Exception {
    EngineKeys keys = EngineKeys.of("all").withByUrl(Map.of(engine.url(), "own"));
    ProxySettings settings =
        ProxySettings.DEFAULTS.withUpstream(UpstreamSettings.DEFAULTS.withKeys(keys));
    try (ProxyRig own = new ProxyRig(transport, settings)) {
      own.worker(engine.url());

      own.ask(ProxyRig.post(CHAT, "Authorization: Bearer client\r\n", "{}"));

      assertThat(reached().values("authorization")).containsExactly("Bearer own");
    }
  }

  @Test
  void optionsForTheCompleteServerIgnoreTheWorkersBasePath() throws Exception {
    try (ProxyRig own = new ProxyRig(transport)) {
      own.worker(WorkerSpec.of(engine.url() + "/base").withModels(Set.of("m")));

      own.ask("OPTIONS * HTTP/1.1\r\nhost: r\r\n\r\n");

      assertThat(reached().line()).isEqualTo("OPTIONS * HTTP/1.1");
    }
  }

  @Test
  void workersNameIsResolved() throws Exception {
    try (ProxyRig own = new ProxyRig(transport)) {
      own.worker("http://localhost:" + engine.port());

      WireResponse response = own.ask(ProxyRig.post(CHAT, "{\"model\":\"m\"}"));

      assertThat(response.status()).isEqualTo(200);
      assertThat(reached().values("host")).containsExactly("localhost:" + engine.port());
    }
  }

  @Test
  void httpsToAWorkerWithoutTlsFails() throws Exception {
    ProxySettings settings =
        ProxySettings.DEFAULTS.withUpstream(
            UpstreamSettings.DEFAULTS.withConnectTimeout(Duration.ofMillis(500)));
    try (ProxyRig own = new ProxyRig(transport, settings)) {
      own.worker("https://127.0.0.1:" + engine.port());

      assertThat(own.ask(ProxyRig.post(CHAT, "{\"model\":\"m\"}")).status()).isEqualTo(502);
    }
  }
}
