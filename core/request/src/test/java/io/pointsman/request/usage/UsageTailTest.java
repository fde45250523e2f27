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
  void chatCompletionsHaveAllThreeCounts() {
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
  void messagesAndResponsesAreRead() {
    assertThat(
            read(
                "\"usage\":{\"input_tokens\":9,\"cache_creation_input_tokens\":3,"
                    + "\"cache_read_input_tokens\":5,\"output_tokens\":2}}"))
        .as("what is read from a cache or brought there is no part of a message's input")
        .isEqualTo(new Usage(17, 5, 2));
    assertThat(read("\"usage\":{\"input_tokens\":9,\"output_tokens\":2}}"))
        .isEqualTo(new Usage(9, -1, 2));
    assertThat(
            read(
                "\"usage\":{\"input_tokens\":9,\"input_tokens_details\":{\"cached_tokens\":6},"
                    + "\"output_tokens\":2}}"))
        .isEqualTo(new Usage(9, 6, 2));
  }

  @Test
  void sglangReportsCountsInMetaInfo() {
    assertThat(
            read(
                "{\"text\":\"a\",\"meta_info\":{\"prompt_tokens\":12,\"completion_tokens\":1,"
                    + "\"cached_tokens\":4}}\n\ndata: {\"text\":\"ab\",\"meta_info\":{\"id\":\"x\","
                    + "\"prompt_tokens\":12,\"completion_tokens\":2,\"cached_tokens\":4,"
                    + "\"e2e_latency\":0.5}}\n\ndata: [DONE]\n\n"))
        .isEqualTo(new Usage(12, 4, 2));
    assertThat(read("\"meta_info\":{\"prompt_tokens\":1},\"usage\":{\"prompt_tokens\":2}}"))
        .as("usage is for all choices")
        .isEqualTo(new Usage(2, -1, -1));
  }

  @Test
  void textOfTheModelIsNoUsage() {
    assertThat(
            read(
                "{\"content\":\"\\\"usage\\\":{\\\"prompt_tokens\\\":99,\\\"x\\\":1}\",\"id\":\"a\"}"))
        .isEqualTo(Usage.UNKNOWN);
  }

  @Test
  void answersWithoutUsageHaveNoCounts() {
    assertThat(read("")).isEqualTo(Usage.UNKNOWN);
    assertThat(read("data: [DONE]\n\n")).isEqualTo(Usage.UNKNOWN);
    assertThat(read("{\"usage\":null}")).isEqualTo(Usage.UNKNOWN);
    assertThat(read("{\"usage\":{}}")).isEqualTo(Usage.UNKNOWN);
    assertThat(read("\"usage\":{\"prompt_tokens\":99999999999}}")).isEqualTo(Usage.UNKNOWN);
  }

  @Test
  void aCutNumberDoesNotCount() {
    byte[] bytes = "\"usage\":{\"prompt_tokens\":12".getBytes(UTF_8);

    assertThat(UsageTail.read(bytes, 0, bytes.length)).isEqualTo(Usage.UNKNOWN);
  }

  @Test
  void theLastUsageAndItsFirstNameCount() {
    assertThat(
            read(
                "\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}},"
                    + "\"usage\":{\"input_tokens\":5,\"prompt_tokens\":3,\"prompt_tokens\":4,"
                    + "\"cache_read_input_tokens\":2,\"cached_tokens\":1}}"))
        .isEqualTo(new Usage(3, 1, -1));
    assertThat(read("\"usage\":{\"prompt_tokens\":null,\"input_tokens\":5}}"))
        .isEqualTo(new Usage(5, -1, -1));
    assertThat(
            read("\"usage\":{\"prompt_tokens\":1}},\"usage\":null,\"usage\" : 7,\"usage\"usage\""))
        .isEqualTo(new Usage(1, -1, -1));
  }

  @Test
  void namesWithTheSameStartOrEndAreDifferent() {
    assertThat(
            read(
                "\"usage\":{\"prompt_tokens_details\":1,\"xprompt_tokens\":2,\"my\":"
                    + "\"prompt_tokens\",\"cached_tokens_\":4,\"id\":\"\\\"output_tokens\\\":5\"}}"))
        .isEqualTo(Usage.UNKNOWN);
    assertThat(read("\"xusage\":{\"prompt_tokens\":1}} \"usage_\":{\"prompt_tokens\":1}}"))
        .isEqualTo(Usage.UNKNOWN);
  }

  @Test
  void usageIsFoundAtEveryPosition() {
    String usage = "\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":8}";
    for (int before = 0; before < 20; before++) {
      for (int behind = 0; behind < 20; behind++) {
        String tail = "\"usage\u00e9".substring(0, before % 7) + "x".repeat(before) + usage;
        assertThat(read(tail + "\"egasu\"}".repeat(behind))).isEqualTo(new Usage(12, -1, 8));
      }
    }
  }

  /** Bytes after the end belong to another answer. */
  @Test
  void nothingIsReadBeyondTheEnd() {
    byte[] bytes = "\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":8}".getBytes(UTF_8);
    for (int to = 0; to < bytes.length; to++) {
      Usage read = UsageTail.read(bytes, 0, to);
      boolean prompt = to > "\"usage\":{\"prompt_tokens\":12".length();
      assertThat(read).isEqualTo(prompt ? new Usage(12, -1, -1) : Usage.UNKNOWN);
    }
  }
}
