package io.pointsman.engine.policy.cost;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.policy.cost.WorkerState.Phase;
import io.pointsman.engine.prefix.PrefixBlocks;
import org.junit.jupiter.api.Test;

class PoolModelTest {
  private final PoolModel kind = new PoolModel(CostSettings.DEFAULTS);

  private static void late(PoolModel kind, Phase phase, double millis) {
    for (int i = 0; i < 1000; i++) {
      kind.delayed(phase, millis);
    }
  }

  @Test
  void delaysAreLearnedApartForEachPhaseOfAWorker() {
    for (Phase phase : Phase.values()) {
      assertThat(kind.delay(phase)).isZero();
    }
    late(kind, Phase.DECODING, 12);
    late(kind, Phase.PREFILLING, 80);

    assertThat(kind.delay(Phase.FREE)).isZero();
    assertThat(kind.delay(Phase.DECODING)).isBetween(9.0, 12.0);
    assertThat(kind.delay(Phase.PREFILLING)).isBetween(60.0, 80.0);
  }

  @Test
  void oneThatWaitedForSomethingElseSaysLittle() {
    late(kind, Phase.PREFILLING, 40);
    double before = kind.delay(Phase.PREFILLING);
    kind.delayed(Phase.PREFILLING, 60_000);

    assertThat(kind.delay(Phase.PREFILLING)).isBetween(before, before + 2);
  }

  @Test
  void earlyFirstTokensMakeNoDelayBelowZero() {
    late(kind, Phase.PREFILLING, -50);

    assertThat(kind.delay(Phase.PREFILLING)).isZero();
  }

  @Test
  void delaysOfTheTeacherAreUsed() {
    PoolModel taught = new PoolModel(Kind.UNKNOWN, CostSettings.DEFAULTS, kind);
    late(kind, Phase.FREE, 12);
    late(taught, Phase.FREE, 200);

    assertThat(taught.delay(Phase.FREE)).isEqualTo(kind.delay(Phase.FREE));
  }

  @Test
  void requestsThatWaitMakeNewWorkDearOnlyWhileNoWorkerIsFree() {
    kind.workers(2);
    double idle = kind.price();
    kind.waiting(5, 1);
    assertThat(kind.price()).as("the other worker is free").isEqualTo(idle);

    kind.waiting(1, 1);
    assertThat(kind.price()).as("four wait, for two workers").isEqualTo(idle + 2);
  }

  @Test
  void kindThatFollowsAnotherKeepsWhatIsLearned() {
    for (int i = 0; i < 1000; i++) {
      kind.rounded(64);
      kind.ended(50, 5000);
      kind.answered(40);
      kind.counted(100, 150);
      kind.placed(1000, 500, false);
      kind.waiting(-1, 0);
    }
    late(kind, Phase.DECODING, 12);
    PoolModel next = new PoolModel(CostSettings.DEFAULTS);
    next.beginFrom(kind);

    assertThat(next.rounding()).isEqualTo(kind.rounding()).isPositive();
    assertThat(next.prefillShare()).isEqualTo(kind.prefillShare()).isLessThan(0.05);
    assertThat(next.meanAnswer()).isEqualTo(kind.meanAnswer()).isLessThan(50);
    assertThat(next.delay(Phase.DECODING)).isEqualTo(kind.delay(Phase.DECODING)).isPositive();
    assertThat(next.price()).as("half of it is wanted again").isEqualTo(kind.price());
    assertThat(next.price()).isGreaterThan(0.6);
    PrefixBlocks text = Prompt.of(1, 100).asText();
    assertThat(next.tokens(text)).isEqualTo(kind.tokens(text)).isGreaterThan(2000);
  }

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
  void decodingCountsLessTheLongerAnswersTakeBesideTheirPrefills() {
    for (int i = 0; i < 1000; i++) {
      kind.ended(50, 5000);
    }
    assertThat(kind.prefillShare()).isBetween(0.009, 0.011);
    for (int i = 0; i < 1000; i++) {
      kind.ended(50, 50);
    }
    assertThat(kind.prefillShare()).isBetween(0.9, 1.0);
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
