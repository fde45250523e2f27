package io.pointsman.it.golden;

import static io.pointsman.it.golden.ErrorText.CHAT;
import static io.pointsman.it.golden.ErrorText.chat;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.it.split.SplitCluster;
import io.pointsman.it.support.Cluster;
import io.pointsman.it.support.HttpAnswer;
import io.pointsman.it.support.RawClient;
import io.pointsman.it.support.RunningRouter;
import io.pointsman.it.support.WaitFor;
import io.pointsman.proxy.reply.ProxyError;
import io.pointsman.testkit.engine.EngineConnection;
import io.pointsman.testkit.engine.EngineFault;
import io.pointsman.testkit.engine.EngineRequest;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults;
import io.pointsman.testkit.engine.RefusedPort;
import io.pointsman.testkit.engine.ScriptedEngine;
import io.pointsman.tool.sim.kv.KvConnector;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Every error that the proxy answers itself, on the chat paths of OpenAI and of Anthropic. */
@Timeout(180)
@SuppressWarnings("StringConcatToTextBlock") // line ends matter
final class GoldenErrorsTest {
  private static final String ASKED = chat("sim", "");
  private static final String STREAMED = chat("sim", ",\"stream\":true");
  private static final String PORTS =
      "listen: {port: 0}\nmetrics: {port: 0}\nlog: {level: error}\n";

  /** Memory in bytes for the first bytes of a small body. */
  private static final int SMALL_PART = 16_384;

  @Test
  void errorsThatAreListed() {
    StringBuilder text = new StringBuilder();
    for (ProxyError error : ProxyError.values()) {
      String blame = error.blame().name().toLowerCase(Locale.ROOT);
      text.append(error.status()).append(' ').append(blame).append(' ');
      text.append(error.json(error.message())).append('\n');
    }
    text.append(ProxyError.INTERNAL.json("quotes \" \\ line\n\u00e9 " + "long ".repeat(100)));
    GoldenFile.compare("errors-listed.txt", text.append('\n').toString());
  }

  /** A healthy engine that answers by a script. */
  private static ScriptedEngine engine(EngineScript script) throws IOException {
    return ScriptedEngine.start(new Faults.Healthy(Cluster.MODEL, script));
  }

  private static Cluster cluster(ScriptedEngine engine, Map<String, Object> settings)
      throws IOException {
    Cluster.Setup setup = Cluster.of(0).policy("least_load").set("health.interval", "1h");
    settings.forEach(setup::set);
    return setup.worker(engine.url()).start();
  }

  @Test
  void errorsOfRequestsThatAreNoHttp() throws IOException {
    ErrorText text = new ErrorText();
    Map<String, Object> settings = Map.of("limits.max-body", "1MiB", "limits.max-uri", "1KiB");
    try (ScriptedEngine engine = engine(Faults.Answer.ok());
        Cluster cluster = cluster(engine, settings)) {
      int port = cluster.port();
      String host = "POST " + CHAT + " HTTP/1.1\r\nhost: r\r\n";
      text.send("no colon in a header", port, host + "nothing\r\n\r\n");
      text.send("not HTTP", port, "\u0016\u0003\u0001\u0002\r\n\r\n");
      text.send("long target", port, "GET /" + "a".repeat(2000) + " HTTP/1.1\r\nhost: r\r\n\r\n");
      text.send("long header", port, host + "x: " + "a".repeat(70_000) + "\r\n\r\n");
      text.send("other version", port, "GET / HTTP/1.2\r\nhost: r\r\n\r\n");
      text.send("other expectation", port, host + "expect: 200-ok\r\ncontent-length: 1\r\n\r\n");
      text.send("large body", port, host + "content-length: 9999999\r\n\r\n");
      text.send("broken chunk", port, host + "transfer-encoding: chunked\r\n\r\nxyz\r\n");
      text.send(
          "broken chunk to the router itself",
          port,
          "POST /workers HTTP/1.1\r\nhost: 127.0.0.1\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n");
      text.send(
          "large body to the router itself",
          port,
          "POST /workers HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 9999999\r\n\r\n");
      text.ask("method", port, "TRACE", CHAT, "");
      text.ask("method of the router itself", port, "PUT", "/workers", "");
    }
    GoldenFile.compare("errors-http.txt", text.text());
  }

