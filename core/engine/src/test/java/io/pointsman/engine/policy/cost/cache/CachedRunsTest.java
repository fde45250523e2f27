package io.pointsman.engine.policy.cost.cache;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.policy.cost.cache.CachedRuns.Run;
import org.junit.jupiter.api.Test;

class CachedRunsTest {
  private final CachedRuns runs = new CachedRuns();

  @Test
  void runThatIsKeptBecomesTheNextOfItsSize() {
    Run run = runs.blank(8);
    runs.keep(run);
    assertThat(runs.keptBytes()).isEqualTo(CachedRuns.bytes(8));

    assertThat(runs.blank(7)).isNotSameAs(run);
    assertThat(runs.blank(8)).isSameAs(run);
    assertThat(runs.blank(8)).isNotSameAs(run);
    assertThat(runs.keptBytes()).isZero();
  }

  @Test
  void fewShortRunsAreKept() {
    for (int i = 0; i < 3 * CacheModel.BATCH; i++) {
      runs.keep(runs.blank(17));
      runs.keep(new CachedRuns().blank(16));
    }
    assertThat(runs.keptBytes()).isEqualTo(CacheModel.BATCH * CachedRuns.bytes(16));

    runs.dropKept();
    assertThat(runs.keptBytes()).isZero();
  }

  @Test
  void sizesThatNobodyAsksForMakeRoom() {
    for (int i = 0; i < CacheModel.BATCH; i++) {
      runs.keep(new CachedRuns().blank(16));
    }
    for (int i = 0; i < CacheModel.BATCH / 2; i++) {
      runs.keep(new CachedRuns().blank(2));
    }
    long half = CacheModel.BATCH / 2;
    assertThat(runs.keptBytes())
        .isEqualTo(half * CachedRuns.bytes(16) + half * CachedRuns.bytes(2));

    for (int i = 0; i < CacheModel.BATCH / 2; i++) {
      runs.blank(2);
    }
    assertThat(runs.keptBytes()).as("all were used again").isEqualTo(half * CachedRuns.bytes(16));
  }
}
