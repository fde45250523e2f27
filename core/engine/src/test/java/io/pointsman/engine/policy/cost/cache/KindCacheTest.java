package io.pointsman.engine.policy.cost.cache;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class KindCacheTest {
  private final KindCache kind = new KindCache();

  @Test
  void enginesOfWhichNoneFindsASharedPromptSeemToHaveNoPrefixCache() {
    for (int i = 0; i < 11; i++) {
      kind.found(false);
    }
    assertThat(kind.keepsNothing()).isFalse();
    kind.found(true);
    kind.found(false);
    assertThat(kind.keepsNothing()).as("one has found a prompt").isFalse();
    for (int i = 0; i < 11; i++) {
      kind.found(false);
    }
    assertThat(kind.keepsNothing()).isTrue();

    kind.found(true);
    assertThat(kind.keepsNothing()).isFalse();
  }

  @Test
  void tokensThatEnginesComputeAgainAreLearned() {
    assertThat(kind.rounding()).isZero();
    for (int i = 0; i < 1000; i++) {
      kind.rounded(64);
    }
    assertThat(kind.rounding()).isBetween(50.0, 64.0);
    kind.rounded(4000);
    assertThat(kind.rounding()).as("an evicted prompt is no rounding").isBetween(50.0, 64.0);
  }

  @Test
  void kindThatFollowsAnotherKeepsItsRounding() {
    for (int i = 0; i < 1000; i++) {
      kind.rounded(64);
    }
    KindCache next = new KindCache();
    next.beginFrom(kind);

    assertThat(next.rounding()).isEqualTo(kind.rounding()).isPositive();
  }
}
