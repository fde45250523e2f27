package io.pointsman.engine.policy.cost;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.policy.LostHit;
import org.junit.jupiter.api.Test;

class CacheTruthTest {
  private static final int TOKENS = 1600;

  private final TestFleet fleet = TestFleet.of(1);
  private final CacheTruth truth =
      new CacheTruth(fleet.worker(0), new KvIndex(1 << 20, 64, fleet.clock::nanos), 100_000);

  /**
   * Whether the engine must have started anew, by one placed then that found so much of its prompt.
   */
  private boolean restarted(long placedAt, int found) {
    InFlight entry =
        new InFlight(
            Prompt.of(1, 100),
            TOKENS,
            TOKENS - 1,
            new HitLedger.Prospect(
                100, 100, LostHit.EVICTED, 100, LostHit.EVICTED, LostHit.EVICTED),
            placedAt,
            new Inquiry.Expectation(10, 0, false, false));
    entry.certain = TOKENS - 1;
    return truth.restarted(entry, Outcome.SUCCEEDED, new Usage(TOKENS, found, 1), placedAt + 50);
  }

  @Test
  void fourThatFoundNothingTellThatTheEngineIsANewOneOfTheSameSize() {
    assertThat(restarted(1000, 0)).isFalse();
    assertThat(restarted(1100, 0)).isFalse();
    assertThat(restarted(900, 0)).isFalse();
    assertThat(truth.tokens()).as("as if evicted").isLessThan(92_000);

    assertThat(restarted(1200, 0)).isTrue();
    assertThat(truth.goneUntil()).as("just before the first of them was placed").isEqualTo(899);
    assertThat(truth.tokens()).isEqualTo(100_000);
  }

  @Test
  void whatIsEvictedMakesTheCacheSmaller() {
    assertThat(restarted(1000, 0)).isFalse();
    assertThat(restarted(1100, TOKENS - 1)).isFalse();
    assertThat(truth.tokens()).isBetween(97_000.0, 97_500.0);
  }

  /** It holds something, so that what was lost before was evicted. */
  @Test
  void oneThatFindsAPartIsNoSignOfANewEngine() {
    for (int i = 0; i < 6; i++) {
      assertThat(restarted(1000 + i, 400)).isFalse();
    }
    assertThat(restarted(2000, 0)).isTrue();
    assertThat(truth.goneUntil()).isEqualTo(1999);
  }
}
