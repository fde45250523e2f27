package io.pointsman.request.coding;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.airlift.compress.v3.zstd.ZstdOutputStream;
import io.pointsman.request.TestHeaders;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.Base64;
import java.util.Random;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class DecodingTest {
  private static final String TEXT =
      "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hello hello hello"
          + " hello\"}]}";

  /** {@link #TEXT} by Node's zlib. */
  private static final String BROTLI =
      "G00AcJwHdgyZBlpYwOneapE9tq3VJtc6LF19U6TsDRxyInBsSQLNYww24DDyxmXhSWqQ4WX5Q2UR4cFNfAc=";

  /** 1 MiB of spaces by Node's zlib. */
  private static final String BROTLI_BOMB = "W///j18CJB4LBHLvHwA=";

  /**
   * {@link #TEXT} by the program zstd, which writes no size, with windows of 2, 8 and 128 MiB. RFC
   * 9659 permits 8 MiB.
   */
  private static final String ZSTD =
      "KLUv/QRYLQIA1AN7Im1vZGVsIjoibSIsIm1lc3NhZ2VzIjpbeyJyb2xlIjoidXNlciIsImNvbnRlbnQiOiJoZWxsbyAifV19AQCZuUABsP4hbQ==";

  private static final String ZSTD_19 =
      "KLUv/QRo1QEA0kMMEbDrp10/Eca2NPakoIEmmHMCbzwDzTwymqkzpcXB69uMfuqyE+j9IbtPDk5G540muwEAmblAAbD+IW0=";

  private static final String ZSTD_22 =
      "KLUv/QSI1QEA0kMMEbDrp10/Eca2NPakoIEmmHMCbzwDzTwymqkzpcXB69uMfuqyE+j9IbtPDk5G540muwEAmblAAbD+IW0=";

  private final ByteArrayOutputStream out = new ByteArrayOutputStream();

  private Decoding.Result decode(ContentCoding coding, byte[] coded, long most) {
    byte[] within = new byte[coded.length + 7];
    System.arraycopy(coded, 0, within, 3, coded.length);
    return Decoding.decode(
        coding,
        within,
        3,
        coded.length,
        most,
        (part, size) -> {
          out.write(part, 0, size);
          return true;
        });
  }

  private static byte[] base64(String text) {
    return Base64.getDecoder().decode(text);
  }

  private static byte[] encode(ContentCoding coding, byte[] plain) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (OutputStream to =
        switch (coding) {
          case GZIP -> new GZIPOutputStream(bytes);
          case DEFLATE -> new DeflaterOutputStream(bytes);
          case ZSTD -> new ZstdOutputStream(bytes);
          case BROTLI -> throw new IllegalArgumentException("no encoder");
        }) {
      to.write(plain);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  private static byte[] coded(ContentCoding coding) {
    return coding == ContentCoding.BROTLI ? base64(BROTLI) : encode(coding, TEXT.getBytes(UTF_8));
  }

  private static byte[] bomb(ContentCoding coding) {
    byte[] plain = new byte[1 << 20];
    Arrays.fill(plain, (byte) ' ');
    return coding == ContentCoding.BROTLI ? base64(BROTLI_BOMB) : encode(coding, plain);
  }

  @ParameterizedTest
  @EnumSource
  void bodiesAreDecoded(ContentCoding coding) {
    assertThat(decode(coding, coded(coding), TEXT.length())).isEqualTo(Decoding.Result.COMPLETE);
    assertThat(out.toString(UTF_8)).isEqualTo(TEXT);
  }

  @Test
  void framesOfOtherProgramsAreDecoded() {
    assertThat(decode(ContentCoding.ZSTD, base64(ZSTD), 100)).isEqualTo(Decoding.Result.COMPLETE);
    assertThat(out.toString(UTF_8)).isEqualTo(TEXT);
    assertThat(decode(ContentCoding.ZSTD, base64(ZSTD_19), 100))
        .isEqualTo(Decoding.Result.COMPLETE);
    assertThat(out.toString(UTF_8)).isEqualTo(TEXT + TEXT);
    assertThat(decode(ContentCoding.ZSTD, base64(ZSTD_22), 100))
        .isEqualTo(Decoding.Result.MALFORMED);
  }

  @Test
  void deflateWithoutTheHeaderOfZlibIsDecoded() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    Deflater raw = new Deflater(Deflater.BEST_COMPRESSION, true);
    try (OutputStream to = new DeflaterOutputStream(bytes, raw)) {
      to.write(TEXT.getBytes(UTF_8));
    }
    raw.end();

    assertThat(decode(ContentCoding.DEFLATE, bytes.toByteArray(), 100))
        .isEqualTo(Decoding.Result.COMPLETE);
    assertThat(out.toString(UTF_8)).isEqualTo(TEXT);
  }

  @ParameterizedTest
  @EnumSource
  void largeBodiesAreDecodedCompletely(ContentCoding coding) {
    byte[] bomb = bomb(coding);

    assertThat(decode(coding, bomb, 1 << 20)).isEqualTo(Decoding.Result.COMPLETE);
    assertThat(out.size()).isEqualTo(1 << 20);
    assertThat(bomb.length).isLessThan(1 << 13);
  }

  @ParameterizedTest
  @EnumSource
  void decodingEndsAtTheLimit(ContentCoding coding) {
    assertThat(decode(coding, bomb(coding), (1 << 20) - 1)).isEqualTo(Decoding.Result.TOO_LARGE);
    assertThat(out.size()).isLessThan(1 << 20);
    out.reset();
    assertThat(decode(coding, bomb(coding), 50_000)).isEqualTo(Decoding.Result.TOO_LARGE);
    assertThat(out.size()).isLessThanOrEqualTo(50_000);
  }

  @ParameterizedTest
  @EnumSource
  void everyPartOfABodyIsMalformed(ContentCoding coding) {
    byte[] whole = coded(coding);
    for (int length = 0; length < whole.length - 1; length++) {
      byte[] part = Arrays.copyOf(whole, length);
      out.reset();
      assertThat(decode(coding, part, 1000)).as(length + " bytes").isNotNull();
      assertThat(TEXT).startsWith(out.toString(UTF_8));
      assertThat(decode(coding, part, 1000))
          .as(length + " bytes")
          .isEqualTo(Decoding.Result.MALFORMED);
    }
  }

  /** The checks of a coding find some changes. Each must end the decoding within its limit. */
  @ParameterizedTest
  @EnumSource
  void changedBytesEndWithAResult(ContentCoding coding) {
    byte[] whole = coded(coding);
    Random random = new Random(1);
    int malformed = 0;
    for (int round = 0; round < 3000; round++) {
      byte[] changed = whole.clone();
      for (int i = random.nextInt(4); i >= 0; i--) {
        changed[random.nextInt(changed.length)] = (byte) random.nextInt();
      }
      out.reset();
      Decoding.Result result = decode(coding, changed, 100_000);
      malformed += result == Decoding.Result.MALFORMED ? 1 : 0;
      assertThat(out.size()).isLessThanOrEqualTo(100_000);
    }
    assertThat(malformed).isPositive();
  }

  @Test
  void receiverCanEndTheDecoding() {
    byte[] bomb = bomb(ContentCoding.GZIP);
    assertThat(
            Decoding.decode(
                ContentCoding.GZIP, bomb, 0, bomb.length, 1 << 21, (part, size) -> false))
        .isEqualTo(Decoding.Result.REFUSED);
  }

  @ParameterizedTest
  @CsvSource({
    "gzip, GZIP",
    "X-GZIP, GZIP",
    "deflate, DEFLATE",
    "' ZSTD ', ZSTD",
    "br, BROTLI",
    "'identity, gzip', GZIP",
    "compress, ",
    "'gzip, br', ",
  })
  void codingIsNamedByTheHeader(String value, ContentCoding coding) {
    BodyCoding named = BodyCoding.of(TestHeaders.of("Content-Encoding", value));

    assertThat(named.known()).isEqualTo(coding);
    assertThat(named.present()).isTrue();
  }

  @Test
  void laterLinesOfTheHeaderCount() {
    assertThat(
            BodyCoding.of(
                    TestHeaders.of("Content-Encoding", "identity", "content-encoding", "zstd"))
                .known())
        .isEqualTo(ContentCoding.ZSTD);
    assertThat(
            BodyCoding.of(TestHeaders.of("Content-Encoding", "gzip", "content-encoding", "zstd"))
                .named())
        .isEqualTo("gzip, zstd");
  }

  @ParameterizedTest
  @CsvSource({"''", "identity", "','"})
  void noCodingIsNone(String value) {
    assertThat(BodyCoding.of(TestHeaders.of("content-encoding", value))).isEqualTo(BodyCoding.NONE);
    assertThat(BodyCoding.of(TestHeaders.NONE)).isEqualTo(BodyCoding.NONE);
  }
}
