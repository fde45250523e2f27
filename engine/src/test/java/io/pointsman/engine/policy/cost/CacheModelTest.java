package io.pointsman.engine.policy.cost;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class CacheModelTest {
  private final AtomicLong bytes = new AtomicLong(1 << 20);
  private final List<Long> evicted = new ArrayList<>();
  private final CacheModel cache = new CacheModel(bytes, evicted::add, evicted::add);

  private void serve(PrefixBlocks prompt) {
    cache.acquire(prompt, 16);
    cache.release(prompt, true);
  }

  @Test
  void promptIsHeldFromItsPlacementOn() {
    PrefixBlocks prompt = Prompt.of(1, 10);
    assertThat(cache.match(prompt)).isZero();

    cache.acquire(prompt, 16);

    assertThat(cache.match(prompt)).isEqualTo(10);
    assertThat(cache.match(Prompt.of(1, 6, 2, 4))).isEqualTo(6);
    assertThat(cache.match(Prompt.of(2, 10))).isZero();
    assertThat(cache.pinnedTokens()).isEqualTo(160);
  }

  @Test
  void sharedPromptIsCountedOnceInMemory() {
    PrefixBlocks prompt = Prompt.of(1, 10);
    cache.acquire(prompt, 16);
    cache.acquire(prompt, 16);
    cache.release(prompt, true);
    assertThat(cache.pinnedTokens()).isEqualTo(160);

    cache.release(prompt, true);

    assertThat(cache.pinnedTokens()).isZero();
    assertThat(cache.heldTokens()).isEqualTo(160);
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
  void whatIsInUseStays() {
    cache.acquire(Prompt.of(1, 10), 16);
    serve(Prompt.of(2, 10));

    cache.shrinkTo(0);

    assertThat(cache.match(Prompt.of(1, 10))).isEqualTo(10);
    assertThat(cache.match(Prompt.of(2, 10))).isZero();
  }

  @Test
  void promptThatWasNeverComputedIsNotFound() {
    PrefixBlocks prompt = Prompt.of(1, 10);
    cache.acquire(prompt, 16);
    cache.release(prompt, false);

    assertThat(cache.match(prompt)).isZero();
    assertThat(cache.heldTokens()).isZero();
  }

  @Test
  void sharedPartOfAPromptThatWasNotComputedStays() {
    serve(Prompt.of(1, 6));
    PrefixBlocks longer = Prompt.of(1, 6, 3, 20);
    cache.acquire(longer, 16);
    cache.release(longer, false);

    assertThat(cache.match(longer)).isEqualTo(6);
  }

  @Test
  void longPromptsAreKnownAtFewerLengths() {
    serve(Prompt.of(1, 1000));

    assertThat(cache.match(Prompt.of(1, 1000))).isEqualTo(1000);
    assertThat(cache.match(Prompt.of(1, 700, 2, 300))).isBetween(700 * 8 / 9, 700);
    assertThat(cache.heldTokens()).isEqualTo(16_000);
  }

  @Test
  void memoryIsBoundedAndComesBack() {
    CacheModel small =
        new CacheModel(new AtomicLong(100 * CacheModel.NODE_BYTES), evicted::add, evicted::add);
    for (int n = 0; n < 50; n++) {
      small.acquire(Prompt.of(n, 10), 16);
      small.release(Prompt.of(n, 10), true);
    }

    assertThat(small.heldTokens()).isEqualTo(64 * 16);
    assertThat(small.match(Prompt.of(49, 10))).isEqualTo(10);

    serve(Prompt.of(1, 30));
    assertThat(bytes).hasValueLessThan(1 << 20);
    cache.close();
    assertThat(bytes).hasValue(1 << 20);
  }

  @Test
  void cachesThatAreFullOfWhatIsInUseTakeNoMore() {
    CacheModel small =
        new CacheModel(new AtomicLong(64 * CacheModel.NODE_BYTES), evicted::add, evicted::add);
    for (int n = 0; n < 10; n++) {
      small.acquire(Prompt.of(n, 10), 16);
    }

    assertThat(small.match(Prompt.of(0, 10))).isEqualTo(10);
    assertThat(small.match(Prompt.of(9, 10))).isZero();
    for (int n = 0; n < 10; n++) {
      small.release(Prompt.of(n, 10), true);
    }
    assertThat(small.pinnedTokens()).isZero();
  }

  /** Whatever comes in whatever order, what is told of as evicted and what is held add up. */
  @Test
  void countsStayTrueUnderRandomUse() {
    SplittableRandom random = new SplittableRandom(5);
    List<PrefixBlocks> inUse = new ArrayList<>();
    for (int i = 0; i < 20_000; i++) {
      if (inUse.size() < 20 && random.nextBoolean()) {
        PrefixBlocks prompt =
            Prompt.of(random.nextInt(20), 1 + random.nextInt(40), random.nextInt(50), 5);
        int before = cache.match(prompt);
        cache.acquire(prompt, 16);
        assertThat(cache.match(prompt)).isEqualTo(prompt.count()).isGreaterThanOrEqualTo(before);
        inUse.add(prompt);
      } else if (!inUse.isEmpty()) {
        cache.release(inUse.remove(random.nextInt(inUse.size())), random.nextInt(5) > 0);
      }
      cache.shrinkTo(4000);
      assertThat(cache.pinnedTokens()).isBetween(0L, 20L * 45 * 16);
      assertThat(cache.heldTokens())
          .isGreaterThanOrEqualTo(cache.pinnedTokens())
          .isLessThanOrEqualTo(Math.max(4000, cache.pinnedTokens()));
    }
    for (PrefixBlocks prompt : inUse) {
      assertThat(cache.match(prompt)).isEqualTo(prompt.count());
      cache.release(prompt, true);
    }
    assertThat(cache.pinnedTokens()).isZero();
    cache.shrinkTo(0);
    assertThat(cache.heldTokens()).isZero();
  }

  @Test
  void clearedCacheHoldsNothingAndCanBeUsedOn() {
    PrefixBlocks prompt = Prompt.of(1, 10);
    cache.acquire(prompt, 16);
    cache.clear(evicted::add);
    assertThat(cache.match(prompt)).isZero();
    cache.release(prompt, true);
    assertThat(cache.heldTokens()).isZero();

    serve(prompt);
    assertThat(cache.match(prompt)).isEqualTo(10);
    assertThat(evicted).hasSize(10);
  }
}
