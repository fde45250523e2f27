package io.pointsman.pd.body;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.pd.plan.PdEndpoint;
import io.pointsman.request.splice.Splice;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class CachedTokensTest {
  private final CachedTokens tokens = new CachedTokens();

  private @Nullable String put(String answer) {
    return put(PdEndpoint.CHAT, answer);
  }

  private @Nullable String put(PdEndpoint endpoint, String answer) {
    byte[] bytes = ("  " + answer).getBytes(UTF_8);
    return text(tokens.put(endpoint, bytes, 2, bytes.length - 2, 768), bytes);
  }

  private static @Nullable String text(@Nullable Splice splice, byte[] bytes) {
    return splice == null ? null : new String(splice.toBytes(bytes, 2), UTF_8);
  }

  @Test
  void theCountOfPrefillReplacesThatOfDecode() {
    assertThat(
            put(
                "{\"usage\":{\"prompt_tokens\":812,"
                    + "\"prompt_tokens_details\":{ \"cached_tokens\":811 }}, \"x\":1.0}"))
        .isEqualTo(
            "{\"usage\":{\"prompt_tokens\":812,"
                + "\"prompt_tokens_details\":{ \"cached_tokens\":768 }}, \"x\":1.0}");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", ",\"prompt_tokens_details\":null"})
  void missingDetailsAreAdded(String details) {
    assertThat(put("{\"usage\":{\"prompt_tokens\":812" + details + "}}"))
        .isEqualTo(
            "{\"usage\":{\"prompt_tokens\":812,"
                + "\"prompt_tokens_details\":{\"cached_tokens\":768}}}");
  }

  @Test
  void responsesUseTheirOwnNames() {
    assertThat(put("{\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}"))
        .isEqualTo(
            "{\"usage\":{\"input_tokens\":9,\"output_tokens\":1,"
                + "\"input_tokens_details\":{\"cached_tokens\":768}}}");
    assertThat(put("{\"response\":{\"usage\":{\"input_tokens\":9}}}"))
        .isEqualTo(
            "{\"response\":{\"usage\":{\"input_tokens\":9,"
                + "\"input_tokens_details\":{\"cached_tokens\":768}}}}");
  }

  /** In messages {@code input_tokens} excludes tokens read from the cache. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "'input_tokens':9,'cache_creation_input_tokens':0,'cache_read_input_tokens':811,'output_tokens':5"
            + "|'input_tokens':52,'cache_creation_input_tokens':0,'cache_read_input_tokens':768,"
            + "'output_tokens':5",
        "'input_tokens':820,'cache_read_input_tokens':0"
            + "|'input_tokens':52,'cache_read_input_tokens':768",
        "'input_tokens':820,'cache_read_input_tokens':null"
            + "|'input_tokens':52,'cache_read_input_tokens':768",
        "'input_tokens':820,'output_tokens':5"
            + "|'input_tokens':52,'output_tokens':5,'cache_read_input_tokens':768",
        "'input_tokens':0,'output_tokens':0"
            + "|'input_tokens':0,'output_tokens':0,'cache_read_input_tokens':768",
        "'cache_read_input_tokens':811,'output_tokens':5"
            + "|'cache_read_input_tokens':768,'output_tokens':5"
      })
  void messagesCountCachedTokensSeparately(String before, String after) {
    for (String form :
        new String[] {
          "{\"type\":\"message\",\"usage\":{%s}}",
          "{\"type\":\"message_start\",\"message\":{\"usage\":{%s}, \"x\":1.0}}",
          "{\"type\":\"message_delta\",\"usage\":{%s}}"
        }) {
      assertThat(put(PdEndpoint.MESSAGES, form.formatted(before.replace('\'', '"'))))
          .isEqualTo(form.formatted(after.replace('\'', '"')));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"type\":\"message_delta\",\"usage\":{\"output_tokens\":5}}",
        "{\"type\":\"message_start\",\"message\":{\"content\":[]}}",
        "{\"type\":\"message_start\",\"message\":{\"usage\":null}}",
        "{\"type\":\"content_block_delta\",\"delta\":{\"text\":\"usage\"}}"
      })
  void eventsWithoutInputTokensStayUnchanged(String event) {
    assertThat(put(PdEndpoint.MESSAGES, event)).isNull();
  }

  @ParameterizedTest
  @ValueSource(strings = {"{}", "{\"usage\":null}", "{\"usage\":7}", "[]", "{\"usage\":{"})
  void withoutUsageNothingChanges(String answer) {
    assertThat(put(answer)).isNull();
    assertThat(put(PdEndpoint.MESSAGES, answer)).isNull();
  }

  @Test
  void generateKeepsTheCountInMetaInfo() {
    assertThat(put("{\"text\":\"a\",\"meta_info\":{\"prompt_tokens\":9,\"cached_tokens\":0}}"))
        .isEqualTo("{\"text\":\"a\",\"meta_info\":{\"prompt_tokens\":9,\"cached_tokens\":768}}");
  }
}
