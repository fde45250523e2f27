package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.testkit.engine.Faults.Answer;
import io.pointsman.testkit.engine.Faults.EventStream;
import io.pointsman.testkit.engine.ScriptedEngine;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Signals that policies learn from relayed answers. */
@SuppressWarnings("try") // tests may be interrupted
@Timeout(60)
class SignalsTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String USAGE =
      "\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":3,"
          + "\"prompt_tokens_details\":{\"cached_tokens\":8}}}";

  private static void ask(ProxyRig rig, String body) throws Exception {
    int before = rig.ended.size();
    rig.ask(ProxyRig.post(CHAT, body));
    ProxyRig.await("ended", () -> rig.ended.size() > before);
  }

  @Test
  void streamReportsItsFirstTokenAndItsUsage() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine =
            ScriptedEngine.start(
                new EventStream(List.of("{\"a\":1}", "{\"b\":2}", "{\"choices\":[]," + USAGE)))) {
      rig.worker(engine.url());
      ask(rig, "{\"model\":\"m\",\"stream\":true}");

      assertThat(rig.signals).containsExactly("first token", new Usage(12, 8, 3));
    }
  }

  @Test
  void headOfAStreamIsNoFirstToken() throws Exception {
    CountDownLatch head = new CountDownLatch(1);
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine =
            ScriptedEngine.start(
                (request, connection) -> {
                  connection.beginEvents();
                  head.await();
                  connection.chunk("data: one\n\n").lastChunk();
                })) {
      Worker worker = rig.worker(engine.url());
      long before = System.nanoTime();
      WireClient client = rig.connect().send(ProxyRig.post(CHAT, "{\"model\":\"m\"}"));
      ProxyRig.await("head arrived", () -> worker.begunSince(before));
      assertThat(rig.signals).isEmpty();
      head.countDown();
      client.head();
      client.chunk();
      ProxyRig.await("ended", () -> !rig.ended.isEmpty());

      assertThat(rig.signals).containsExactly("first token", Usage.UNKNOWN);
    }
  }

  @Test
  void eventsBeforeComputationAreNoFirstToken() throws Exception {
    CountDownLatch computed = new CountDownLatch(1);
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine =
            ScriptedEngine.start(
                (request, connection) -> {
                  connection
                      .beginEvents()
                      .chunk("event: response.created\ndata: {\"response\":{}}\n\n")
                      .chunk("event: response.in_progress\ndata: {\"response\":{}}\n\n");
                  computed.await();
                  connection.chunk("event: response.output_item.added\ndata: {}\n\n").lastChunk();
                })) {
      rig.worker(engine.url());
      String body = "{\"model\":\"m\",\"input\":\"a\",\"stream\":true}";
      WireClient client = rig.connect().send(ProxyRig.post("/v1/responses", body));
      client.head();
      client.chunk();
      client.chunk();
      assertThat(rig.signals).isEmpty();
      computed.countDown();
      client.chunk();
      ProxyRig.await("ended", () -> !rig.ended.isEmpty());

      assertThat(rig.signals).containsExactly("first token", Usage.UNKNOWN);
    }
  }

  @Test
  void errorInPlaceOfOutputIsNoFirstToken() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine =
            ScriptedEngine.start(new EventStream(List.of("{\"error\":{\"code\":500}}", "{}")))) {
      rig.worker(engine.url());
      ask(rig, "{\"model\":\"m\",\"stream\":true}");

      assertThat(rig.signals).containsExactly(Usage.UNKNOWN);
    }
  }

  @Test
  void answerInOnePieceReportsItsUsageAndNoFirstToken() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine = ScriptedEngine.start(new Answer(200, "{\"id\":\"a\"," + USAGE))) {
      rig.worker(engine.url());
      ask(rig, "{\"model\":\"m\"}");

      assertThat(rig.signals).containsExactly(new Usage(12, 8, 3));
    }
  }

  private static ScriptedEngine lines() throws Exception {
    return ScriptedEngine.start(
        (request, connection) ->
            connection
                .send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
                .chunk("{\"a\":1}\n")
                .chunk("{" + USAGE + "\n")
                .lastChunk());
  }

  @Test
  void streamOfLinesReportsItsFirstTokenIfAStreamWasRequested() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine = lines()) {
      rig.worker(engine.url());
      ask(rig, "{\"model\":\"m\",\"stream\":true}");
      assertThat(rig.signals).containsExactly("first token", new Usage(12, 8, 3));

      rig.signals.clear();
      ask(rig, "{\"model\":\"m\"}");
      assertThat(rig.signals).containsExactly(new Usage(12, 8, 3));
    }
  }

  @Test
  void answerOfKnownLengthToAStreamingRequestReportsNoFirstToken() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine = ScriptedEngine.start(new Answer(200, "{\"id\":\"a\"," + USAGE))) {
      rig.worker(engine.url());
      ask(rig, "{\"model\":\"m\",\"stream\":true}");

      assertThat(rig.signals).containsExactly(new Usage(12, 8, 3));
    }
  }

  private static ScriptedEngine compressed(String type, String body) throws Exception {
    return ScriptedEngine.start(
        (request, connection) ->
            connection.send(
                "HTTP/1.1 200 OK\r\ncontent-type: "
                    + type
                    + "\r\ncontent-encoding: gzip\r\ncontent-length: "
                    + body.length()
                    + "\r\n\r\n"
                    + body));
  }

  @Test
  void compressedStreamReportsOnlyItsFirstToken() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine = compressed("text/event-stream", "z".repeat(40))) {
      rig.worker(engine.url());
      ask(rig, "{\"model\":\"m\",\"stream\":true}");

      assertThat(rig.signals).containsExactly("first token", Usage.UNKNOWN);
    }
  }

  @Test
  void headerOfACompressorIsNoFirstToken() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine = compressed("text/event-stream", "z".repeat(18))) {
      rig.worker(engine.url());
      ask(rig, "{\"model\":\"m\",\"stream\":true}");

      assertThat(rig.signals).containsExactly(Usage.UNKNOWN);
    }
  }

  @Test
  void compressedAnswerInOnePieceReportsNothing() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine = compressed("application/json", "z".repeat(40))) {
      rig.worker(engine.url());
      ask(rig, "{\"model\":\"m\"}");

      assertThat(rig.signals).containsExactly(Usage.UNKNOWN);
    }
  }

  @Test
  void unknownPathReportsTheSame() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine =
            ScriptedEngine.start(
                new EventStream(List.of("{\"a\":1}", "{\"choices\":[]," + USAGE)))) {
      rig.worker(engine.url());
      rig.ask(ProxyRig.post("/vendor/ask", "{\"model\":\"m\",\"prompt\":\"hello\"}"));
      ProxyRig.await("ended", () -> !rig.ended.isEmpty());

      assertThat(rig.signals).containsExactly("first token", new Usage(12, 8, 3));
    }
  }

  @Test
  void errorReportsNothing() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine = ScriptedEngine.start(new Answer(400, "{\"id\":\"a\"," + USAGE))) {
      rig.worker(engine.url());
      ask(rig, "{\"model\":\"m\"}");

      assertThat(rig.signals).containsExactly(Usage.UNKNOWN);
    }
  }

  /** The form of vLLM's {@code /inference/v1/generate}, which has its counts at the start. */
  @Test
  void usageBeforeALongRestIsReported() throws Exception {
    String answer =
        "{"
            + USAGE.substring(0, USAGE.length() - 1)
            + ",\"choices\":["
            + "1,".repeat(2_000)
            + "1]}";
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine = ScriptedEngine.start(new Answer(200, answer))) {
      rig.worker(engine.url());
      int before = rig.ended.size();
      rig.ask(ProxyRig.post("/inference/v1/generate", "{\"model\":\"m\"}"));
      ProxyRig.await("ended", () -> rig.ended.size() > before);

      assertThat(rig.signals).containsExactly(new Usage(12, 8, 3));
    }
  }

  @Test
  void usageThatIsSplitByChunksIsReported() throws Exception {
    try (ProxyRig rig = new ProxyRig(Transport.AUTO);
        ScriptedEngine engine =
            ScriptedEngine.start(
                (request, connection) -> {
                  connection.beginEvents().chunk("data: {\"a\":1}\n\n");
                  for (char c : ("data: {\"choices\":[]," + USAGE + "\n\n").toCharArray()) {
                    connection.chunk(String.valueOf(c));
                  }
                  connection.chunk("data: [DONE]\n\n").lastChunk();
                })) {
      rig.worker(engine.url());
      ask(rig, "{\"model\":\"m\",\"stream\":true}");

      assertThat(rig.signals).containsExactly("first token", new Usage(12, 8, 3));
    }
  }
}
