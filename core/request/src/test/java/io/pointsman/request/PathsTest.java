package io.pointsman.request;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

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

  @ParameterizedTest
  @CsvSource({
    "/v1/models, /v1/models",
    "/v1/Models, /v1/Models",
    "/%73leep, /sleep",
    "/slee%70?level=%31, /sleep?level=%31",
    "/%2573leep, /%73leep",
    "/%zz%7, /%zz%7",
    "//sleep/, /sleep",
    "/%2Fsleep%2f, /sleep",
    "/./v1/../sleep, /sleep",
    "/../../sleep, /sleep",
    "/%2e%2E/sleep, /sleep",
    "/sleep;a=1/;b, /sleep",
    "/..;x/sleep, /sleep",
    "/v1\\sleep, /v1/sleep",
    "/v1%5Csleep, /v1/sleep",
    "/a/..?x=/../, /?x=/../",
    "/.well-known/x, /.well-known/x",
    "/, /",
    "*, *",
    "'', ''",
  })
  void pathsAreComparedWithoutTheirSpelling(String given, String normal) {
    assertThat(Paths.normal(given)).isEqualTo(normal);
  }

  @ParameterizedTest
  @CsvSource({
    "/%73leep/../x?a=%2F, /sleep/../x",
    "/metrics%2F..%2Fx, /metrics/../x",
    "/%2573leep, /%73leep",
    "/a;b, /a;b",
    "*, *",
  })
  void aLiteralPathKeepsDotSegments(String given, String literal) {
    assertThat(Paths.literal(given)).isEqualTo(literal);
  }

  @ParameterizedTest
  @CsvSource({
    "/sleep%0A, true",
    "/sleep%0a?x, true",
    "/%00, true",
    "/a%1fb, true",
    "/%7F, true",
    "/%7f, true",
    "/sleep?x=%0A, false",
    "/%20%2F%70%80%ff, false",
    "/%0, false",
    "/%, false",
    "/%0g, false",
    "/%250A, false",
    "/a, false",
  })
  void encodedControlCharactersAreFound(String given, boolean hides) {
    assertThat(Paths.hidesControl(given)).isEqualTo(hides);
  }

  @Test
  void aNormalPathIsNotCopied() {
    String uri = "/v1/chat/completions?a=%2F";

    assertThat(Paths.normal(uri)).isSameAs(uri);
  }

  @Test
  void onlyPathsWithoutOtherCharactersAreSent() {
    assertThat(sendable("/v1/responses/resp_1-a.b~c?x=%20\u00e9")).isTrue();
    assertThat(sendable("/v1/responses/a b")).isFalse();
    assertThat(sendable("/v1/responses/a\r\nx")).isFalse();
    assertThat(sendable("/v1/responses/a%20")).isFalse();
    assertThat(sendable("/v1/responses/\u00e9")).isFalse();
  }

  /** Behind a decoded question mark, the rest of the path would become the query string. */
  @ParameterizedTest
  @ValueSource(strings = {"/v1/a%3Fb", "/v1/a%3F%20HTTP/1.1", "/v1/a%3F%23x%ff", "/v1/a%3fb?c=d"})
  void aDecodedQuestionMarkIsNotSent(String uri) {
    assertThat(Paths.sendable(Paths.normal(uri), uri)).isFalse();
  }

  private static boolean sendable(String normal) {
    return Paths.sendable(normal, normal);
  }
}
