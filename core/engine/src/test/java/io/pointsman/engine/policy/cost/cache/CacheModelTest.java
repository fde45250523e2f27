package io.pointsman.engine.policy.cost.cache;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.policy.cost.Prompt;
import io.pointsman.engine.prefix.Lengths;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class CacheModelTest {
  private final CacheMemory memory = new CacheMemory(1 << 20);
  private final List<Long> evicted = new ArrayList<>();
  private final List<Long> prefetched = new ArrayList<>();
  private final CacheModel cache =
      new CacheModel(memory.join(), this::note, this::note, this::prefetch);

  private void note(Lengths blocks, int from, int to) {
    for (int i = from; i < to; i++) {
      evicted.add(blocks.hashes[i]);
    }
  }

  private long prefetch(List<? extends Lengths> soon) {
    assertThat(soon).hasSizeBetween(2, CacheModel.BATCH);
    soon.forEach(run -> prefetched.add(run.hashes[0]));
    return 0;
  }

  private void serve(PrefixBlocks prompt) {
    cache.release(prompt, cache.acquire(prompt, 16, 0), true);
  }

  @Test
  void promptCountsAsCachedFromItsPlacement() {
    PrefixBlocks prompt = Prompt.of(1, 10);
    assertThat(cache.match(prompt)).isZero();

    cache.acquire(prompt, 16, 0);

    assertThat(cache.match(prompt)).isEqualTo(10);
    assertThat(cache.match(Prompt.of(1, 6, 2, 4))).isEqualTo(6);
    assertThat(cache.match(Prompt.of(2, 10))).isZero();
    assertThat(cache.pinnedTokens()).isEqualTo(160);
  }

  @Test
  void sharedPromptIsCountedOnceInMemory() {
    PrefixBlocks prompt = Prompt.of(1, 10);
    cache.acquire(prompt, 16, 0);
    cache.acquire(prompt, 16, 0);
    cache.release(prompt, 10, true);
    assertThat(cache.pinnedTokens()).isEqualTo(160);

    cache.release(prompt, 10, true);

    assertThat(cache.pinnedTokens()).isZero();
    assertThat(cache.cachedTokens()).isEqualTo(160);
  }

  @Test
  void leastLatelyUsedGoesFirstAndOfAPromptItsEnd() {
    serve(Prompt.of(1, 10));
    serve(Prompt.of(2, 10));
    serve(Prompt.of(1, 10));

    cache.shrinkTo(200);

    assertThat(cache.match(Prompt.of(1, 10))).isEqualTo(10);
    assertThat(cache.match(Prompt.of(2, 10))).isEqualTo(2);
    assertThat(evicted).hasSize(8);
  }

  @Test
  void shortPromptsGoSeveralAtATimeWithinASmallPartOfTheCache() {
    for (int n = 0; n < 1000; n++) {
      serve(Prompt.of(n, 1));
      cache.shrinkTo(10_000);
      int least = evicted.isEmpty() ? 0 : 10_000 - 10_000 / CacheModel.AHEAD_PART;
      assertThat(cache.cachedTokens()).isBetween((long) least, 10_000L);
      assertThat(evicted.size() % 10).isZero();
    }

    assertThat(evicted).isEqualTo(prefetched).hasSizeGreaterThan(300);
    assertThat(evicted).as("the oldest first").startsWith(Prompt.of(0, 1).hashes()[0]);
  }

  @Test
  void noMoreGoAtATimeThanABatchUnlessTheyMust() {
    for (int n = 0; n < 2000; n++) {
      serve(Prompt.of(n, 1));
    }

    cache.shrinkTo(2000 * 16 - 1);
    assertThat(evicted).hasSize(CacheModel.BATCH);

    cache.shrinkTo(0);
    assertThat(cache.cachedTokens()).isZero();
    assertThat(evicted).hasSize(2000).doesNotHaveDuplicates().isEqualTo(prefetched);
  }

  /** If a further run would evict too much, only the necessary part is evicted. */
  @Test
  void longPromptsAreEvictedNoFurtherThanNeeded() {
    for (int n = 0; n < 10; n++) {
      serve(Prompt.of(n, 16));
    }

    cache.shrinkTo(160 * 16 - 8);

    assertThat(evicted).containsExactly(Prompt.of(0, 16).hashes()[15]);
    assertThat(prefetched).isEmpty();
  }

  /** Evicted runs are reused for prompts of the same size. */
  @Test
  void nothingIsLeftOfAPromptAfterItsRunIsTaken() {
    PrefixBlocks before = Prompt.of(1, 10);
    serve(before);
    cache.acquire(before, 16, 7);
    cache.release(before, 10, true);
    cache.shrinkTo(0);
    evicted.clear();
    PrefixBlocks after = Prompt.of(2, 10);

    int taken = cache.acquire(after, 8, 3);

    assertThat(cache.match(before)).isZero();
    assertThat(cache.match(after)).isEqualTo(10);
    assertThat(cache.computed(after, 10)).isZero();
    assertThat(cache.pinnedTokens()).isEqualTo(80);
    cache.clear(3, this::note);
    cache.release(after, taken, false);
    assertThat(evicted).hasSize(10).contains(after.hashes()[9]);
    assertThat(cache.cachedTokens()).isZero();
  }

  /** Lost blocks are in the index, although runs are cut and reused. */
  @Test
  void indexHoldsNothingOnceAllIsEvicted() {
    PrefixIndex index = new PrefixIndex(1 << 20, 1);
    int epoch = index.epoch(0);
    CacheModel.Losses remove = (blocks, from, to) -> index.remove(blocks, from, to, epoch);
    CacheModel model = new CacheModel(memory.join(), remove, remove, index::touch);
    SplittableRandom random = new SplittableRandom(6);
    for (int i = 0; i < 20_000; i++) {
      PrefixBlocks prompt =
          Prompt.of(random.nextInt(20), 1 + random.nextInt(40), random.nextInt(50), 5);
      int known = model.match(prompt);
      int taken = model.acquire(prompt, 16, i);
      index.add(prompt, CacheModel.blocks(prompt, taken), epoch, known, 0);
      model.release(prompt, taken, random.nextInt(5) > 0);
      model.shrinkTo(4000);
      assertThat(index.match(prompt)).isEqualTo(model.match(prompt));
    }
    model.shrinkTo(0);

    assertThat(index.entries()).isZero();
  }

  @Test
  void blocksInUseStay() {
    cache.acquire(Prompt.of(1, 10), 16, 0);
    serve(Prompt.of(2, 10));

    cache.shrinkTo(0);

    assertThat(cache.match(Prompt.of(1, 10))).isEqualTo(10);
    assertThat(cache.match(Prompt.of(2, 10))).isZero();
  }

  @Test
  void promptThatWasNeverComputedIsNotFound() {
    PrefixBlocks prompt = Prompt.of(1, 10);
    cache.release(prompt, cache.acquire(prompt, 16, 0), false);

    assertThat(cache.match(prompt)).isZero();
    assertThat(cache.cachedTokens()).isZero();
  }

  @Test
  void sharedPartOfAPromptThatWasNotComputedStays() {
    serve(Prompt.of(1, 6));
    PrefixBlocks longer = Prompt.of(1, 6, 3, 20);
    cache.release(longer, cache.acquire(longer, 16, 0), false);

    assertThat(cache.match(longer)).isEqualTo(6);
  }

  @Test
  void longPromptsAreKnownAtFewerLengths() {
    serve(Prompt.of(1, 1000));

    assertThat(cache.match(Prompt.of(1, 1000))).isEqualTo(1000);
    assertThat(cache.match(Prompt.of(1, 700, 2, 300))).isBetween(700 * 8 / 9, 700);
    assertThat(cache.cachedTokens()).isEqualTo(16_000);
  }

  @Test
  void memoryIsBoundedAndComesBack() {
    CacheModel small = small();
    long each = CachedRuns.bytes(10);
    for (int n = 0; n < 50; n++) {
      small.release(Prompt.of(n, 10), small.acquire(Prompt.of(n, 10), 16, 0), true);
    }

    assertThat(small.cachedTokens()).isEqualTo(CacheMemory.PORTION_BYTES / each * 160);
    assertThat(small.match(Prompt.of(49, 10))).isEqualTo(10);
    assertThat(small.match(Prompt.of(20, 10))).isZero();

    serve(Prompt.of(1, 30));
    assertThat(memory.left()).isLessThan(1 << 20);
    cache.close();
    assertThat(memory.left()).isEqualTo(1 << 20);
  }

  private CacheModel small() {
    return new CacheModel(
        new CacheMemory(CacheMemory.PORTION_BYTES).join(), this::note, this::note, this::prefetch);
  }

  @Test
  void reusableBlocksCountAsUsedMemory() {
    SplittableRandom random = new SplittableRandom(1);
    long most = 0;
    for (int n = 0; n < 2000; n++) {
      int blocks = 1 + random.nextInt(60);
      serve(Prompt.of(n, blocks));
      assertThat(cache.spareBytes()).as("after %d prompts", n).isNotNegative();
      cache.shrinkTo(20_000);
      assertThat(cache.spareBytes()).as("after %d evictions", n).isNotNegative();
      most = Math.max(most, cache.spareBytes());
    }
    assertThat(most).as("some of the memory is taken").isPositive();
  }

  @Test
  void cachesFullOfBlocksInUseTakeNoMore() {
    CacheModel small = small();
    List<Integer> taken = new ArrayList<>();
    for (int n = 0; n < 20; n++) {
      taken.add(small.acquire(Prompt.of(n, 18), 16, 0));
    }

    assertThat(taken).startsWith(17, 17).contains(4).endsWith(0, 0);
    assertThat(small.match(Prompt.of(0, 18))).isEqualTo(18);
    assertThat(small.match(Prompt.of(19, 18))).isZero();
    for (int n = 0; n < 20; n++) {
      small.release(Prompt.of(n, 18), taken.get(n), true);
    }
    assertThat(small.pinnedTokens()).isZero();
  }

  /** A refused request does not use blocks that a later one adds. */
  @Test
  void refusedPromptTakesNoUserOffWhenItEnds() {
    CacheModel small = small();
    for (int n = 0; n < 14; n++) {
      small.acquire(Prompt.of(n, 18), 16, 0);
    }
    PrefixBlocks prompt = Prompt.of(99, 18);
    int refused = small.acquire(prompt, 16, 0);
    assertThat(refused).isEqualTo(4);
    small.release(Prompt.of(0, 18), 17, true);
    assertThat(small.acquire(prompt, 16, 0)).isEqualTo(17);
    long pinned = small.pinnedTokens();

    small.release(prompt, refused, true);

    assertThat(small.pinnedTokens()).isEqualTo(pinned);
    small.shrinkTo(0);
    assertThat(small.match(prompt)).isEqualTo(18);
  }

  @Test
  void runsThatAreCutTakeNoMoreMemoryThanThereIs() {
    CacheModel small = small();
    for (int n = 0; n < 3; n++) {
      for (int blocks = 16; blocks > 0; blocks--) {
        PrefixBlocks prompt = Prompt.of(n, blocks);
        small.release(prompt, small.acquire(prompt, 16, 0), true);
      }
    }

    assertThat(small.cachedTokens())
        .isBetween(16L * 16, CacheMemory.PORTION_BYTES / CachedRuns.bytes(1) * 16);
    assertThat(small.match(Prompt.of(2, 16))).isEqualTo(16);
  }

  /** In any order of events, evicted and cached blocks add up. */
  @Test
  void countsStayTrueUnderRandomUse() {
    SplittableRandom random = new SplittableRandom(5);
    List<PrefixBlocks> inUse = new ArrayList<>();
    List<Integer> taken = new ArrayList<>();
    List<Integer> placedAt = new ArrayList<>();
    for (int i = 0; i < 20_000; i++) {
      if (inUse.size() < 20 && random.nextBoolean()) {
        PrefixBlocks prompt =
            Prompt.of(random.nextInt(20), 1 + random.nextInt(40), random.nextInt(50), 5);
        int before = cache.match(prompt);
        taken.add(cache.acquire(prompt, 16, i));
        placedAt.add(i);
        assertThat(cache.match(prompt)).isEqualTo(prompt.count()).isGreaterThanOrEqualTo(before);
        inUse.add(prompt);
      } else if (!inUse.isEmpty()) {
        int which = random.nextInt(inUse.size());
        placedAt.remove(/* index */ which);
        cache.release(inUse.remove(which), taken.remove(/* index */ which), random.nextInt(5) > 0);
      }
      if (random.nextInt(200) == 0) {
        int until = i - random.nextInt(50);
        cache.clear(until, this::note);
        for (; !placedAt.isEmpty() && placedAt.getFirst() <= until; placedAt.removeFirst()) {
          cache.release(inUse.removeFirst(), taken.removeFirst(), false);
        }
      }
      cache.shrinkTo(4000);
      assertThat(cache.pinnedTokens()).isBetween(0L, 20L * 45 * 16);
      assertThat(cache.cachedTokens())
          .isGreaterThanOrEqualTo(cache.pinnedTokens())
          .isLessThanOrEqualTo(Math.max(4000, cache.pinnedTokens()));
    }
    for (PrefixBlocks prompt : inUse) {
      assertThat(cache.match(prompt)).isEqualTo(prompt.count());
      cache.release(prompt, taken.removeFirst(), true);
    }
    assertThat(cache.pinnedTokens()).isZero();
    cache.shrinkTo(0);
    assertThat(cache.cachedTokens()).isZero();
  }

  /** Two requests share a prefix, one from before and one from after; both are in flight. */
  @Test
  void entriesUsedSinceATimeStayWhenOthersAreForgotten() {
    PrefixBlocks before = Prompt.of(1, 6, 2, 4);
    PrefixBlocks since = Prompt.of(1, 6, 3, 4);
    cache.release(Prompt.of(4, 5), cache.acquire(Prompt.of(4, 5), 16, 1), true);
    int taken = cache.acquire(before, 16, 2);
    cache.acquire(since, 16, 3);

    cache.clear(2, this::note);
    cache.release(before, taken, false);

    assertThat(evicted).hasSize(4 + 5);
    assertThat(cache.match(Prompt.of(4, 5))).isZero();
    assertThat(cache.match(before)).isEqualTo(6);
    assertThat(cache.match(since)).isEqualTo(10);
    assertThat(cache.pinnedTokens()).isEqualTo(160);
    cache.release(since, 10, true);
    assertThat(cache.pinnedTokens()).isZero();
    assertThat(cache.cachedTokens()).isEqualTo(160);
    cache.clear(3, this::note);
    assertThat(cache.cachedTokens()).isZero();
    assertThat(memory.left()).as("memory comes back").isEqualTo(1 << 20);
  }

  @Test
  void clearedCacheHoldsNothingAndCanBeUsedOn() {
    PrefixBlocks prompt = Prompt.of(1, 10);
    cache.acquire(prompt, 16, 0);
    cache.clear(this::note);
    assertThat(cache.match(prompt)).isZero();
    cache.release(prompt, 0, true);
    assertThat(cache.cachedTokens()).isZero();

    serve(prompt);
    assertThat(cache.match(prompt)).isEqualTo(10);
    assertThat(evicted).hasSize(10);
  }
}
