package io.pointsman.request.usage;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Usage;
import org.junit.jupiter.api.Test;

class UsageTailTest {
  private static Usage read(String tail) {
    byte[] bytes = ("??" + tail + "??").getBytes(UTF_8);
    return UsageTail.read(bytes, 2, bytes.length - 2);
  }

  @Test
  void chatCompletionTellsAllThree() {
    assertThat(
            read(
                "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":12,\"total_tokens\":20,"
                    + "\"completion_tokens\":8,\"prompt_tokens_details\":{\"cached_tokens\":4}},"
                    + "\"kv_transfer_params\":null}"))
        .isEqualTo(new Usage(12, 4, 8));
  }

  @Test
  void lastEventOfAStreamCounts() {
    assertThat(
            read(
                "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}],\"usage\":null}\n\n"
                    + "data: {\"choices\":[],\"usage\":{ \"prompt_tokens\" : 7,"
                    + " \"completion_tokens\":3,\"prompt_tokens_details\":null}}\n\n"
                    + "data: [DONE]\n\n"))
        .isEqualTo(new Usage(7, -1, 3));
  }

  @Test
  void messagesAndResponsesAreUnderstood() {
    assertThat(
            read(
                "\"usage\":{\"input_tokens\":9,\"cache_read_input_tokens\":5,\"output_tokens\":2}}"))
        .isEqualTo(new Usage(9, 5, 2));
    assertThat(
            read(
                "\"usage\":{\"input_tokens\":9,\"input_tokens_details\":{\"cached_tokens\":6},"
                    + "\"output_tokens\":2}}"))
        .isEqualTo(new Usage(9, 6, 2));
  }

  @Test
  void whatAModelWritesIsNotTaken() {
    assertThat(
            read(
                "{\"content\":\"\\\"usage\\\":{\\\"prompt_tokens\\\":99,\\\"x\\\":1}\",\"id\":\"a\"}"))
        .isEqualTo(Usage.UNKNOWN);
  }

  @Test
  void answersWithoutUsageTellNothing() {
    assertThat(read("")).isEqualTo(Usage.UNKNOWN);
    assertThat(read("data: [DONE]\n\n")).isEqualTo(Usage.UNKNOWN);
    assertThat(read("{\"usage\":null}")).isEqualTo(Usage.UNKNOWN);
    assertThat(read("{\"usage\":{}}")).isEqualTo(Usage.UNKNOWN);
    assertThat(read("\"usage\":{\"prompt_tokens\":99999999999}}")).isEqualTo(Usage.UNKNOWN);
  }

  @Test
  void tornNumberIsNotTaken() {
    byte[] bytes = "\"usage\":{\"prompt_tokens\":12".getBytes(UTF_8);

    assertThat(UsageTail.read(bytes, 0, bytes.length)).isEqualTo(Usage.UNKNOWN);
  }
}
