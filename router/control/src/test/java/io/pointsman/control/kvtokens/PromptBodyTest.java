package io.pointsman.control.kvtokens;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.request.Endpoint;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Queries to engines about the prompt of a request. */
final class PromptBodyTest {
  private static final String SYSTEM =
      "{ \"role\":\"system\", \"content\":\"Caf\\u00e9 \\/ bar\" }";
  private static final String USER = "{\"role\":\"user\",\"content\":\"Hi [1]\"}";

  private static PromptBody of(Endpoint endpoint, String body) {
    return Objects.requireNonNull(PromptBody.of(endpoint, body.getBytes(UTF_8)));
  }

  private static @Nullable String text(byte @Nullable [] bytes) {
    return bytes == null ? null : new String(bytes, UTF_8);
  }

  private static PromptBody chat(String messages) {
    return of(
        Endpoint.CHAT_COMPLETIONS,
        "{\"stream\":true,\"messages\": [ %s ] ,\"model\":\"m\",\"n\":1}".formatted(messages));
  }

  @Test
  void beginningIsCutFromTheOriginalBytes() {
    PromptBody two = chat(SYSTEM + ", " + SYSTEM + " , " + USER + "," + SYSTEM);
    assertThat(text(two.beginning()))
        .isEqualTo(
            "{\"stream\":true,\"messages\": [ "
                + SYSTEM
                + ", "
                + SYSTEM
                + "] ,\"model\":\"m\",\"n\":1}");
    assertThat(chat(USER).beginning()).isNull();
    assertThat(chat(SYSTEM).beginning()).isNull();
    assertThat(of(Endpoint.COMPLETIONS, "{\"prompt\":\"a\"}").beginning()).isNull();
  }

  @Test
  void tokenizeGetsTheMembersThatRenderAndNoOthers() {
    assertThat(text(chat(USER).tokenizeBody()))
        .isEqualTo("{\"model\":\"m\",\"messages\":[" + USER + "]}");
    assertThat(text(of(Endpoint.COMPLETIONS, "{\"prompt\":[\"a\"],\"n\":2}").tokenizeBody()))
        .isEqualTo("{\"prompt\":\"a\"}");
    assertThat(of(Endpoint.RESPONSES, "{\"input\":\"a\"}").tokenizeBody()).isNull();
    String called = "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{}]}";
    assertThat(chat(USER + "," + called).tokenizeBody()).isNull();
  }

  @Test
  void severalTextsAndOtherPromptsAreNotQueried() {
    byte[] two = "{\"prompt\":[\"a\",\"b\"]}".getBytes(UTF_8);
    assertThat(PromptBody.of(Endpoint.COMPLETIONS, two)).isNull();
    assertThat(PromptBody.of(Endpoint.COMPLETIONS, "{\"prompt\":[1]}".getBytes(UTF_8))).isNull();
    assertThat(PromptBody.of(Endpoint.COMPLETIONS, "[".getBytes(UTF_8))).isNull();
    assertThat(PromptBody.of(Endpoint.CHAT_COMPLETIONS, "{}".getBytes(UTF_8))).isNull();
    assertThat(PromptBody.of(Endpoint.EMBEDDINGS, "{\"input\":\"a\"}".getBytes(UTF_8))).isNull();
    byte[] call = "{\"input\":[{\"type\":\"function_call\"}]}".getBytes(UTF_8);
    assertThat(PromptBody.of(Endpoint.RESPONSES, call)).isNull();
  }
}
