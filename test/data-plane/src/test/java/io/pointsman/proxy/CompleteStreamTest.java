package io.pointsman.proxy;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.testkit.engine.EngineScript;
import io.pointsman.testkit.engine.Faults.CloseAfter;
import io.pointsman.testkit.engine.Faults.ResetAfterBytes;
import io.pointsman.testkit.engine.ScriptedEngine;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Complete streams on connections that end without the last chunk. */
@SuppressWarnings({"StringConcatToTextBlock", "try"}) // line ends matter; tests may be interrupted
@Timeout(60)
class CompleteStreamTest {
  private static final String HEAD =
      "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

  /** Complete streams: their path, the events before the last one, and the last one. */
  enum Stream {
    CHAT(
        "/v1/chat/completions",
        "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n",
        "data: [DONE]\n\n"),
    COMPLETION(
        "/v1/completions",
        "data: {\"choices\":[{\"text\":\"x\",\"finish_reason\":\"stop\"}]}\n\n",
        "data: [DONE]\n\n"),
    MESSAGE(
        "/v1/messages",
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\n"
            + "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"
            + "\"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}}\n\n"
            + "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
            + "\"end_turn\"},\"usage\":{\"output_tokens\":1}}\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"),
    RESPONSE(
        "/v1/responses",
        "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\","
            + "\"status\":\"in_progress\",\"usage\":null}}\n\n"
            + "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\","
            + "\"delta\":\"x\"}\n\n",
        "event: response.completed\n"
            + "data:"
            + " {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n"),
    RESPONSE_WITHOUT_COUNTS(
        RESPONSE.path,
        RESPONSE.before,
        "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":"
            + "{\"id\":\"r\",\"status\":\"completed\",\"usage\":null}}\n\n"),
    RESPONSE_WITH_EARLY_COUNTS(
        RESPONSE.path,
        RESPONSE.before.replace("null", "{\"input_tokens\":0,\"output_tokens\":0}"),
        RESPONSE.last),
    CHAT_WITH_CRLF(CHAT.path, crlf(CHAT.before), crlf(CHAT.last)),
    MESSAGE_WITH_CRLF(MESSAGE.path, crlf(MESSAGE.before), crlf(MESSAGE.last));

    private static String crlf(String events) {
      return events.replace("\n", "\r\n");
    }

    private final String path;
    private final String before;
    private final String last;

    Stream(String path, String before, String last) {
      this.path = path;
      this.before = before;
      this.last = last;
    }
  }

  private static String chunk(String events) {
    return Integer.toHexString(events.length()) + "\r\n" + events + "\r\n";
  }

  private static WireResponse ask(ProxyRig rig, Stream stream, EngineScript script)
      throws Exception {
    try (ScriptedEngine engine = ScriptedEngine.start(script)) {
      rig.worker(engine.url());
      return rig.ask(ProxyRig.post(stream.path, "{\"model\":\"m\",\"stream\":true}"));
    }
  }

  @ParameterizedTest
  @EnumSource
  void aCompleteStreamEndsWithItsLastEvent(Stream stream) throws Exception {
    String sent = HEAD + chunk(stream.before) + chunk(stream.last);
    try (ProxyRig rig = new ProxyRig(Transport.AUTO)) {
      WireResponse closed = ask(rig, stream, new CloseAfter(sent));

      assertThat(closed.text()).isEqualTo(stream.before + stream.last);
      assertThat(closed.complete()).isTrue();
      assertThat(rig.outcomes).containsExactly(Outcome.SUCCEEDED);
    }
    try (ProxyRig rig = new ProxyRig(Transport.AUTO)) {
      WireResponse reset = ask(rig, stream, new ResetAfterBytes(sent));

      assertThat(reset.text()).isEqualTo(stream.before + stream.last);
      assertThat(rig.outcomes).containsExactly(Outcome.SUCCEEDED);
    }
  }

  @ParameterizedTest
  @EnumSource
  void aStreamWithoutItsLastEventGetsAnError(Stream stream) throws Exception {
    String sent = HEAD + chunk(stream.before);
    try (ProxyRig rig = new ProxyRig(Transport.AUTO)) {
      WireResponse response = ask(rig, stream, new CloseAfter(sent));

      assertThat(response.text()).startsWith(stream.before).contains("error");
      assertThat(rig.outcomes).containsExactly(new Outcome.Failed(Failure.ERROR));
    }
  }
}
