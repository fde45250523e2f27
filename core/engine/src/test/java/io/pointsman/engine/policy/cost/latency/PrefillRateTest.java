package io.pointsman.engine.policy.cost.latency;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class PrefillRateTest {
  private static final int TOKENS = 4000;
  private static final long MS = 1_000_000;

  private final LatencyModel latency = new LatencyModel(8192);
  private final PrefillRate rate = new PrefillRate();
  private final long usual = (long) (latency.millis(TOKENS, 0) * MS);
  private long now = 1000 * MS;

  /** Computes consecutive prompts, each in a multiple of the usual time. */
  private void steps(int count, double slowness) {
    for (int i = 0; i < count; i++) {
      now += (long) (usual * slowness);
      // The kind must not learn from this worker alone, so it gets a separate model.
      rate.firstToken(now, 0, 0, MS, new LatencyModel(8192));
      rate.computed(TOKENS);
    }
  }

  @Test
  void speedOfASlowWorkerIsLearned() {
    steps(600, 2);

    assertThat(rate.speed()).isBetween(1.8, 2.05);
  }

  @Test
  void fewSamplesSayLittle() {
    steps(5, 3);

    assertThat(rate.speed()).isLessThan(1.05);
  }

  @Test
  void stallCountsNoMoreThanASomewhatSlowerStep() {
    steps(200, 1);
    double before = rate.speed();
    steps(1, 100);
    steps(1, 1);

    assertThat(rate.speed()).isLessThan(before * 1.01);
  }

  @Test
  void workerThatStalledForATimeSeemsUsualAgain() {
    steps(20, 5);
    assertThat(rate.speed()).isGreaterThan(1.1);
    steps(400, 1);

    assertThat(rate.speed()).isBetween(0.97, 1.03);
  }
}
