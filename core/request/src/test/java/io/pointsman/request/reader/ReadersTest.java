package io.pointsman.request.reader;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.policy.WantedFields;
import io.pointsman.request.AffinitySettings;
import io.pointsman.request.BodyVerdict;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.RequestHeaders;
import io.pointsman.request.TestHeaders;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.zip.GZIPOutputStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Compressed bodies of requests that another proxy forwards. */
class ReadersTest {
  private static final TestHeaders GZIP = TestHeaders.of("content-encoding", "gzip");
  private static final String CHAT =
      "{\"model\":\"m\",\"user\":\"u\",\"messages\":[{\"role\":\"user\",\"content\":\""
          + "The quick brown fox. ".repeat(100)
          + "\"}]}";

  private final Readers readers = new Readers(AffinitySettings.DEFAULT);

  private static byte[] gzip(String text) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(bytes)) {
      out.write(text.getBytes(UTF_8));
    }
    return bytes.toByteArray();
  }

  private RequestFacts read(TestHeaders headers, byte[] body, int length) {
    return readers.read(Endpoint.CHAT_COMPLETIONS, headers, body, 0, length, false);
  }

  @Test
  void aCompressedBodyHasTheFactsOfThePlainBody() throws IOException {
    byte[] plain = CHAT.getBytes(UTF_8);
    byte[] packed = gzip(CHAT);

    assertThat(read(GZIP, packed, packed.length))
        .usingRecursiveComparison()
        .isEqualTo(read(TestHeaders.NONE, plain, plain.length));
  }

  @Test
  void theFirstPartOfACompressedBodyIsReadAsCut() throws IOException {
    byte[] packed = gzip(CHAT);
    RequestFacts facts = read(GZIP, packed, packed.length - 8);

    assertThat(facts.body().kind()).isEqualTo(BodyVerdict.Kind.TRUNCATED);
    assertThat(facts.model()).isEqualTo("m");
    assertThat(facts.prefix().count()).isPositive();
  }

  /** A request that began before a change gives its reader back after it. */
  @Test
  void aReaderOfEarlierSettingsIsNotLentAgain() {
    AffinitySettings[] present = {AffinitySettings.DEFAULT};
    Readers changing = new Readers(() -> present[0], () -> WantedFields.NONE);
    byte[] body = CHAT.getBytes(UTF_8);
    RequestHeaders changes =
        new RequestHeaders() {
          @Override
          public @Nullable String first(String name) {
            present[0] = new AffinitySettings("x-other", List.of(), List.of(), "");
            return null;
          }

          @Override
          public void forEach(BiConsumer<? super CharSequence, ? super CharSequence> each) {}
        };
    changing.read(Endpoint.CHAT_COMPLETIONS, changes, body, 0, body.length, false);

    for (int i = 0; i < 3; i++) {
      RequestFacts facts =
          changing.read(
              Endpoint.CHAT_COMPLETIONS,
              TestHeaders.of("x-other", "s1"),
              body,
              0,
              body.length,
              false);
      assertThat(facts.affinity()).isNotNull();
    }
  }

  @Test
  void anUnreadableBodyIsNotRead() {
    byte[] plain = CHAT.getBytes(UTF_8);
    RequestFacts facts = read(GZIP, plain, plain.length);

    assertThat(facts.body().kind()).isEqualTo(BodyVerdict.Kind.OPAQUE);
    assertThat(facts.model()).isNull();
  }
}
