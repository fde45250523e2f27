package io.pointsman.plane.haproxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.ProtocolException;
import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SpoeValuesTest {
  private static byte[] written(SpoeWriter writer) throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    writer.flushTo(out);
    return out.toByteArray();
  }

  private static SpoeReader reader(String hex) {
    byte[] bytes = HexFormat.of().parseHex(hex);
    return new SpoeReader(bytes, 0, bytes.length);
  }

  /** The limits of each length, as in HAProxy's own documentation. */
  @ParameterizedTest
  @CsvSource({
    "0, 00",
    "239, ef",
    "240, f000",
    "2287, ff7f",
    "2288, f08000",
    "264431, ffff7f",
    "264432, f0808000",
    "33818863, ffffff7f",
    "33818864, f080808000"
  })
  void numbersHaveTheLengthOfTheSpecification(long number, String hex) throws IOException {
    assertThat(HexFormat.of().formatHex(written(new SpoeWriter().number(number)))).isEqualTo(hex);
    assertThat(reader(hex).number()).isEqualTo(number);
  }

  @Test
  void numbersOfAnySizeAreReadBack() throws IOException {
    Random random = new Random(7);
    for (int i = 0; i < 10_000; i++) {
      long number = random.nextLong() >>> random.nextInt(64);
      byte[] bytes = written(new SpoeWriter().number(number));
      assertThat(bytes.length).isLessThanOrEqualTo(10);
      assertThat(new SpoeReader(bytes, 0, bytes.length).number()).isEqualTo(number);
    }
  }

  @Test
  void valuesAreReadByTheirType() throws IOException {
    SpoeReader reader =
        reader("00" + "11" + "01" + "0305" + "0802c3a4" + "090201ff" + "067f000001");

    assertThat(reader.value()).isNull();
    assertThat(reader.value()).isEqualTo(true);
    assertThat(reader.value()).isEqualTo(false);
    assertThat(reader.value()).isEqualTo(5L);
    assertThat(reader.value()).isEqualTo("\u00e4");
    assertThat(reader.value()).isEqualTo(new byte[] {1, -1});
    assertThat(reader.value()).isEqualTo(new byte[] {127, 0, 0, 1});
    assertThat(reader.hasMore()).isFalse();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "0a",
        "03",
        "03f0",
        "0803c3a4",
        "08ffffffffffffffffff7f",
        "03ffffffffffffffffffffff7f",
        "067f0000"
      })
  void truncatedOrInvalidValuesAreRefused(String hex) {
    assertThatThrownBy(() -> reader(hex).value()).isInstanceOf(ProtocolException.class);
  }
}
