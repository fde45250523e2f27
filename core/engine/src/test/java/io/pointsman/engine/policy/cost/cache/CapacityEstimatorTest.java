package io.pointsman.engine.policy.cost.cache;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.policy.cost.Prompt;
import org.junit.jupiter.api.Test;

class CapacityEstimatorTest {
  private static final int TOKENS = 1600;

  private final TestFleet fleet = TestFleet.of(1);
  private final CapacityEstimator capacity =
      new CapacityEstimator(fleet.worker(0), new KvIndex(1 << 20, 64, fleet.clock::nanos), 100_000);

  /**
   * Returns true if the engine must have restarted, after a request that found {@code found}
   * tokens.
   */
  private boolean restarted(long placedAt, int found) {
    PlacedPrompt entry = new PlacedPrompt(Prompt.of(1, 100), TOKENS, placedAt);
    entry.certain = TOKENS - 1;
    return capacity.restarted(entry, Outcome.SUCCEEDED, new Usage(TOKENS, found, 1), placedAt + 50);
  }

  @Test
  void fourMissesShowANewEngineOfTheSameSize() {
    assertThat(restarted(100, TOKENS - 1)).isFalse();
    assertThat(restarted(1000, 0)).isFalse();
    assertThat(restarted(1100, 0)).isFalse();
    assertThat(restarted(900, 0)).isFalse();
    assertThat(capacity.tokens()).as("as if evicted").isLessThan(92_000);

    assertThat(restarted(1200, 0)).isTrue();
    assertThat(capacity.lostUntil()).as("just before the first of them was placed").isEqualTo(899);
    assertThat(capacity.tokens()).isCloseTo(100_000, within(1.0));
  }

  @Test
  void oneRestartIsNoticedOnceByThoseThatWereInFlight() {
    assertThat(restarted(100, TOKENS - 1)).isFalse();
    int restarts = 0;
    for (int i = 0; i < 12; i++) {
      restarts += restarted(1000 + i, 0) ? 1 : 0;
    }
    assertThat(restarts).isEqualTo(1);
  }

  @Test
  void theEstimateForAnEngineWithoutACacheFalls() {
    for (int i = 1; i <= 16; i++) {
      assertThat(restarted(1000L * i, 0)).isEqualTo(i % 4 == 0);
      if (i % 4 == 0) {
        assertThat(capacity.lostUntil()).as("all, when the last ended").isEqualTo(1000L * i + 50);
      }
    }
    assertThat(capacity.tokens()).isLessThan(65_000);
  }

  @Test
  void engineThatLosesAllTwiceSeemsToRunWithoutAPrefixCache() {
    for (int i = 1; i <= 4; i++) {
      restarted(1000L * i, 0);
    }
    assertThat(capacity.keepsNothing()).as("it may have restarted").isFalse();
    for (int i = 5; i <= 8; i++) {
      restarted(1000L * i, 0);
    }
    assertThat(capacity.keepsNothing()).isTrue();
    assertThat(capacity.tokens()).isZero();

    restarted(20_000, TOKENS - 1);
    assertThat(capacity.keepsNothing()).as("it has found a prompt").isFalse();
  }

  @Test
  void evictionsMakeTheCacheSmaller() {
    assertThat(restarted(1000, 0)).isFalse();
    assertThat(restarted(1100, TOKENS - 1)).isFalse();
    assertThat(capacity.tokens()).isBetween(97_000.0, 97_500.0);
  }

  @Test
  void partialHitsCountAsEvicted() {
    assertThat(restarted(100, TOKENS - 1)).isFalse();
    for (int i = 0; i < 6; i++) {
      assertThat(restarted(1000 + i, 400)).isFalse();
    }
    double before = capacity.tokens();
    assertThat(before).isLessThan(84_000);
    assertThat(restarted(2000, 0)).isTrue();
    assertThat(capacity.lostUntil()).isEqualTo(1999);
    assertThat(capacity.tokens()).isCloseTo(before, within(1.0));
  }
}
