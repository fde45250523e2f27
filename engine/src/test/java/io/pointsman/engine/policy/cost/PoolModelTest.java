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
}
