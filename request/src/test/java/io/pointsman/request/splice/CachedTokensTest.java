package io.pointsman.request.splice;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CachedTokensTest {
  private final CachedTokens tokens = new CachedTokens();

  private @Nullable String put(String answer) {
    byte[] bytes = ("  " + answer).getBytes(UTF_8);
    return text(tokens.put(bytes, 2, bytes.length - 2, 768), bytes);
  }

  private @Nullable String putInEvent(String event) {
    byte[] bytes = ("  " + event).getBytes(UTF_8);
    return text(tokens.putInEvent(bytes, 2, bytes.length - 2, 768), bytes);
  }

  private static @Nullable String text(@Nullable Splice splice, byte[] bytes) {
    return splice == null ? null : new String(splice.toBytes(bytes, 2), UTF_8);
  }

  @Test
  void theFigureTakesThePlaceOfTheOther() {
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
  void missingDetailsAreMade(String details) {
    assertThat(put("{\"usage\":{\"prompt_tokens\":812" + details + "}}"))
        .isEqualTo(
            "{\"usage\":{\"prompt_tokens\":812,"
                + "\"prompt_tokens_details\":{\"cached_tokens\":768}}}");
  }

  @Test
  void responsesAndMessagesHaveNamesOfTheirOwn() {
    assertThat(put("{\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}"))
        .isEqualTo(
            "{\"usage\":{\"input_tokens\":9,\"output_tokens\":1,"
                + "\"input_tokens_details\":{\"cached_tokens\":768}}}");
    assertThat(put("{\"response\":{\"usage\":{\"input_tokens\":9}}}"))
        .isEqualTo(
            "{\"response\":{\"usage\":{\"input_tokens\":9,"
                + "\"input_tokens_details\":{\"cached_tokens\":768}}}}");
    assertThat(put("{\"usage\":{\"input_tokens\":9,\"cache_read_input_tokens\":null}}"))
        .isEqualTo("{\"usage\":{\"input_tokens\":9,\"cache_read_input_tokens\":768}}");
  }

  @ParameterizedTest
  @ValueSource(strings = {"{}", "{\"usage\":null}", "{\"usage\":7}", "[]", "{\"usage\":{"})
  void withoutUsageNothingChanges(String answer) {
    assertThat(put(answer)).isNull();
    assertThat(putInEvent("data: " + answer + "\n\n")).isNull();
  }

  @Test
  void eventsAreSplicedBetweenTheirLines() {
    assertThat(putInEvent("id: 7\r\ndata:{\"choices\":[],\"usage\":{\"prompt_tokens\":9}}\r\n\r\n"))
        .isEqualTo(
            "id: 7\r\ndata:{\"choices\":[],\"usage\":{\"prompt_tokens\":9,"
                + "\"prompt_tokens_details\":{\"cached_tokens\":768}}}\r\n\r\n");
  }

  @ParameterizedTest
  @ValueSource(strings = {"data: [DONE]\n\n", ": keep-alive\n\n", "data:", "\n", "event: data:{}"})
  void eventsWithoutAnObjectAreLeftAlone(String event) {
    assertThat(putInEvent(event)).isNull();
  }

  @Test
  void generateHasAPlaceOfItsOwn() {
    assertThat(put("{\"text\":\"a\",\"meta_info\":{\"prompt_tokens\":9,\"cached_tokens\":0}}"))
        .isEqualTo("{\"text\":\"a\",\"meta_info\":{\"prompt_tokens\":9,\"cached_tokens\":768}}");
  }
}