  @Test
  void errorsOfBodiesAndModels() throws IOException {
    ErrorText text = new ErrorText();
    try (ScriptedEngine one = engine(Faults.Answer.ok());
        ScriptedEngine other =
            ScriptedEngine.start(new Faults.Healthy("other", Faults.Answer.ok()));
        Cluster cluster =
            Cluster.of(0).policy("least_load").worker(one.url()).worker(other.url()).start()) {
      int port = cluster.port();
      text.askOnBothPaths("unknown model", port, chat("nobody's", ""), "x-request-id: mine");
      text.askOnBothPaths("no model", port, "{\"messages\":[]}");
      text.askOnBothPaths("no body", port, "");
      text.askOnBothPaths("no object", port, "[1]");
      text.askOnBothPaths("no JSON", port, "{\"model\":sim}");
    }
    GoldenFile.compare("errors-bodies.txt", text.text());
  }

  @Test
  void errorsWhileNoWorkerCanServe() throws IOException {
    ErrorText text = new ErrorText();
    try (RunningRouter router = RunningRouter.start(PORTS + "workers: []\n")) {
      text.askOnBothPaths("no worker", router.port(), ASKED);
    }
    try (RefusedPort refused = RefusedPort.open();
        RunningRouter router = RunningRouter.start(PORTS + workers(refused.url(), ""))) {
      text.askOnBothPaths("no worker is well", router.port(), ASKED);
    }
    try (ScriptedEngine silent = ScriptedEngine.start(new Faults.HangBeforeHeaders());
        RunningRouter router =
            RunningRouter.start(
                PORTS + "health: {timeout: 1m}\nworkers: [\"" + silent.url() + "\"]\n")) {
      text.askOnBothPaths("no worker has reported its models", router.port(), ASKED);
    }
    GoldenFile.compare("errors-no-worker.txt", text.text());
  }

  private static String workers(String url, String more) {
    return "workers:\n  - {url: \"%s\", models: [sim]%s}\n".formatted(url, more);
  }

  @Test
  void errorsOfLimits() throws Exception {
    ErrorText text = new ErrorText();
    try (ScriptedEngine engine = engine(new Faults.HangBeforeHeaders())) {
      String one = "limits: {max-concurrent-requests: 1, queue-size: 0}\n";
      whileItHangs(engine, one + workers(engine.url(), ""), "queue full", text);
      String shortly = "limits: {max-concurrent-requests: 1, queue-timeout: 100ms}\n";
      whileItHangs(engine, shortly + workers(engine.url(), ""), "queued too long", text);
      whileItHangs(engine, workers(engine.url(), ", max-in-flight: 1"), "all busy", text);
    }
    GoldenFile.compare("errors-limits.txt", text.text());
  }

  /** Asks while a request hangs on the only worker. */
  private static void whileItHangs(
      ScriptedEngine engine, String settings, String title, ErrorText text) throws Exception {
    try (RunningRouter router = RunningRouter.start(PORTS + settings)) {
      WaitFor.until("well", WaitFor.LONG, router::allHealthy);
      try (RawClient hanging = RawClient.connect(router.port())) {
        engine.forget();
        hanging.send("POST", CHAT, ASKED);
        WaitFor.until("it hangs", WaitFor.LONG, () -> asked(engine));
        text.askOnBothPaths(title, router.port(), ASKED);
      }
      WaitFor.until("it is given up", WaitFor.LONG, () -> router.running() == 0);
    }
  }

  private static boolean asked(ScriptedEngine engine) {
    return engine.requests().stream().anyMatch(request -> request.line().startsWith("POST"));
  }

  @Test
  void errorsWhereNoMoreBytesMayBeKept() throws IOException {
    ErrorText text = new ErrorText();
    Map<String, Object> settings =
        Map.of(
            "limits.max-buffered-body",
            "1MiB",
            "limits.max-buffered-total",
            "1MiB",
            "limits.max-buffered-share",
            1);
    List<RawClient> stalled = new ArrayList<>();
    try (ScriptedEngine engine = engine(Faults.Answer.ok());
        Cluster cluster = cluster(engine, settings)) {
      int port = cluster.port();
      text.ask("for the router itself", port, "POST", "/v1/decide", "1".repeat(300_000));
      WaitFor.until("its body is released", WaitFor.LONG, () -> kept(cluster) == 0);
      // However it is read, so little of a body takes exactly one small part.
      byte[] little = chat("sim", ",\"x\":\"" + "a".repeat(1_000) + "\"").getBytes(US_ASCII);
      for (int taken = SMALL_PART; taken <= 1 << 20; taken += SMALL_PART) {
        stalled.add(RawClient.connect(port).sendPart("POST", CHAT, little, little.length - 1));
        int expected = taken;
        WaitFor.until("it is kept", WaitFor.LONG, () -> kept(cluster) == expected);
      }
      String body = chat("sim", ",\"x\":\"" + "a".repeat(60_000) + "\"");
      text.askOnBothPaths("for an engine", port, body);
      for (RawClient client : stalled) {
        client.close();
      }
    }
    GoldenFile.compare("errors-memory.txt", text.text());
  }

