package io.pointsman.engine.prefix;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class IndexedLengthsTest {
  private static final int LONGEST = 70_000;

  @Test
  void lengthsGrow() {
    for (int i = 1; IndexedLengths.blocks(i) < LONGEST; i++) {
      assertThat(IndexedLengths.blocks(i)).isGreaterThan(IndexedLengths.blocks(i - 1));
    }
  }

  @Test
  void everyLengthUpToSixteenIsOne() {
    for (int i = 0; i < 16; i++) {
      assertThat(IndexedLengths.blocks(i)).isEqualTo(i + 1);
    }
  }

  @Test
  void everyLengthIsKnownToEightNinths() {
    for (int blocks = 1; blocks < LONGEST; blocks++) {
      int below = IndexedLengths.blocks(IndexedLengths.upTo(blocks) - 1);
      assertThat(below).isLessThanOrEqualTo(blocks).isGreaterThan(blocks * 8 / 9 - 1);
    }
  }

  @Test
  void countAgreesWithTheLengths() {
    int count = 0;
    for (int blocks = 0; blocks < LONGEST; blocks++) {
      if (IndexedLengths.blocks(count) == blocks) {
        count++;
      }
      assertThat(IndexedLengths.upTo(blocks)).isEqualTo(count);
    }
  }

  @Test
  void promptCostsLogarithmOfItsLength() {
    assertThat(IndexedLengths.upTo(256)).isEqualTo(48);
    assertThat(IndexedLengths.upTo(8192)).isEqualTo(88);
  }

  @Test
  void powersOfTwoAreExact() {
    for (int blocks = 1; blocks < LONGEST; blocks *= 2) {
      assertThat(IndexedLengths.blocks(IndexedLengths.upTo(blocks) - 1)).isEqualTo(blocks);
    }
  }
}
