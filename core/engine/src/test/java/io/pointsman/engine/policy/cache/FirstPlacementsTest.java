package io.pointsman.engine.policy.cache;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.testkit.FakeClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

class FirstPlacementsTest {
  private final FakeClock clock = new FakeClock();
  private final FirstPlacements places = new FirstPlacements();

  @Test
  void theFirstClaimCounts() {
    long key = PrefixBlocks.mix(1);
    assertThat(places.claim(key, 3, clock.nanos())).isEqualTo(3);
    assertThat(places.claim(key, 5, clock.nanos())).isEqualTo(3);
  }

  @Test
  void otherPromptsAreDistinguished() {
    for (int i = 1; i <= 10_000; i++) {
      assertThat(places.claim(PrefixBlocks.mix(i), i % 7, clock.nanos())).isEqualTo(i % 7);
    }
  }

  @Test
  void slotZeroAndTheHighestSlotCanBeClaimed() {
    assertThat(places.claim(PrefixBlocks.mix(1), 0, clock.nanos())).isZero();
    assertThat(places.claim(PrefixBlocks.mix(1), 9, clock.nanos())).isZero();
    assertThat(places.claim(PrefixBlocks.mix(2), 65_535, clock.nanos())).isEqualTo(65_535);
    assertThat(places.claim(PrefixBlocks.mix(2), 9, clock.nanos())).isEqualTo(65_535);
  }

  @Test
  void aMovedPromptIsFoundInItsNewSlot() {
    long key = PrefixBlocks.mix(1);
    places.claim(key, 3, clock.nanos());
    places.move(key, 4, clock.nanos());
    assertThat(places.claim(key, 9, clock.nanos())).isEqualTo(4);
  }

  @Test
  void aClaimIsValidForAMoment() {
    long key = PrefixBlocks.mix(1);
    assertThat(places.claim(key, 3, clock.nanos())).isEqualTo(3);
    clock.advance(Duration.ofMillis(800));
    assertThat(places.claim(key, 4, clock.nanos())).isEqualTo(3);
    clock.advance(Duration.ofMillis(600));
    assertThat(places.claim(key, 5, clock.nanos())).isEqualTo(5);
  }

  @Test
  void concurrentClaimsAgree() throws Exception {
    try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
      for (int round = 1; round <= 200; round++) {
        long key = PrefixBlocks.mix(round);
        List<Future<Integer>> claims = new ArrayList<>();
        for (int slot = 0; slot < 4; slot++) {
          int mine = slot;
          claims.add(threads.submit(() -> places.claim(key, mine, clock.nanos())));
        }
        int agreed = claims.getFirst().get();
        for (Future<Integer> claim : claims) {
          assertThat(claim.get()).isEqualTo(agreed);
        }
      }
    }
  }
}
