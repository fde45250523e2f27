package io.pointsman.engine.env;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Text from outside in logs. */
class LogTextTest {
  @Test
  void lineBreaksAndOtherInvisibleCharactersAreEscaped() {
    assertThat(LogText.of("a\r\nWARN b\u001b[2J\u2028\u202e\ud800"))
        .isEqualTo("a\\u000d\\u000aWARN b\\u001b[2J\\u2028\\u202e\\ud800");
  }

  @Test
  void visibleTextOfAnyLanguageIsUnchanged() {
    assertThat(LogText.of("\u901a\u4e49-\u5343\u95ee/7b \ud83d\ude00"))
        .isEqualTo("\u901a\u4e49-\u5343\u95ee/7b \ud83d\ude00");
  }

  @Test
  void longTextIsCut() {
    assertThat(LogText.of("x".repeat(3_000_000))).hasSize(203).endsWith("...");
  }

  @Test
  void manyNamesAreCounted() {
    List<String> names = new ArrayList<>();
    for (int i = 10; i < 40; i++) {
      names.add("m" + i + "\n");
    }
    assertThat(LogText.ofNames(names))
        .startsWith("[m10\\u000a, m11")
        .endsWith("m29\\u000a, and 10 more]")
        .doesNotContain("\n");
    assertThat(LogText.ofNames(List.of("b", "a"))).isEqualTo("[a, b]");
  }
}
