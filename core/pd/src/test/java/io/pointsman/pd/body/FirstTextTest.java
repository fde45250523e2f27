package io.pointsman.pd.body;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.request.splice.RawJson;
import io.pointsman.request.splice.Splice;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FirstTextTest {
  private static @Nullable String put(String json, String text) {
    byte[] bytes = ("#" + json + "#").getBytes(StandardCharsets.UTF_8);
    Splice splice = new FirstText().putBefore(bytes, 1, bytes.length - 2, RawJson.of(text));
    return splice == null ? null : new String(splice.toBytes(bytes, 1), StandardCharsets.UTF_8);
  }

  @Test
  void theFirstTokenPrecedesTheTextOfTheFirstChoice() {
    assertThat(
            put(
                "{\"id\":1, \"choices\" : [ {\"text\": \"\\n b\",\"i\":0},{\"text\":\"c\"}]}",
                "\" \\\"a\""))
        .isEqualTo(
            "{\"id\":1, \"choices\" : [ {\"text\": \" \\\"a\\n b\",\"i\":0},{\"text\":\"c\"}]}");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{}",
        "[]",
        "{\"choices\":[]}",
        "{\"choices\":[{\"text\":null}]}",
        "{\"choices\":[{\"delta\":{}}]}",
        "{\"choices\":{\"text\":\"a\"}}",
        "{\"choices\":[1]}"
      })
  void objectsWithoutTextStayUnchanged(String json) {
    assertThat(put(json, "\"a\"")).isNull();
  }
}
