package io.pointsman.request;

import static io.pointsman.request.Reading.read;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Ray Serve's header for models that workers load on demand. */
class MultiplexedModelTest {
  private static final String CHAT = "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";

  @ParameterizedTest
  @CsvSource(
      nullValues = "null",
      value = {
        "base, base:a, base:a",
        "base, '', base",
        "base, null, base",
        "base, other:a, base",
        "base, basement:a, base",
        "base:b, base:a, base:b",
        "null, base:a, base:a",
        "null, null, null"
      })
  void theHeaderNamesTheAdapterOfTheBodysModel(String model, String header, String asked) {
    String body = model == null ? "{" + CHAT : "{\"model\":\"" + model + "\"," + CHAT;
    TestHeaders headers =
        header == null ? TestHeaders.NONE : TestHeaders.of("Serve_Multiplexed_Model_Id", header);

    assertThat(read(Endpoint.CHAT_COMPLETIONS, headers, body).model()).isEqualTo(asked);
  }
}
