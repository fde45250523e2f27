package io.pointsman.request;

import static io.pointsman.request.Reading.chat;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixMark;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TurnReaderTest {
  private static final String SAID = "Yes.\\n\\u00e9 \\\"x\\\" " + "and so on ".repeat(20);
  private static final String USER = "{\"role\":\"user\",\"content\":\"Is it?\"}";
  private static final String NEXT = "{\"role\":\"user\",\"content\":\"Why?\"}";

  private final TurnReader reader = new TurnReader();

  private static PrefixBlocks prompt(String... messages) {
    String tools = "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]";
    return chat("{\"model\":\"m\","
            + tools
            + ",\"messages\":["
            + String.join(",", messages)
            + "],\"temperature\":0.5}")
        .prefix();
  }

  private static String assistant(String content) {
    return "{\"role\":\"assistant\",\"content\":" + content + "}";
  }

  private PrefixMark mark() {
    PrefixMark mark = reader.behind(prompt(USER), SAID.getBytes(UTF_8));
    if (mark == null) {
      throw new AssertionError("no mark");
    }
    return mark;
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "\"content\":\"%s\",\"role\":\"assistant\"",
        "\"role\":\"assistant\",\"refusal\":null,\"tool_calls\":null,\"content\":\"%s\"",
        "\"role\":\"assistant\",\"refusal\":\"\",\"tool_calls\":[],\"content\":\"%s\"",
        "\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]"
      })
  void theNextPromptPassesTheMarkInEveryFormOfTheMessage(String message) {
    String written = "{" + message.formatted(SAID) + "}";

    assertThat(mark().isPassedBy(prompt(USER, written, NEXT))).isTrue();
  }

  /** Routing keys hash strings with their escapes unresolved. */
  @Test
  void anAnswerWithOtherEscapesHasAnotherMark() {
    String plain = SAID.replace("\\u00e9", "é");

    assertThat(mark().isPassedBy(prompt(USER, assistant('"' + plain + '"'), NEXT))).isFalse();
  }

  @Test
  void otherPromptsDoNotPassTheMark() {
    String said = assistant('"' + SAID + '"');
    String called = "{\"role\":\"assistant\",\"content\":\"" + SAID + "\",\"tool_calls\":[{}]}";

    assertThat(mark().isPassedBy(prompt(USER))).isFalse();
    assertThat(mark().isPassedBy(prompt(USER, said))).isFalse();
    assertThat(mark().isPassedBy(prompt(USER, assistant("\"No.\""), NEXT))).isFalse();
    assertThat(mark().isPassedBy(prompt(USER, assistant('"' + SAID.strip() + '"'), NEXT)))
        .isFalse();
    assertThat(mark().isPassedBy(prompt(USER, said.replace("assistant", "user"), NEXT))).isFalse();
    assertThat(mark().isPassedBy(prompt(USER, called, NEXT))).isFalse();
    assertThat(mark().isPassedBy(prompt(USER, NEXT, said))).isFalse();
    assertThat(mark().isPassedBy(prompt(NEXT, said, NEXT))).isFalse();
  }

  @Test
  void withoutAKeyThereIsNoMark() {
    assertThat(reader.behind(PrefixBlocks.NONE, SAID.getBytes(UTF_8))).isNull();
    assertThat(reader.behind(prompt(USER), "\"},{".getBytes(UTF_8))).isNull();
  }
}
