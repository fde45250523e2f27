package io.pointsman.request;

import static org.assertj.core.api.Assertions.assertThat;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class QueryModelTest {
  @ParameterizedTest
  @CsvSource({
    "/v1/realtime, ",
    "/v1/realtime?, ",
    "/v1/realtime?model, ",
    "/v1/realtime?model=, ",
    "/v1/realtime?models=a, ",
    "/v1/realtime?xmodel=a, ",
    "/v1/realtime?model=a, a",
    "/v1/realtime?x=1&model=a&y=2, a",
    "/v1/realtime?model=a%2Fb%20c, a/b c",
    "/v1/realtime?model=a+b, a b",
    "/v1/realtime?model=%C3%A9, \u00e9",
    "/v1/realtime?model=a%2, a%2",
    "/v1/realtime?model=%zz, %zz",
    "/v1/realtime?model=a&model=b, b",
    "/v1/realtime?model=a?model=b, a?model=b",
    "/v1/realtime?mod%65l=a, a",
    "/v1/realtime?model=a&mod%65l=b, b",
  })
  void theLastParameterNamesTheModel(String target, @Nullable String expected) {
    assertThat(QueryModel.of(target).model()).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource({
    "/v1/realtime?model=a, /v1/realtime?model=b%2Fc%20d",
    "/v1/realtime?x=1&mod%65l=a&y=%41, /v1/realtime?x=1&model=b%2Fc%20d&y=%41",
    "/v1/realtime?model=a&model=a&, /v1/realtime?model=a&model=b%2Fc%20d&",
    "/v1/realtime?models=a, /v1/realtime?models=a",
    "/v1/model=a, /v1/model=a",
  })
  void anotherModelTakesThePlaceOfTheLast(String target, String expected) {
    assertThat(QueryModel.renamed(target, "b/c d")).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource({
    "/v1/realtime?model=a, ",
    "/v1/realtime?model=a&model=a, ",
    "/v1/realtime?model=a&model=b, a",
    "/v1/realtime?model=a&Model=b, b",
    "/v1/realtime?mode%6C=a&mod%65l=b, a",
    "/v1/realtime?model=a&m%4Fdel=b, b",
    "/v1/realtime?model=a&x=1;model=b, b",
    "/v1/realtime?x;model=b, b",
    "/v1/realtime?model=a;model=b, a b",
  })
  void furtherModelsAreThoseThatOtherServersRead(String target, @Nullable String expected) {
    assertThat(QueryModel.of(target).further())
        .containsExactlyInAnyOrder(expected == null ? new String[0] : expected.split(" ", -1));
  }
}
