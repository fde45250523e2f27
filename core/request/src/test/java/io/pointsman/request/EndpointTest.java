package io.pointsman.request;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.CharBuffer;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class EndpointTest {
  @ParameterizedTest
  @CsvSource({
    "POST, /v1/chat/completions, CHAT_COMPLETIONS",
    "POST, /v1/chat/completions?x=1, CHAT_COMPLETIONS",
    "POST, /v1/completions, COMPLETIONS",
    "POST, /v1/responses, RESPONSES",
    "GET, /v1/responses/resp_1, RESPONSE_GET",
    "DELETE, /v1/responses/resp_1, RESPONSE_DELETE",
    "POST, /v1/responses/resp_1/cancel, RESPONSE_CANCEL",
    "GET, /v1/responses/resp_1/input_items, RESPONSE_INPUT_ITEMS",
    "GET, /v1/responses/resp_1/input?limit=2, RESPONSE_INPUT_ITEMS",
    "POST, /v1/embeddings, EMBEDDINGS",
    "POST, /rerank, RERANK",
    "POST, /v1/rerank, RERANK",
    "POST, /v2/rerank, RERANK",
    "POST, /score, SCORE",
    "POST, /v1/score, SCORE",
    "POST, /pooling, POOLING",
    "POST, /classify, CLASSIFY",
    "POST, /generate, GENERATE",
    "POST, /inference/v1/generate, TOKEN_GENERATE",
    "POST, /tokenize, TOKENIZE",
    "POST, /detokenize, DETOKENIZE",
    "POST, /v1/messages, MESSAGES",
    "POST, /v1/messages/count_tokens, MESSAGES_COUNT_TOKENS",
    "POST, /v1/audio/transcriptions, AUDIO_TRANSCRIPTIONS",
    "POST, /v1/audio/translations, AUDIO_TRANSLATIONS",
    "POST, /v1/audio/speech, AUDIO_SPEECH",
    "POST, /v1/images/generations, IMAGES_GENERATIONS",
    "POST, /v1/images/edits, IMAGES_EDITS",
    "POST, /v1/images/variations, IMAGES_VARIATIONS",
    "GET, /v1/realtime, REALTIME",
    "GET, /v1/realtime?model=m, REALTIME",
    "POST, /v1/realtime, TRANSPARENT",
    "GET, /v1/realtime/, REALTIME",
    "GET, /v1/chat/completions, TRANSPARENT",
    "post, /v1/chat/completions, TRANSPARENT",
    "POST, /v1/chat/completions/, CHAT_COMPLETIONS",
    "POST, //v1//chat/completions//?x=//, CHAT_COMPLETIONS",
    "GET, //v1/responses//resp_1/, RESPONSE_GET",
    "POST, /v1/chat/completions/x, TRANSPARENT",
    "POST, /V1/chat/completions, TRANSPARENT",
    "POST, /v1/responses/, RESPONSES",
    "POST, /v1/responses/resp_1, TRANSPARENT",
    "GET, /v1/responses/resp_1/cancel, TRANSPARENT",
    "GET, /v1/responses/resp_1/input_items/x, TRANSPARENT",
    "GET, /v1/models, TRANSPARENT",
    "GET, /, TRANSPARENT",
    "POST, '', TRANSPARENT",
  })
  void routesByMethodAndPath(String method, String path, Endpoint expected) {
    assertThat(Endpoint.of(method, path)).isEqualTo(expected);
    assertThat(Endpoint.of(method, CharBuffer.wrap(path))).isEqualTo(expected);
  }

  @Test
  void storedResponsesAreNamedByTheirPath() {
    assertThat(Endpoint.RESPONSE_GET.responseId("/v1/responses/resp_1?stream=true"))
        .isEqualTo("resp_1");
    assertThat(Endpoint.RESPONSE_CANCEL.responseId("/v1/responses/resp_2/cancel"))
        .isEqualTo("resp_2");
    assertThat(Endpoint.RESPONSES.responseId("/v1/responses")).isNull();
    assertThat(Endpoint.RESPONSE_GET.responseId("/")).isNull();
  }

  /** By name, so a new route for responses is not forgotten. */
  @ParameterizedTest
  @EnumSource
  void routesOfResponsesUseStoredResponses(Endpoint endpoint) {
    assertThat(endpoint.storedResponses()).isEqualTo(endpoint.name().startsWith("RESPONSE"));
    boolean inPath = endpoint.responseId("/v1/responses/resp_1") != null;
    assertThat(inPath).isEqualTo(endpoint.name().startsWith("RESPONSE_"));
  }

  @Test
  void labelsAreDistinctAndLowerCase() {
    assertThat(Arrays.stream(Endpoint.values()).map(Endpoint::label))
        .doesNotHaveDuplicates()
        .allMatch(label -> label.matches("[a-z_]+"));
  }
}
