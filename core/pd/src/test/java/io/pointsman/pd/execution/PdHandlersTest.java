package io.pointsman.pd.execution;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.request.AffinitySettings;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.RequestHeaders;
import io.pointsman.request.RequestReader;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class PdHandlersTest {
  private static final RequestHeaders NO_HEADERS =
      new RequestHeaders() {
        @Override
        public @Nullable String first(String lowerCaseName) {
          return null;
        }

        @Override
        public void forEach(BiConsumer<? super CharSequence, ? super CharSequence> each) {}
      };

  private static RequestFacts read(Endpoint endpoint, String body) {
    byte[] bytes = body.getBytes(UTF_8);
    return new RequestReader(AffinitySettings.DEFAULT)
        .read(endpoint, NO_HEADERS, bytes, 0, bytes.length, false);
  }

  @Test
  void onlyEditableBodiesAreRead() {
    String body = "{\"model\":\"m\",\"messages\":[],\"input\":\"a\"}";
    assertThat(PdHandlers.mayBeSplit(read(Endpoint.CHAT_COMPLETIONS, body))).isTrue();
    assertThat(PdHandlers.mayBeSplit(read(Endpoint.RESPONSES, body))).isTrue();
    assertThat(PdHandlers.mayBeSplit(read(Endpoint.EMBEDDINGS, body))).isFalse();
    assertThat(PdHandlers.mayBeSplit(read(Endpoint.TRANSPARENT, body))).isFalse();
    assertThat(PdHandlers.mayBeSplit(read(Endpoint.CHAT_COMPLETIONS, "[]"))).isFalse();
    assertThat(PdHandlers.mayBeSplit(read(Endpoint.CHAT_COMPLETIONS, ""))).isFalse();
  }
}
