package io.pointsman.control.peers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BootstrapAnswerTest {
  private static List<String> read(String json) throws IOException {
    return BootstrapAnswer.engineIds(json.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void idsAreOrderedByRankDespiteOrderAndOtherMembers() throws IOException {
    assertThat(
            read(
                "{\"1\":{\"x\":[{\"engine_id\":\"no\"}],\"engine_id\":\"b\"},\"version\":[1,{}],"
                    + "\"0\":{\"engine_id\":\"a\",\"addr\":{\"engine_id\":\"no\"}}}"))
        .containsExactly("a", "b");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "[]",
        "{}",
        "{\"0\":{}}",
        "{\"0\":{\"engine_id\":7}}",
        "{\"0\":{\"engine_id\":\"\"}}",
        "{\"0\":\"a\"}",
        "{\"1\":{\"engine_id\":\"b\"}}",
        "{\"0\":{\"engine_id\":\"a\"},\"2\":{\"engine_id\":\"c\"}}",
        "{\"0\":{\"engine_id\":\"a\"}",
        "{\"0\":{\"engine_id\":\"a\"},\"1\":",
      })
  void invalidResponsesAreRefused(String json) {
    assertThatThrownBy(() -> read(json)).isInstanceOf(IOException.class);
  }

  @Test
  void idsAreLimited() {
    assertThatThrownBy(() -> read("{\"0\":{\"engine_id\":\"" + "x".repeat(257) + "\"}}"))
        .isInstanceOf(IOException.class);
  }
}
