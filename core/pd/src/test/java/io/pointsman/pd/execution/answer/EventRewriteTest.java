package io.pointsman.pd.execution.answer;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.pointsman.pd.plan.FirstToken;
import io.pointsman.pd.plan.PdEndpoint;
import io.pointsman.pd.plan.PromptLists;
import io.pointsman.proxy.handler.BufferedRewrite;
import io.pointsman.request.splice.BodyEdit;
import io.pointsman.request.splice.RawJson;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EventRewriteTest {
  private static final String STREAM =
      """
      : comment

      data: {"choices":[{"index":0,"text":" b"}],"usage":null}

      event: x\r
      data: {"choices":[{"index":0,"text":" c"}]}\r
      \r
      data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}

      data: [DONE]

      """;

  private final SplitTools tools = new SplitTools(1 << 20, PromptLists.DEFAULTS);

  private AnswerEdits edits(long cached, @Nullable FirstToken first) {
    return new AnswerEdits(tools, PdEndpoint.COMPLETIONS, () -> cached, first, false);
  }

  /** Output for a stream in pieces of {@code size} bytes. */
  private String rewritten(AnswerEdits edits, int size) {
    EventRewrite rewrite = new EventRewrite(edits, () -> {});
    StringBuilder out = new StringBuilder();
    byte[] bytes = STREAM.getBytes(StandardCharsets.UTF_8);
    for (int from = 0; from < bytes.length; from += size) {
      out.append(
          text(
              rewrite.take(
                  Unpooled.copiedBuffer(bytes, from, Math.min(size, bytes.length - from)))));
    }
    return out.append(text(rewrite.end())).toString();
  }

  private static String text(ByteBuf bytes) {
    String text = bytes.toString(StandardCharsets.UTF_8);
    bytes.release();
    return text;
  }

  @Test
  void eventsWithoutEditsPassUnchanged() {
    for (int size : new int[] {1, 2, 3, 7, 50, 1000}) {
      assertThat(rewritten(edits(-1, null), size)).as("size " + size).isEqualTo(STREAM);
    }
  }

  @Test
  void usageGetsTheCachedTokensAtEverySplitOfTheStream() {
    String expected =
        STREAM.replace(
            "\"completion_tokens\":2",
            "\"completion_tokens\":2,\"prompt_tokens_details\":{\"cached_tokens\":7}");
    for (int size : new int[] {1, 2, 3, 7, 50, 1000}) {
      assertThat(rewritten(edits(7, null), size)).as("size " + size).isEqualTo(expected);
    }
  }

  @Test
  void theFirstTokenPrecedesTheFirstText() {
    FirstToken first =
        new FirstToken(
            RawJson.of("\" \\u0061\""),
            List.of(
                BodyEdit.add(-1, 0, "usage", "prompt_tokens"),
                BodyEdit.add(1, 0, "usage", "completion_tokens")));
    String expected =
        STREAM
            .replace("\" b\"", "\" \\u0061 b\"")
            .replace(
                "\"prompt_tokens\":9,\"completion_tokens\":2",
                "\"prompt_tokens\":8,\"completion_tokens\":3");
    for (int size : new int[] {1, 5, 1000}) {
      assertThat(rewritten(edits(-1, first), size)).as("size " + size).isEqualTo(expected);
    }
  }

  @Test
  void anEventPassesWhenItIsComplete() {
    EventRewrite rewrite = new EventRewrite(edits(1, null), () -> {});
    assertThat(
            text(
                rewrite.take(
                    Unpooled.copiedBuffer("data: {\"a\":1}\n\ndata: {", StandardCharsets.UTF_8))))
        .isEqualTo("data: {\"a\":1}\n\n");
    assertThat(text(rewrite.take(Unpooled.copiedBuffer("}\n", StandardCharsets.UTF_8)))).isEmpty();
    assertThat(text(rewrite.take(Unpooled.copiedBuffer("\n", StandardCharsets.UTF_8))))
        .isEqualTo("data: {}\n\n");
    rewrite.release();
  }

  @Test
  void aVeryLongEventPassesUnread() {
    EventRewrite rewrite = new EventRewrite(edits(1, null), () -> {});
    String half = "data: {\"usage\":{}," + "x".repeat(2 << 20);
    assertThat(text(rewrite.take(Unpooled.copiedBuffer(half, StandardCharsets.UTF_8))))
        .isEqualTo(half);
    assertThat(rewrite.betweenEvents()).isFalse();
    assertThat(
            text(rewrite.take(Unpooled.copiedBuffer("}\n\ndata: 1\n\n", StandardCharsets.UTF_8))))
        .isEqualTo("}\n\ndata: 1\n\n");
    assertThat(rewrite.betweenEvents()).isTrue();
  }

  /** The next event is read again, at every split of the end. */
  @ParameterizedTest
  @ValueSource(strings = {"}\n|\n", "}|\n|\n", "}\n\r|\n", "}\n|\r\n", "}|\r|\n|\r|\n", "|}\n\n|"})
  void theEndOfAVeryLongEventIsRecognized(String end) {
    EventRewrite rewrite = new EventRewrite(edits(7, null), () -> {});
    String begin = "data: {" + "x".repeat(2 << 20);
    StringBuilder out = new StringBuilder();
    out.append(text(rewrite.take(Unpooled.copiedBuffer(begin, StandardCharsets.UTF_8))));
    for (String piece : end.split("\\|", -1)) {
      out.append(text(rewrite.take(Unpooled.copiedBuffer(piece, StandardCharsets.UTF_8))));
    }
    assertThat(rewrite.betweenEvents()).isTrue();
    String usage = "data: {\"usage\":{\"prompt_tokens\":9}}\n\n";
    out.append(text(rewrite.take(Unpooled.copiedBuffer(usage, StandardCharsets.UTF_8))));
    assertThat(out.toString())
        .isEqualTo(
            begin
                + end.replace("|", "")
                + usage.replace("9}", "9,\"prompt_tokens_details\":{\"cached_tokens\":7}}"));
  }

  @Test
  void anAnswerInOnePieceIsEditedAtItsEnd() {
    BufferedRewrite rewrite = new BufferedRewrite(edits(3, null)::apply, 1000, () -> {});
    assertThat(text(rewrite.take(Unpooled.copiedBuffer("{\"usage\":", StandardCharsets.UTF_8))))
        .isEmpty();
    assertThat(
            text(
                rewrite.take(
                    Unpooled.copiedBuffer("{\"prompt_tokens\":4}}", StandardCharsets.UTF_8))))
        .isEmpty();
    assertThat(text(rewrite.end()))
        .isEqualTo(
            "{\"usage\":{\"prompt_tokens\":4,\"prompt_tokens_details\":{\"cached_tokens\":3}}}");
  }

  @Test
  void anAnswerAboveTheLimitPassesUnchanged() {
    BufferedRewrite rewrite = new BufferedRewrite(edits(3, null)::apply, 10, () -> {});
    assertThat(text(rewrite.take(Unpooled.copiedBuffer("{\"usage\":{}", StandardCharsets.UTF_8))))
        .isEqualTo("{\"usage\":{}");
    assertThat(text(rewrite.take(Unpooled.copiedBuffer("}", StandardCharsets.UTF_8))))
        .isEqualTo("}");
    assertThat(text(rewrite.end())).isEmpty();
  }

  @Test
  @Timeout(60)
  void aLongEventInSmallPiecesPassesCompletely() {
    EventRewrite rewrite = new EventRewrite(edits(1, null), () -> {});
    String event = "data: {\"a\":\"" + "x".repeat(50_000) + "\"}\n\n";
    byte[] bytes = event.getBytes(StandardCharsets.UTF_8);
    StringBuilder out = new StringBuilder();
    for (byte each : bytes) {
      out.append(text(rewrite.take(Unpooled.wrappedBuffer(new byte[] {each}))));
    }
    assertThat(out.toString()).isEqualTo(event);
  }

  @Test
  void theTextOfAChatIsKeptWithItsTransferParameters() {
    AnswerEdits edits = new AnswerEdits(tools, PdEndpoint.CHAT, () -> -1, null, true);
    for (String event :
        List.of(
            "{\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}",
            "{\"choices\":[{\"delta\":{\"content\":\"a \\\"b\"}}]}",
            "{\"choices\":[{\"delta\":{\"content\":\"c\"}}]}",
            "{\"choices\":[{\"delta\":{}}],\"kv_transfer_params\":{\"x\":1}}",
            "{\"choices\":[],\"usage\":{}}")) {
      edits.apply(event.getBytes(StandardCharsets.UTF_8));
    }
    assertThat(edits.said()).asString(StandardCharsets.UTF_8).isEqualTo("a \\\"bc");
    assertThat(edits.handedBack()).asString(StandardCharsets.UTF_8).contains("{\"x\":1}");

    edits.apply(
        "{\"choices\":[{\"delta\":{\"tool_calls\":[{}]}}]}".getBytes(StandardCharsets.UTF_8));
    edits.apply("{\"choices\":[{\"delta\":{\"content\":\"d\"}}]}".getBytes(StandardCharsets.UTF_8));
    assertThat(edits.said()).isNull();
  }

  @Test
  void textAboveTheLimitIsNotKept() {
    AnswerEdits edits = new AnswerEdits(tools, PdEndpoint.CHAT, () -> -1, null, true);
    String words = "x".repeat(200_000);
    String event = "{\"choices\":[{\"delta\":{\"content\":\"" + words + "\"}}]}";
    edits.apply(event.getBytes(StandardCharsets.UTF_8));
    assertThat(edits.said()).hasSize(200_000);
    edits.apply(event.getBytes(StandardCharsets.UTF_8));
    assertThat(edits.said()).isNull();
  }
}
