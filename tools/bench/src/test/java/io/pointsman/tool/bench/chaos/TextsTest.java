package io.pointsman.tool.bench.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Checks of response texts against the expected texts. */
class TextsTest {
  private final Texts texts = new Texts(List.of("one two three four", "five six seven eight"));

  private static String events(String... words) {
    return Stream.of(words)
        .map(
            word ->
                "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" + word + "\"}}]}\n\n")
        .collect(Collectors.joining());
  }

  @Test
  void anAnswerMustHaveExactlyTheRequestedWords() {
    assertThat(texts.are("one two three", 0, 3)).isTrue();
    assertThat(texts.are("five", 1, 1)).isTrue();
    assertThat(texts.are("one two", 0, 3)).isFalse();
    assertThat(texts.are("one two three four", 0, 3)).isFalse();
    assertThat(texts.are("one two three", 1, 3)).isFalse();
  }

  @Test
  void missingRepeatedAndReorderedEventsAreDetected() {
    assertThat(texts.are(Texts.streamed(events("one", " two", " three")), 0, 3)).isTrue();
    assertThat(texts.are(Texts.streamed(events("one", " three")), 0, 3)).isFalse();
    assertThat(texts.are(Texts.streamed(events("one", " two", " two", " three")), 0, 3)).isFalse();
    assertThat(texts.are(Texts.streamed(events("one", " three", " two")), 0, 3)).isFalse();
    assertThat(texts.begin(Texts.streamed(events("one", " two", "one")), 0, 3)).isFalse();
  }

  @Test
  void aCutStreamMustBeginLikeTheExpectedText() {
    String half = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" thr\n\n";
    assertThat(texts.begin(Texts.streamed(events("one", " two") + half), 0, 3)).isTrue();
    assertThat(texts.begin("", 0, 3)).isTrue();
    assertThat(texts.begin("two", 0, 3)).isFalse();
  }

  @Test
  void theTextOfAWholeAnswerIsExtracted() {
    assertThat(Texts.text("{\"choices\":[{\"index\":0,\"text\":\"one two\",\"x\":null}]}"))
        .isEqualTo("one two");
    assertThat(Texts.text("{}")).isEmpty();
  }
}
