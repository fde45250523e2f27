package io.pointsman.request;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PromptOrderTest {
  private static boolean known(String members) {
    return PromptOrder.isKnown(("{\"model\":\"m\"," + members + "}").getBytes(UTF_8));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "\"prompt\":\"a\"",
        "\"prompt\":[1,2,3]",
        "\"prompt\":[\"a\",\"b\"]",
        "\"input\":\"a\", \"instructions\":\"b\"",
        "\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]",
        "\"messages\":[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"1\"}]}]",
        "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}]",
        "\"system\":[{\"type\":\"text\",\"text\":\"a\",\"cache_control\":{\"type\":\"x\"}}]",
        "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{}}}]",
        "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"strict\":false}}]",
        "\"tools\":[], \"tool_choice\":\"auto\"",
        "\"tool_choice\" : \"none\"",
        "\"response_format\":null, \"temperature\":0.5, \"stop\":[\"a\"]",
      })
  void textsAndTokensAreComputedInOrder(String members) {
    assertThat(known(members)).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "\"response_format\":{\"type\":\"json_schema\"}",
        "\"respons\\u0065_format\":{\"type\":\"json_schema\"}",
        "\"structured_outputs\":{\"regex\":\"a\"}",
        "\"guided_json\":{}",
        "\"guided_grammar\":\"a\"",
        "\"text\":{\"format\":{\"type\":\"json_schema\"}}",
        "\"sampling_params\":{\"json_schema\":\"{}\"}",
        "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"strict\":true}}]",
        "\"tools\":[{\"type\":\"function\",\"name\":\"f\",\"strict\":true}]",
        "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"str\\u0069ct\":true}}]",
        "\"tools\":[{\"type\":\"web_search\",\"unknown\":1}]",
        "\"tools\":{}",
        "\"tool_choice\":\"required\"",
        "\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"f\"}}",
        "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":{}}]}]",
        "\"messages\":[{\"content\":\"a\"},{\"content\":[{\"type\":\"input_audio\",\"x\":1}]}]",
        "\"messages\":[{\"role\":\"user\",\"content\":{}}]",
        "\"messages\":[{\"role\":\"user\",\"content\":\"a\",\"audio\":{\"id\":\"1\"}}]",
        "\"messages\":[1]",
        "\"prompt\":{\"id\":\"template\"}",
        "\"prompt_embeds\":\"AAAA\"",
        "\"kv_transfer_params\":{\"do_remote_prefill\":true}",
        "\"priority\":5",
        "\"anything\":1",
        "\"prompt\":\"a\",\"prompt\":{}",
      })
  void otherPromptsHaveNoKnownOrder(String members) {
    assertThat(known(members)).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "[]", "{", "{\"prompt\":\"a\"", "--b\r\n\r\n--b--"})
  void otherBodiesHaveNoKnownOrder(String body) {
    assertThat(PromptOrder.isKnown(body.getBytes(UTF_8))).isFalse();
  }
}
