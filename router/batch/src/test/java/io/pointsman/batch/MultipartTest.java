package io.pointsman.batch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.batch.Multipart.MalformedException;
import io.pointsman.batch.Multipart.Part;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@SuppressWarnings("StringConcatToTextBlock") // line ends matter
class MultipartTest {
  private static final String TYPE = "multipart/form-data; boundary=\"b\"";
  private static final String FORM =
      "--b\r\n"
          + "Content-Disposition: form-data; name=\"purpose\"\r\n\r\n"
          + "batch\r\n"
          + "--b\r\n"
          + "Content-Disposition: form-data; name=\"file\"; filename=\"a \\\"b\\\".jsonl\"\r\n"
          + "Content-Type: application/octet-stream\r\n\r\n"
          + "%s\r\n"
          + "--b--";

  /** A stream that returns at most {@code most} bytes for each read. */
  private static InputStream slow(String text, int most) {
    return new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)) {
      @Override
      public synchronized int read(byte[] into, int offset, int length) {
        return super.read(into, offset, Math.min(most, length));
      }
    };
  }

  private static List<String> parts(Multipart form) throws IOException {
    List<String> parts = new ArrayList<>();
    for (Part part = form.next(); part != null; part = form.next()) {
      ByteArrayOutputStream content = new ByteArrayOutputStream();
      byte[] piece = new byte[7];
      for (int count = form.read(piece); count >= 0; count = form.read(piece)) {
        content.write(piece, 0, count);
      }
      parts.add(part.name() + "|" + part.file() + "|" + content.toString(StandardCharsets.UTF_8));
    }
    return parts;
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5, 64, 1_000_000})
  void aFormIsReadInPiecesOfAnySize(int most) throws Exception {
    String content = "x\r\n--a\r\n-\r\n--\r\r\n" + "y".repeat(200_000) + "\r\n";
    Multipart form = new Multipart(slow(FORM.formatted(content), most), TYPE);

    assertThat(parts(form)).containsExactly("purpose|null|batch", "file|a \"b\".jsonl|" + content);
  }

  @Test
  void anEmptyFileAndATextAreRead() throws Exception {
    Multipart form = new Multipart(slow("before\r\n" + FORM.formatted("") + "\r\nafter", 9), TYPE);

    assertThat(form.next()).isEqualTo(new Part("purpose", null));
    assertThat(form.text(100)).isEqualTo("batch");
    assertThat(form.next()).isEqualTo(new Part("file", "a \"b\".jsonl"));
    assertThat(form.read(new byte[9])).isEqualTo(-1);
    assertThat(form.next()).isNull();
  }

  @Test
  void aMalformedFormIsRefused() {
    assertThatThrownBy(() -> new Multipart(slow("", 1), "application/json"))
        .isInstanceOf(MalformedException.class)
        .hasMessageContaining("expected: multipart/form-data");
    assertThatThrownBy(() -> new Multipart(slow("", 1), "multipart/form-data"))
        .isInstanceOf(MalformedException.class);
    for (String text :
        List.of(
            "",
            "--b\r\n",
            "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nends",
            "--b\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--",
            "--b\r\n" + "x: y\r\n".repeat(100) + "\r\n\r\n--b--",
            "--b\r\nx: " + "y".repeat(20_000) + "\r\n\r\n\r\n--b--")) {
      assertThatThrownBy(() -> parts(new Multipart(slow(text, 100), TYPE)))
          .as(text)
          .isInstanceOf(MalformedException.class)
          .hasMessageStartingWith("form data: ");
    }
  }

  @Test
  void aTextHasALimit() throws Exception {
    Multipart form = new Multipart(slow(FORM.formatted(""), 100), TYPE);
    form.next();

    assertThatThrownBy(() -> form.text(4)).hasMessageContaining("more than 4 bytes");
  }
}
