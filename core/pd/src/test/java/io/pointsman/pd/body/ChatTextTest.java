package io.pointsman.pd.body;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ChatTextTest {
  private final ChatText reader = new ChatText();
  private final ByteArrayOutputStream said = new ByteArrayOutputStream();

  private boolean append(String json) {
    byte[] bytes = ("x" + json + "y").getBytes(UTF_8);
    return reader.append(bytes, 1, bytes.length - 2, said);
  }

  @Test
  void theDeltasOfAStreamMakeTheText() {
    assertThat(append("{\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}"))
        .isTrue();
    assertThat(append("{\"choices\":[{\"delta\":{\"content\":\"a\\ud83d\"}}]}")).isTrue();
    assertThat(append("{\"choices\":[{\"delta\":{\"content\":\"\\ude00 \\\"\"}}]}")).isTrue();
    assertThat(append("{\"choices\":[{\"delta\":{},\"stop_reason\":null}]}")).isTrue();
    assertThat(append("{\"choices\":[],\"usage\":{}}")).isTrue();
    assertThat(said.toString(UTF_8)).isEqualTo("a\\ud83d\\ude00 \\\"");
  }

  @Test
  void theTextOfAnAnswerInOnePieceIsItsMessage() {
    assertThat(
            append(
                "{\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"é\","
                    + "\"tool_calls\":[],\"reasoning\":null,\"refusal\":null},"
                    + "\"stop_reason\":128009}]}"))
        .isTrue();
    assertThat(said.toString(UTF_8)).isEqualTo("é");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "\"delta\":{\"tool_calls\":[{\"index\":0}]}",
        "\"delta\":{\"reasoning_content\":\"hm\"}",
        "\"delta\":{\"reasoning\":\"hm\"}",
        "\"message\":{\"content\":\"a\",\"function_call\":{}}",
        "\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}",
        "\"message\":{\"content\":\"a\"},\"stop_reason\":\"END\""
      })
  void outputBesideTheTextIsReported(String choice) {
    assertThat(append("{\"choices\":[{" + choice + "}]}")).isFalse();
  }

  @Test
  void aTextThatIsNoAnswerIsReported() {
    assertThat(append("{\"choices\":[")).isFalse();
  }
}
