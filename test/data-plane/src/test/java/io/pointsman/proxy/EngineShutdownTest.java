package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.telemetry.RetryReason;
import io.pointsman.testkit.FakeClock;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.HangBeforeHeaders;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Answers of engines that shut down, as vLLM 0.32 does on SIGTERM. */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@Timeout(60)
class EngineShutdownTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String BODY = "{\"model\":\"m\"}";
  private static final String STREAM = "{\"model\":\"m\",\"stream\":true}";
  private static final String GOOD = "{\"choices\":[{\"text\":\"b\",\"finish_reason\":\"stop\"}]}";
  private static final String TOKEN =
      "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":null}]}\n\n";
  private static final String ABORT =
      "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"abort\"}]}\n\n";

  /** Begins a streamed response and computes nothing. */
  private static final EngineScript CREATES_A_RESPONSE =
      (_, connection) -> {
        connection.beginEvents().chunk("event: response.created\ndata: {}\n\n");
        connection.awaitPeerGone();
      };

  private static void nextOneServes(String path, String body, EngineScript script)
      throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine ending = ScriptedEngine.start(script);
        ScriptedEngine other = ScriptedEngine.start(new Answer(200, GOOD))) {
      Worker worker = rig.worker(ending.url());
      rig.worker(other.url());

      WireResponse response = rig.ask(ProxyRig.post(path, body));

      assertThat(response.status()).isEqualTo(200);
      assertThat(response.text()).isEqualTo(GOOD);
      assertThat(rig.retried).containsExactly(RetryReason.ABORTED);
      assertThat(rig.outcomes).containsExactly(Outcome.IGNORED, Outcome.SUCCEEDED);
      assertThat(worker.shuttingDown()).isTrue();
      rig.ask(ProxyRig.post(path, body));
      assertThat(ending.requests()).as("gets no new request").hasSize(1);
    }
  }

  private static final String CUT = "{\"choices\":[{\"text\":\"a\",\"finish_reason\":\"%s\"}]}";

  @Test
  void anAbortedAnswerIsTriedElsewhere() throws Exception {
    String aborted = CUT.formatted("abort");
    nextOneServes(CHAT, BODY, new Answer(200, aborted));
    nextOneServes("/v1/completions", BODY, new Answer(200, aborted));
    nextOneServes("/inference/v1/generate", BODY, new Answer(200, aborted));
    nextOneServes(
        CHAT,
        BODY,
        new Answer(200, "{\"choices\":[{\"finish_reason\":\"stop\"}," + aborted.substring(12)));
  }

  @Test
  void anAbortedMessageOrResponseIsTriedElsewhere() throws Exception {
    nextOneServes(
        "/v1/messages",
        "{\"model\":\"m\",\"max_tokens\":9}",
        new Answer(200, "{\"type\":\"message\",\"content\":[],\"usage\":{\"output_tokens\":0}}"));
    nextOneServes(
        "/v1/responses",
        BODY,
        new Answer(
            200,
            "{\"id\":\"r\",\"status\":\"completed\",\"output\":[],"
                + "\"usage\":{\"input_tokens\":4,\"output_tokens\":0}}"));
  }

  @Test
  void anAnswerInManyPartsIsTriedElsewhere() throws Exception {
    String aborted = CUT.formatted("abort");
    nextOneServes(
        CHAT,
        BODY,
        (_, connection) -> {
          connection.send(
              "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                  + "transfer-encoding: chunked\r\n\r\n");
          for (int i = 0; i < aborted.length(); i++) {
            connection.chunk(aborted.substring(i, i + 1));
          }
          connection.lastChunk();
        });
    nextOneServes(
        CHAT,
        BODY,
        (_, connection) -> {
          connection.send("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n" + aborted);
          connection.close();
        });
  }

  @Test
  void aStreamWithoutTokensIsTriedElsewhere() throws Exception {
    nextOneServes(
        CHAT, STREAM, (_, connection) -> connection.beginEvents().chunk(ABORT).lastChunk());
  }

  @Test
  void withoutAnotherWorkerAnAbortedAnswerIs503() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine ending = ScriptedEngine.start(new Answer(200, CUT.formatted("abort")))) {
      rig.worker(ending.url());

      WireResponse response = rig.ask(ProxyRig.post(CHAT, BODY));

      assertThat(response.status()).isEqualTo(503);
      assertThat(response.text()).contains("\"code\":\"upstream_aborted\"");
    }
  }

  @Test
  void anAbortThatAClientWantsPassesUnchanged() throws Exception {
    String aborted = CUT.formatted("abort");
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine = ScriptedEngine.start(new Answer(200, aborted))) {
      Worker worker = rig.worker(engine.url());
      worker.abortsOnRequest();

      assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).text()).isEqualTo(aborted);
      assertThat(worker.shuttingDown()).isFalse();
      assertThat(rig.outcomes).containsExactly(Outcome.SUCCEEDED);
    }
  }

  /** A request on an unknown path must not be computed twice. */
  @Test
  void anAbortedAnswerOnAnUnknownPathIs503() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine ending = ScriptedEngine.start(new Answer(200, CUT.formatted("abort")));
        ScriptedEngine other = ScriptedEngine.start(Answer.ok())) {
      rig.worker(ending.url());
      rig.worker(other.url());

      WireResponse response = rig.ask(ProxyRig.post("/v1/chat/completions/batch", BODY));

      assertThat(response.status()).isEqualTo(503);
      assertThat(other.requests()).isEmpty();
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "/v1/chat/completions|data: {\"error\":{\"message\":",
        "/v1/completions|data: {\"error\":{\"message\":",
        "/inference/v1/generate|data: {\"error\":{\"message\":",
        "/v1/other|data: {\"error\":{\"message\":",
      })
  void aStreamEndsWithTheErrorOfItsApi(String path, String start) throws Exception {
    endsWith(path, start, TOKEN, ABORT);
  }

  @Test
  void aStreamedMessageOrResponseEndsWithTheErrorOfItsApi() throws Exception {
    endsWith(
        "/v1/messages",
        "event: error\n"
            + "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":",
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"stop_reason\":null,"
            + "\"usage\":{\"output_tokens\":0}}}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":null},"
            + "\"usage\":{\"output_tokens\":1}}\n\n");
    endsWith(
        "/v1/responses",
        "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{",
        "event: response.output_text.delta\ndata: {\"delta\":\"a\"}\n\n",
        "event: response.completed\ndata: {\"response\":{\"status\":\"completed\","
            + "\"usage\":{\"input_tokens\":4,\"output_tokens\":0}}}\n\n");
  }

  /**
   * After the first token: the aborted event in a chunk of its own, or with others in one. The rest
   * of a chunk is filled with line feeds.
   */
  private static void endsWith(String path, String start, String token, String aborted)
      throws Exception {
    String done = "data: [DONE]\n\n";
    endsWith(path, token, token + start, List.of(aborted, done));
    endsWith(path, token, token + start, List.of(aborted + done));
    endsWith(path, token, token + token + start, List.of(token + aborted + done));
    endsWith(path, token, token + token + start, List.of(token, aborted));
  }

  private static void endsWith(String path, String token, String expected, List<String> rest)
      throws Exception {
    CountDownLatch received = new CountDownLatch(1);
    EngineScript script =
        (_, connection) -> {
          connection.beginEvents().chunk(token);
          received.await();
          for (String chunk : rest) {
            connection.chunk(chunk);
          }
          connection.lastChunk();
        };
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine ending = ScriptedEngine.start(script)) {
      Worker worker = rig.worker(ending.url());
      WireClient client = rig.connect().send(ProxyRig.post(path, STREAM));
      client.head();
      StringBuilder text = new StringBuilder(String.valueOf(client.chunk()));
      received.countDown();
      String chunk = client.chunk();
      for (; chunk != null && !chunk.isEmpty(); chunk = client.chunk()) {
        text.append(chunk);
      }

      assertThat(chunk).as("a proper end").isEmpty();
      assertThat(text.toString().replaceAll("\n{2,}", "\n\n"))
          .startsWith(expected)
          .doesNotContain("[DONE]")
          .doesNotContain("abort\"}");
      ProxyRig.await("ended", () -> !rig.ended.isEmpty());
      assertThat(rig.ended.getFirst().blame()).isEqualTo("UPSTREAM");
      assertThat(rig.outcomes).containsExactly(Outcome.IGNORED);
      assertThat(worker.shuttingDown()).isTrue();
    }
  }

  /** Its API does not say that it was aborted. */
  @Test
  void aResponseThatEndsWhileItsEngineShutsDownIsTriedElsewhere() throws Exception {
    CountDownLatch aborted = new CountDownLatch(1);
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine ending =
            ScriptedEngine.start(
                (request, connection) -> {
                  if (request.line().contains("responses")) {
                    aborted.await();
                    connection.reply(
                        200,
                        "application/json",
                        "{\"status\":\"completed\",\"usage\":{\"output_tokens\":3}}");
                  } else {
                    connection.reply(200, "application/json", CUT.formatted("abort"));
                  }
                });
        ScriptedEngine other = ScriptedEngine.start(new Answer(200, GOOD))) {
      Worker worker = rig.worker(ending.url());
      rig.worker(other.url());
      WireClient response = rig.connect().send(ProxyRig.post("/v1/responses", BODY));
      ProxyRig.await("under way", () -> worker.inFlight() == 1);
      rig.ask(ProxyRig.post(CHAT, BODY));
      aborted.countDown();

      assertThat(response.read().text()).isEqualTo(GOOD);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "500,cannot schedule new futures after shutdown",
    "500,EngineCore encountered an issue. See stack trace (above) for the root cause.",
    "503,EngineCore encountered an issue. See stack trace (above) for the root cause."
  })
  void anEngineThatReportsItsEndGetsNoNewRequests(int status, String message) throws Exception {
    String error = "{\"error\":{\"message\":\"%s\",\"code\":500}}".formatted(message);
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine ending = ScriptedEngine.start(new Answer(status, error));
        ScriptedEngine other = ScriptedEngine.start(new Answer(200, GOOD))) {
      Worker worker = rig.worker(ending.url());
      rig.worker(other.url());
      for (int i = 0; i < 3; i++) {
        assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).text()).isEqualTo(GOOD);
      }

      assertThat(ending.requests()).hasSize(1);
      assertThat(worker.shuttingDown()).isTrue();
    }
  }

  /** vLLM's server keeps such a connection open after its engine has ended. */
  @Test
  void aStreamWithoutAByteIsTriedElsewhereWhenItsEngineShutsDown() throws Exception {
    waits(Worker::shutsDown);
    waits(worker -> worker.probes().refuses());
  }

  private static void waits(Consumer<Worker> event) throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine ending =
            ScriptedEngine.start(
                (_, connection) -> {
                  connection.beginEvents();
                  connection.awaitPeerGone();
                });
        ScriptedEngine other = ScriptedEngine.start(new Answer(200, GOOD))) {
      Worker worker = rig.worker(ending.url());
      rig.worker(other.url());
      long before = System.nanoTime();
      WireClient client = rig.connect().send(ProxyRig.post(CHAT, STREAM));
      ProxyRig.await("head arrived", () -> worker.begunSince(before));
      event.accept(worker);

      assertThat(client.read().text()).isEqualTo(GOOD);
      assertThat(rig.retried).containsExactly(RetryReason.ABORTED);
    }
  }

  /** A client that has the first event of a streamed response. */
  private static WireClient responseCreated(ProxyRig rig) throws Exception {
    WireClient client = rig.connect().send(ProxyRig.post("/v1/responses", STREAM));
    client.head();
    assertThat(client.chunk()).startsWith("event: response.created");
    return client;
  }

  private static void refuses(Worker worker) {
    for (int i = 0; i < 3; i++) {
      worker.probes().refuses();
      worker.probed(false);
    }
  }

  @Test
  void aSilentStreamEndsWithAnErrorIfNobodyListensAtItsEngine() throws Exception {
    FakeClock clock = new FakeClock();
    CountDownLatch goOn = new CountDownLatch(1);
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS, clock);
        ScriptedEngine ending =
            ScriptedEngine.start(
                (_, connection) -> {
                  connection.beginEvents().chunk(TOKEN);
                  goOn.await();
                  connection.chunk(TOKEN.replace("\"a\"", "\"b\""));
                  connection.awaitPeerGone();
                })) {
      Worker worker = rig.worker(ending.url());
      WireClient client = rig.connect().send(ProxyRig.post(CHAT, STREAM));
      client.head();
      assertThat(client.chunk()).contains("\"a\"");
      clock.advance(Duration.ofSeconds(11));
      goOn.countDown();
      assertThat(client.chunk()).as("a healthy worker may be silent").contains("\"b\"");

      refuses(worker);
      clock.advance(Duration.ofSeconds(11));
      assertThat(client.chunk()).contains("\"error\"", "upstream_aborted");
      assertThat(client.chunk()).isEmpty();
      ProxyRig.await("lease is settled", () -> worker.inFlight() == 0);
    }
  }

  @Test
  void aSilentStreamWithAnEarlyEventEndsIfNobodyListensAtItsEngine() throws Exception {
    FakeClock clock = new FakeClock();
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS, clock);
        ScriptedEngine ending = ScriptedEngine.start(CREATES_A_RESPONSE)) {
      Worker worker = rig.worker(ending.url());
      WireClient client = responseCreated(rig);
      refuses(worker);
      clock.advance(Duration.ofSeconds(31));

      assertThat(client.chunk()).startsWith("event: response.failed\n");
      assertThat(client.chunk()).isEmpty();
      ProxyRig.await("lease is settled", () -> worker.inFlight() == 0);
    }
  }

  @Test
  void anAnswerInOnePieceIsTriedElsewhereIfNobodyListensAtItsEngine() throws Exception {
    FakeClock clock = new FakeClock();
    try (ProxyRig rig = new ProxyRig(Transport.AUTO, ProxySettings.DEFAULTS, clock);
        ScriptedEngine ending = ScriptedEngine.start(new HangBeforeHeaders());
        ScriptedEngine other = ScriptedEngine.start(new Answer(200, GOOD))) {
      Worker worker = rig.worker(ending.url());
      rig.worker(other.url());
      WireClient client = rig.connect().send(ProxyRig.post(CHAT, BODY));
      ending.awaitRequest();
      refuses(worker);
      clock.advance(Duration.ofSeconds(31));

      assertThat(client.read().text()).isEqualTo(GOOD);
      assertThat(rig.retried).containsExactly(RetryReason.ABORTED);
    }
  }

  @Test
  void aStreamWithAnEarlyEventEndsWithAnErrorWhenItsEngineShutsDown() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine ending = ScriptedEngine.start(CREATES_A_RESPONSE)) {
      Worker worker = rig.worker(ending.url());
      WireClient client = responseCreated(rig);
      worker.shutsDown();

      assertThat(client.chunk())
          .startsWith("event: response.failed\n")
          .contains(
              "}}}\n\nevent: error\ndata: {\"type\":\"error\",\"code\":\"upstream_aborted\",");
      assertThat(client.chunk()).isEmpty();
    }
  }

  @Test
  void aLongAnswerThatWasAbortedIsCutOff() throws Exception {
    String text = "x".repeat(600_000);
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine ending =
            ScriptedEngine.start(
                new Answer(
                    200,
                    "{\"text\":\"" + text + "\",\"choices\":[{\"finish_reason\":\"abort\"}]}"))) {
      Worker worker = rig.worker(ending.url());

      assertThat(rig.ask(ProxyRig.post(CHAT, BODY)).complete()).isFalse();
      assertThat(worker.shuttingDown()).isTrue();
    }
  }

  @Test
  void goodAnswersOfEverySizePassUnchanged() throws Exception {
    for (int size : new int[] {0, 1, 4000, 70_000, 300_000, 1_000_000}) {
      String answer = "{\"text\":\"" + "y".repeat(size) + "\",\"finish_reason\":\"stop\"}";
      try (ProxyRig rig = new ProxyRig(Transport.AUTO);
          ScriptedEngine engine = ScriptedEngine.start(new Answer(200, answer))) {
        rig.worker(engine.url());
        WireClient client = rig.connect();
        for (int i = 0; i < 3; i++) {
          assertThat(client.send(ProxyRig.post(CHAT, BODY)).read().text()).isEqualTo(answer);
        }
        assertThat(engine.requests()).hasSize(3);
      }
    }
  }

  private static final String DEAD =
      "EngineCore encountered an issue. See stack trace (above) for the root cause.";
  private static final String OPENAI_ERROR =
      "data: {\"error\": {\"message\": \"%s\", \"type\": \"InternalServerError\", \"code\":"
          + " 500}}\n\n";
  private static final String MESSAGES_ERROR =
      "event: error\n"
          + "data:"
          + " {\"type\":\"error\",\"error\":{\"type\":\"internal_error\",\"message\":\"%s\"}}\n\n";
  private static final String RESPONSES_ERROR =
      "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"%s\"}\n\n";
  private static final String RESPONSES_FAILED =
      "event: response.failed\n"
          + "data:"
          + " {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"%s\"}}}\n\n";

  /** Paths of streams with the form of their errors. */
  static Stream<Arguments> errorsOfEveryApi() {
    return Stream.of(
        Arguments.of(CHAT, OPENAI_ERROR),
        Arguments.of("/v1/completions", OPENAI_ERROR),
        Arguments.of("/inference/v1/generate", OPENAI_ERROR),
        Arguments.of("/generate", OPENAI_ERROR),
        Arguments.of("/v1/messages", MESSAGES_ERROR),
        Arguments.of("/v1/responses", RESPONSES_ERROR),
        Arguments.of("/v1/responses", RESPONSES_FAILED));
  }

  @ParameterizedTest
  @MethodSource("errorsOfEveryApi")
  void aStreamThatBeginsWithTheEndOfItsEngineIsTriedElsewhere(String path, String error)
      throws Exception {
    for (String text : List.of(DEAD, "cannot schedule new futures after shutdown")) {
      try (ProxyRig rig = new ProxyRig(Transport.AUTO);
          ScriptedEngine ending =
              ScriptedEngine.start(
                  (_, connection) ->
                      connection.beginEvents().chunk(error.formatted(text)).lastChunk());
          ScriptedEngine other = ScriptedEngine.start(new Answer(200, GOOD))) {
        Worker worker = rig.worker(ending.url());
        rig.worker(other.url());

        assertThat(rig.ask(ProxyRig.post(path, STREAM)).text()).isEqualTo(GOOD);
        assertThat(worker.shuttingDown()).isTrue();
        Outcome first = text.equals(DEAD) ? new Outcome.Failed(Failure.ERROR) : Outcome.IGNORED;
        assertThat(rig.outcomes).containsExactly(first, Outcome.SUCCEEDED);
        rig.ask(ProxyRig.post(path, STREAM));
        assertThat(ending.requests()).as("gets no new request").hasSize(1);
      }
    }
  }

  @ParameterizedTest
  @MethodSource("errorsOfEveryApi")
  void anErrorAfterTheFirstTokenReportsTheEndToo(String path, String error) throws Exception {
    String event = error.formatted(DEAD);
    int half = event.length() / 2;
    for (List<String> chunks :
        List.of(
            List.of(TOKEN, event, "data: [DONE]\n\n"),
            List.of(TOKEN + event),
            List.of(TOKEN, event.substring(0, half), event.substring(half)))) {
      try (ProxyRig rig = new ProxyRig(Transport.AUTO);
          ScriptedEngine ending =
              ScriptedEngine.start(
                  (_, connection) -> {
                    connection.beginEvents();
                    for (String chunk : chunks) {
                      connection.chunk(chunk);
                    }
                    connection.lastChunk();
                  })) {
        Worker worker = rig.worker(ending.url());

        assertThat(rig.ask(ProxyRig.post(path, STREAM)).text()).isEqualTo(String.join("", chunks));
        assertThat(rig.outcomes).containsExactly(new Outcome.Failed(Failure.ERROR));
        assertThat(worker.shuttingDown()).isTrue();
      }
    }
  }

  @ParameterizedTest
  @MethodSource("errorsOfEveryApi")
  void otherErrorsAndOutputAreNoEnd(String path, String error) throws Exception {
    String output =
        "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"error\\\": \\\""
            + DEAD
            + "\\\"}\"}}],\"error\":null}\n\n";
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine =
            ScriptedEngine.start(
                (_, connection) ->
                    connection
                        .beginEvents()
                        .chunk(output)
                        .chunk(error.formatted("KV load failed"))
                        .lastChunk())) {
      Worker worker = rig.worker(engine.url());
      rig.ask(ProxyRig.post(path, STREAM));
      assertThat(worker.shuttingDown()).isFalse();
    }
  }

  /** Members that a client or a model chooses. Engines send them back in many APIs. */
  private static final String CHOSEN =
      "{\"status\":\"cancelled\",\"usage\":{\"output_tokens\":0},\"error\":\"EngineDeadError\","
          + "\"finish_reason\":\"abort\",\"delta\":{\"stop_reason\":null},\"message\":"
          + "\"cannot schedule new futures after shutdown\",\"type\":\"error\"}";

  static Stream<Arguments> answersWithChosenMembers() {
    String response = "{\"metadata\":%1$s,\"tools\":[{\"parameters\":%1$s}],\"status\":";
    return Stream.of(
        Arguments.of(
            "/v1/responses",
            response + "\"completed\",\"output\":[],\"usage\":{\"output_tokens\":3}}",
            "event: response.created\ndata: {\"type\":\"response.created\",\"response\":"
                + response
                + "\"in_progress\"}}\n\nevent: response.completed\ndata: {\"response\":"
                + response
                + "\"completed\",\"usage\":{\"output_tokens\":3}}}\n\n"),
        Arguments.of(
            "/v1/messages",
            "{\"type\":\"message\",\"content\":[{\"type\":\"tool_use\",\"input\":%1$s}],"
                + "\"stop_reason\":\"tool_use\",\"usage\":{\"output_tokens\":3}}",
            "event: content_block_start\ndata: {\"content_block\":{\"input\":%1$s}}\n\n"),
        Arguments.of(
            CHAT,
            "{\"choices\":[{\"message\":{\"tool_calls\":[%1$s]},\"finish_reason\":\"stop\"}]}",
            "data: {\"choices\":[{\"delta\":{\"tool_calls\":[%1$s]}}]}\n\ndata: [DONE]\n\n"),
        Arguments.of(
            "/generate",
            "{\"text\":\"a\",\"meta_info\":{\"finish_reason\":{\"type\":\"stop\"},\"labels\":%1$s}}",
            "data: {\"text\":\"a\",\"echo\":%1$s}\n\n"));
  }

  /** One request could otherwise take each engine out of service that it is tried on. */
  @ParameterizedTest
  @MethodSource("answersWithChosenMembers")
  void membersThatAClientChoosesEndNothing(String path, String whole, String events)
      throws Exception {
    for (String body : List.of(BODY, STREAM)) {
      String answer = (body.equals(BODY) ? whole : events).formatted(CHOSEN);
      EngineScript script =
          body.equals(BODY)
              ? new Answer(200, answer)
              : (_, connection) -> connection.beginEvents().chunk(answer).lastChunk();
      try (ProxyRig rig = new ProxyRig(Transport.AUTO);
          ScriptedEngine engine = ScriptedEngine.start(script)) {
        Worker worker = rig.worker(engine.url());

        assertThat(rig.ask(ProxyRig.post(path, body)).text()).isEqualTo(answer);
        assertThat(worker.shuttingDown()).isFalse();
        assertThat(rig.outcomes).containsExactly(Outcome.SUCCEEDED);
        assertThat(rig.retried).isEmpty();
      }
    }
  }
}
