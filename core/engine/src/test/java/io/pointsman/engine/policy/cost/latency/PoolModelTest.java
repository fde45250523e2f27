package io.pointsman.engine.policy.cost.latency;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.policy.cost.Prompt;
import io.pointsman.engine.prefix.PrefixBlocks;
import org.junit.jupiter.api.Test;

class PoolModelTest {
  private final PoolModel kind = new PoolModel(8192, 0.2, 400_000, null);

  private static void late(PoolModel kind, WorkerPhase phase, double millis) {
    for (int i = 0; i < 1000; i++) {
      kind.delayed(phase, millis);
    }
  }

  @Test
  void delaysAreLearnedApartForEachPhaseOfAWorker() {
    for (WorkerPhase phase : WorkerPhase.values()) {
      assertThat(kind.delay(phase)).isZero();
    }
    late(kind, WorkerPhase.DECODING, 12);
    late(kind, WorkerPhase.PREFILLING, 80);

    assertThat(kind.delay(WorkerPhase.FREE)).isZero();
    assertThat(kind.delay(WorkerPhase.DECODING)).isBetween(9.0, 12.0);
    assertThat(kind.delay(WorkerPhase.PREFILLING)).isBetween(60.0, 80.0);
  }

  @Test
  void oneThatWaitedForSomethingElseSaysLittle() {
    late(kind, WorkerPhase.PREFILLING, 40);
    double before = kind.delay(WorkerPhase.PREFILLING);
    kind.delayed(WorkerPhase.PREFILLING, 60_000);

    assertThat(kind.delay(WorkerPhase.PREFILLING)).isBetween(before, before + 2);
  }

  @Test
  void earlyFirstTokensMakeNoDelayBelowZero() {
    late(kind, WorkerPhase.PREFILLING, -50);

    assertThat(kind.delay(WorkerPhase.PREFILLING)).isZero();
  }

  @Test
  void delaysOfTheTeacherAreUsed() {
    PoolModel taught = new PoolModel(8192, 0.2, 400_000, kind);
    late(kind, WorkerPhase.FREE, 12);
    late(taught, WorkerPhase.FREE, 200);

    assertThat(taught.delay(WorkerPhase.FREE)).isEqualTo(kind.delay(WorkerPhase.FREE));
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
  void kindThatFollowsAnotherKeepsItsLearnedValues() {
    for (int i = 0; i < 1000; i++) {
      kind.ended(50, 5000);
      kind.answered(40);
      kind.counted(100, 150);
    }
    late(kind, WorkerPhase.DECODING, 12);
    PoolModel next = new PoolModel(8192, 0.2, 400_000, null);
    next.beginFrom(kind);

    assertThat(next.prefillShare()).isEqualTo(kind.prefillShare()).isLessThan(0.05);
    assertThat(next.meanAnswer()).isEqualTo(kind.meanAnswer()).isLessThan(50);
    assertThat(next.delay(WorkerPhase.DECODING))
        .isEqualTo(kind.delay(WorkerPhase.DECODING))
        .isPositive();
    PrefixBlocks text = Prompt.of(1, 100).asText();
    assertThat(next.tokens(text)).isEqualTo(kind.tokens(text)).isGreaterThan(2000);
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

    assertThat(kind.meanAnswer()).isLessThan(400_000 / 100.0);
  }

  @Test
  void answersThatAreAlwaysAbsurdAreTakenToFillTheMemory() {
    for (int i = 0; i < 100; i++) {
      kind.answered(Integer.MAX_VALUE);
    }

    assertThat(kind.meanAnswer()).isLessThanOrEqualTo(400_000);
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
