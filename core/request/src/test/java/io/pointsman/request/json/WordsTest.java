package io.pointsman.request.json;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class WordsTest {
  @Test
  void numbersOfOneToSevenDigitsAreRead() {
    for (long number = 0; number < 10_000_000; number = number * 9 / 8 + 1) {
      byte[] bytes = (number + ", 12345678").getBytes(US_ASCII);
      int digits = Words.digits(bytes, 0, bytes.length);
      assertThat(digits).isEqualTo(Long.toString(number).length());
      assertThat(Words.number(bytes, 0, digits)).isEqualTo(number);
    }
  }

  @Test
  void everyOtherByteEndsANumber() {
    for (int b = 0; b < 256; b++) {
      byte[] bytes = "12x99999".getBytes(US_ASCII);
      bytes[2] = (byte) b;
      boolean digit = b >= '0' && b <= '9';
      assertThat(Words.digits(bytes, 0, bytes.length)).isEqualTo(digit ? 0 : 2);
    }
    assertThat(Words.digits("1234567".getBytes(US_ASCII), 0, 7)).isZero();
  }

  @Test
  void shortStringsEndAtTheirQuote() {
    for (int length = 0; length < 80; length++) {
      byte[] bytes = ("x".repeat(length) + "\"\\\"" + "y".repeat(80)).getBytes(US_ASCII);
      assertThat(Words.plainEnd(bytes, 0, bytes.length)).isEqualTo(length < 64 ? length : -1);
      assertThat(Words.plainEnd(bytes, 0, length)).isEqualTo(-1);
    }
    byte[] escaped = "abc\\\"defghijklmnop\"qrstuvw".getBytes(US_ASCII);
    assertThat(Words.plainEnd(escaped, 0, escaped.length)).isEqualTo(-1);
  }
}
