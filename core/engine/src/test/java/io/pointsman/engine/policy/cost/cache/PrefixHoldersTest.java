package io.pointsman.engine.policy.cost.cache;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.policy.cost.Prompt;
import io.pointsman.engine.prefix.IndexedLengths;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class PrefixHoldersTest {
  private final PrefixIndex index = new PrefixIndex(8 << 20, 200);

  private void hold(int slot, PrefixBlocks prompt) {
    index.add(prompt, index.epoch(slot), 0, 1L << 40);
  }

  private PrefixHolders found(PrefixBlocks prompt) {
    return Objects.requireNonNull(PrefixHolders.of(index, prompt), "holdings");
  }

  private static CachedRuns.Run all(PrefixBlocks prompt) {
    CachedRuns.Run run = new CachedRuns().blank(prompt.count());
    System.arraycopy(prompt.hashes(), 0, run.hashes, 0, prompt.count());
    run.begin(prompt, 1, prompt.count(), 16);
    return run;
  }

  @Test
  void nobodyHoldsANewPrompt() {
    assertThat(PrefixHolders.of(index, Prompt.of(1, 10))).isNull();
    assertThat(PrefixHolders.of(index, PrefixBlocks.NONE)).isNull();
  }

  @Test
  void eachHolderHasItsLength() {
    for (int slot = 0; slot < 100; slot++) {
      hold(slot, Prompt.of(1, 4));
    }
    hold(3, Prompt.of(1, 20));
    hold(5, Prompt.of(1, 20));
    hold(7, Prompt.of(1, 30));

    PrefixHolders holders = found(Prompt.of(1, 30, 2, 10));
    assertThat(holders.blocks(7)).isEqualTo(30);
    assertThat(holders.blocks(3)).isEqualTo(20);
    assertThat(holders.blocks(5)).isEqualTo(20);
    assertThat(holders.blocks(99)).isEqualTo(4);
    assertThat(holders.blocks(150)).isZero();
  }

  @Test
  void longestSharedLengthOfAFullyCachedPromptIsFound() {
    hold(3, Prompt.of(1, 19));
    hold(5, Prompt.of(1, 40));

    PrefixHolders holders = found(Prompt.of(1, 19));
    assertThat(holders.blocks(3)).isEqualTo(19);
    assertThat(holders.blocks(5)).isEqualTo(18);
  }

  @Test
  void evictedBlocksAreCachedByTheOthersOnly() {
    PrefixBlocks prompt = Prompt.of(1, 16);
    for (int slot = 0; slot < 10; slot++) {
      hold(slot, prompt);
    }
    hold(20, Prompt.of(2, 16));
    index.remove(all(prompt), 8, 16, index.epoch(4));
    index.remove(all(Prompt.of(2, 16)), 15, 16, index.epoch(20));

    PrefixHolders holders = found(prompt);
    assertThat(holders.blocks(4)).isEqualTo(8);
    assertThat(holders.blocks(5)).isEqualTo(16);
    PrefixHolders other = found(Prompt.of(2, 16));
    assertThat(other.blocks(20)).isEqualTo(15);
  }

  /** With at most eight lengths, each holder has its own indexed length. */
  @Test
  void randomHoldersAreFound() {
    SplittableRandom random = new SplittableRandom(9);
    for (int round = 0; round < 200; round++) {
      PrefixIndex fresh = new PrefixIndex(8 << 20, 200);
      int most = 1 + random.nextInt(100);
      int[] lengths = random.ints(7, 1, most + 20).toArray();
      int[] cached = new int[60];
      for (int slot = 0; slot < cached.length; slot++) {
        cached[slot] = random.nextInt(3) == 0 ? lengths[random.nextInt(7)] : 0;
        if (cached[slot] > 0) {
          fresh.add(Prompt.of(1, cached[slot]), fresh.epoch(slot), 0, 1L << 40);
        }
      }
      PrefixHolders found = PrefixHolders.of(fresh, Prompt.of(1, most, 2, 3));
      for (int slot = 0; slot < cached.length; slot++) {
        assertThat(found == null ? 0 : found.blocks(slot)).isEqualTo(shown(cached[slot], most));
      }
    }
  }

  /** The longest indexed length within the shared part counts. */
  private static int shown(int cached, int shared) {
    int indexed = IndexedLengths.upTo(Math.min(cached, shared));
    return indexed == 0 ? 0 : IndexedLengths.blocks(indexed - 1);
  }
}