  private static double kept(Cluster cluster) {
    return cluster.router().gauge("pointsman_buffered_bytes");
  }

  @Test
  void errorsOfSlowClients() throws IOException {
    ErrorText text = new ErrorText();
    Map<String, Object> settings =
        Map.of("timeouts.client-body", "500ms", "timeouts.client-head", "500ms");
    try (ScriptedEngine engine = engine(Faults.Answer.ok());
        Cluster cluster = cluster(engine, settings)) {
      int port = cluster.port();
      text.send("half a head", port, "POST / HTTP/1.1\r\nhost: r");
      String half = " HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 9\r\n\r\n{";
      for (String path : ErrorText.PATHS) {
        text.send("half a body: " + path, port, "POST " + path + half);
      }
      text.send("half a body to the router itself", port, "POST /workers" + half);
    }
    GoldenFile.compare("errors-slow-clients.txt", text.text());
  }

  @Test
  void errorsOfCallers() throws IOException {
    ErrorText text = new ErrorText();
    try (ScriptedEngine engine = engine(Faults.Answer.ok());
        ScriptedEngine keys = ScriptedEngine.start(new Faults.Answer(401, "{}"));
        RefusedPort nobody = RefusedPort.open()) {
      try (Cluster cluster = cluster(engine, Map.of("auth.validation-urls", list(keys.url())))) {
        text.askOnBothPaths("no key", cluster.port(), "");
        text.askOnBothPaths("wrong key", cluster.port(), "", "authorization: Bearer x");
      }
      try (Cluster cluster = cluster(engine, Map.of("auth.validation-urls", list(nobody.url())))) {
        text.askOnBothPaths("unconfirmed", cluster.port(), "", "authorization: Bearer x");
      }
    }
    GoldenFile.compare("errors-callers.txt", text.text());
  }

  /** A YAML list of one URL. */
  private static String list(String url) {
    return "[\"" + url + "\"]";
  }

  @Test
  void errorsBeforeAnEngineAnswers() throws Exception {
    ErrorText text = new ErrorText();
    Map<String, Object> none = Map.of();
    fails(text, "the engine refuses", EngineFault.REFUSES, none, ASKED);
    fails(text, "the engine breaks off", EngineFault.RESETS_BEFORE_HEADERS, none, ASKED);
    fails(text, "the engine speaks no HTTP", EngineFault.GARBAGE, none, ASKED);
    Map<String, Object> first = Map.of("timeouts.first-byte", "200ms");
    fails(text, "the engine is silent", EngineFault.HANGS_BEFORE_HEADERS, first, ASKED);
    // Longer than a connect takes on a busy machine.
    Map<String, Object> total = Map.of("timeouts.total", "5s");
    fails(text, "the whole takes too long", EngineFault.HANGS_BEFORE_HEADERS, total, ASKED);
    GoldenFile.compare("errors-engines.txt", text.text());
  }

  @Test
  void errorsWithinStreams() throws Exception {
    ErrorText text = new ErrorText();
    fails(text, "it breaks off", EngineFault.RESETS_MID_STREAM, Map.of(), STREAMED);
    fails(text, "its chunks are broken", EngineFault.BAD_CHUNK_SIZE, Map.of(), STREAMED);
    Map<String, Object> idle = Map.of("timeouts.idle", "200ms");
    fails(text, "it stops", EngineFault.HANGS_MID_STREAM, idle, STREAMED);
    fails(text, "a whole answer breaks off", EngineFault.LENGTH_TOO_LONG, Map.of(), ASKED);
    Map<String, Object> total = Map.of("timeouts.stream-total", "1s");
    for (String path : ErrorText.PATHS) {
      try (ScriptedEngine engine = engine(GoldenErrorsTest::streamWithoutEnd);
          Cluster cluster = cluster(engine, total)) {
        HttpAnswer answer = RawClient.call(cluster.port(), "POST", path, STREAMED);
        String once = answer.text().replaceAll("(data: one\n\n)+", "$1");
        byte[] body = once.getBytes(UTF_8);
        text.add(
            "it takes too long: " + path, new HttpAnswer(answer.head(), body, answer.complete()));
      }
    }
    GoldenFile.compare("errors-streams.txt", text.text());
  }

