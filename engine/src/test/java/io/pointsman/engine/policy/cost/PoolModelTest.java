package io.pointsman.engine.policy.cost;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class PoolModelTest {
  private final PoolModel kind = new PoolModel(CostSettings.DEFAULTS);

  private static void late(PoolModel kind, boolean busy, double millis) {
    for (int i = 0; i < 1000; i++) {
      kind.delayed(busy, millis);
    }
  }

  @Test
  void delaysAreLearnedApartForIdleAndBusyWorkers() {
    assertThat(kind.delay(false)).isZero();
    assertThat(kind.delay(true)).isEqualTo(30);
    late(kind, false, 12);
    late(kind, true, 80);

    assertThat(kind.delay(false)).isBetween(9.0, 12.0);
    assertThat(kind.delay(true)).isBetween(65.0, 80.0);
  }

  @Test
  void oneThatWaitedForSomethingElseSaysLittle() {
    late(kind, true, 40);
    double before = kind.delay(true);
    kind.delayed(true, 60_000);

    assertThat(kind.delay(true)).isBetween(before, before + 2);
  }

  @Test
  void earlyFirstTokensMakeNoDelayBelowZero() {
    late(kind, true, -50);

    assertThat(kind.delay(true)).isZero();
  }

  @Test
  void delaysOfTheTeacherAreUsed() {
    PoolModel taught = new PoolModel(Kind.UNKNOWN, CostSettings.DEFAULTS, kind);
    late(kind, false, 12);
    late(taught, false, 200);

    assertThat(taught.delay(false)).isEqualTo(kind.delay(false));
  }

  @Test
  void oneAbsurdAnswerSaysLittle() {
    for (int i = 0; i < 1000; i++) {
      kind.answered(200);
    }
    kind.answered(Integer.MAX_VALUE);

    assertThat(kind.meanAnswer()).isLessThan(CostSettings.DEFAULTS.kvTokens() / 100.0);
  }

  @Test
  void answersThatAreAlwaysAbsurdAreTakenToFillTheMemory() {
    for (int i = 0; i < 100; i++) {
      kind.answered(Integer.MAX_VALUE);
    }

    assertThat(kind.meanAnswer()).isLessThanOrEqualTo(CostSettings.DEFAULTS.kvTokens());
  }

  @Test
  void lengthsOfAnswersThatHaveGrownAreLearned() {
    for (int i = 0; i < 30; i++) {
      kind.answered(20_000);
    }

    assertThat(kind.meanAnswer()).isBetween(15_000.0, 20_000.0);
  }

  @Test
  void oneAbsurdLengthOfAPromptSaysLittle() {
    for (int i = 0; i < 1000; i++) {
      kind.counted(1000, 1000);
    }
    kind.counted(1000, Integer.MAX_VALUE);

    assertThat(kind.tokens(Prompt.text(1, 100))).isBetween(1600, 1700);
  }
}
