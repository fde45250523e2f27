package io.pointsman.request.reader;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.request.AffinitySettings;
import io.pointsman.request.BodyVerdict;
import io.pointsman.request.Endpoint;
import io.pointsman.request.RequestFacts;
import io.pointsman.request.TestHeaders;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.zip.GZIPOutputStream;
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

  @Test
  void anUnreadableBodyIsNotRead() {
    byte[] plain = CHAT.getBytes(UTF_8);
    RequestFacts facts = read(GZIP, plain, plain.length);

    assertThat(facts.body().kind()).isEqualTo(BodyVerdict.Kind.OPAQUE);
    assertThat(facts.model()).isNull();
  }
}
