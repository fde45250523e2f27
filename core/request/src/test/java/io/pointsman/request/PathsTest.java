package io.pointsman.request;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PathsTest {
  @ParameterizedTest
  @CsvSource({
    "/v1/models, /v1/models",
    "/v1/models/, /v1/models",
    "/v1/models//, /v1/models",
    "//v1///models, /v1/models",
    "/v1//models/?a=//b/, /v1/models?a=//b/",
    "/v1/models?a=//b/, /v1/models?a=//b/",
    "/, /",
    "//, /",
    "/?x=/, /?x=/",
    "*, *",
    "'', ''",
  })
  void slashesThatDoNotCountAreRemoved(String given, String plain) {
    assertThat(Paths.plain(given)).isEqualTo(plain);
  }
}
