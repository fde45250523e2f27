package io.pointsman.request;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The response that a request continues or starts. */
class PreviousResponseTest {
  private static RequestFacts read(String id) {
    String body = "{\"model\":\"m\",\"previous_response_id\":\"" + id + "\"}";
    return Reading.read(Endpoint.RESPONSES, body);
  }

  /** An engine reads all of it, so a part of it would be another id. */
  @ParameterizedTest
  @ValueSource(ints = {170, 171, 1024, 1025, 5000})
  void itIsNotCut(int length) {
    assertThat(read("a".repeat(length)).responseId()).isEqualTo("a".repeat(length));
    assertThat(read("\\u0061".repeat(length)).responseId()).isEqualTo("a".repeat(length));
  }

  @ParameterizedTest
  @CsvSource({"true, true", "false, false", "null, false", "1, true", "'\"true\"', true"})
  void itMayBeComputedInTheBackground(String value, boolean background) {
    String body = "{\"model\":\"m\",\"background\":" + value + "}";
    assertThat(Reading.read(Endpoint.RESPONSES, body).background()).isEqualTo(background);
    assertThat(Reading.read(Endpoint.RESPONSES, "{\"model\":\"m\"}").background()).isFalse();
  }

  @Test
  void anEmptyOneIsNone() {
    assertThat(read("").responseId()).isNull();
  }
}
