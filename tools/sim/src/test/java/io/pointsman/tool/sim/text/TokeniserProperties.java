package io.pointsman.tool.sim.text;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.AlphaChars;
import net.jqwik.api.constraints.Chars;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.NotEmpty;

class TokeniserProperties {
  @Property
  void decodingReturnsTheText(@ForAll String text) {
    assertThat(Tokeniser.decode(Tokeniser.encode(text))).isEqualTo(text);
  }

  @Property
  void decodingReturnsWordsAndPunctuation(
      @ForAll @AlphaChars @Chars({' ', '_', '7', '.', '\n', 'é'}) String text) {
    assertThat(Tokeniser.decode(Tokeniser.encode(text))).isEqualTo(text);
  }

  @Property
  void idsArePositive(@ForAll String text) {
    assertThat(Arrays.stream(Tokeniser.encode(text)).allMatch(id -> id > 0)).isTrue();
  }

  @Property
  void textsThatDifferHaveDifferentIds(@ForAll @NotEmpty String text) {
    assertThat(Tokeniser.encode(text + "x")).isNotEqualTo(Tokeniser.encode(text));
  }

  @Property
  void answerTokenisesToItsOwnIds(@ForAll long seed, @ForAll @IntRange(min = 1, max = 50) int n) {
    InventedText answer = new InventedText(seed);

    assertThat(Tokeniser.encode(answer.firstWords(n))).isEqualTo(answer.ids(n));
  }
}