  private static void streamWithoutEnd(EngineRequest request, EngineConnection connection)
      throws IOException {
    connection.send(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
            + "transfer-encoding: chunked\r\n\r\n");
    while (true) {
      connection.chunk("data: one\n\n");
      WaitFor.pause(20); // less than half of the limit of the stream
    }
  }

  /**
   * Each request gets its own router and engine, because a fault takes the engine out. Both paths
   * are asked at once, because an answer can take seconds.
   */
  private static void fails(
      ErrorText text, String title, EngineFault fault, Map<String, Object> settings, String body)
      throws Exception {
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<ErrorText>> answers = new ArrayList<>();
      for (String path : ErrorText.PATHS) {
        answers.add(threads.submit(() -> answer(title, fault, settings, path, body)));
      }
      for (Future<ErrorText> answer : answers) {
        text.add(answer.get());
      }
    }
  }

  private static ErrorText answer(
      String title, EngineFault fault, Map<String, Object> settings, String path, String body)
      throws IOException {
    try (ScriptedEngine engine = engine(Faults.Answer.ok());
        Cluster cluster = cluster(engine, settings)) {
      fault.strike(engine, Cluster.MODEL);
      return new ErrorText().ask(title, cluster.port(), "POST", path, body);
    }
  }

  @Test
  void errorsOfARouterThatStops() throws Exception {
    ErrorText text = new ErrorText();
    for (String path : ErrorText.PATHS) {
      for (String body : List.of(ASKED, STREAMED)) {
        stopped(text, path, body);
      }
    }
    GoldenFile.compare("errors-stopping.txt", text.text());
  }

  private static void stopped(ErrorText text, String path, String body) throws Exception {
    EngineScript oneEvent =
        new Faults.HangAfter(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
                + "transfer-encoding: chunked\r\n\r\nb\r\ndata: one\n\n\r\n");
    boolean streams = body.equals(STREAMED);
    try (ScriptedEngine engine = engine(streams ? oneEvent : new Faults.HangBeforeHeaders())) {
      String settings = "drain-timeout: 100ms\n" + workers(engine.url(), "");
      RunningRouter router = RunningRouter.start(PORTS + settings);
      WaitFor.until("well", WaitFor.LONG, router::allHealthy);
      try (RawClient client = RawClient.connect(router.port())) {
        client.send("POST", path, body);
        WaitFor.until("it hangs", WaitFor.LONG, () -> asked(engine));
        if (streams) {
          HttpAnswer.Head head = client.readHead();
          router.close();
          text.add("streamed: " + path, client.readBody(head));
        } else {
          router.close();
          text.add("hangs: " + path, client.read());
        }
      }
    }
  }

  @Test
  void errorsWhereOnlyPrefillAndDecodeWorkersAre() throws IOException {
    ErrorText text = new ErrorText();
    try (SplitCluster cluster =
        SplitCluster.telling(KvConnector.SGLANG)
            .top("limits", "{max-buffered-body: 64KiB}")
            .start()) {
      int port = cluster.router().port();
      text.askOnBothPaths("several choices", port, chat("sim", ",\"n\":2"));
      text.askOnBothPaths("large", port, chat("sim", ",\"x\":\"" + "a".repeat(200_000) + "\""));
      text.askOnBothPaths("packed", port, ASKED, "content-encoding: gzip");
      text.askOnBothPaths("many members", port, chat("sim", ",\"a\":1".repeat(5000)));
      text.ask("no JSON on an unknown path", port, "POST", "/own", "{\"model\":sim}");
      text.ask("no object on an unknown path", port, "POST", "/own", "[1]");
      text.ask(
          "stored",
          port,
          "POST",
          "/v1/responses",
          "{\"model\":\"sim\",\"input\":\"x\"," + "\"previous_response_id\":\"resp_1\"}");
    }
    GoldenFile.compare("errors-split.txt", text.text());
  }
}
