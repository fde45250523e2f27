package io.pointsman.tool.replay.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.pointsman.tool.replay.trace.TraceRequest;
import org.junit.jupiter.api.Test;

class MergedCacheTest {
  private static TraceRequest prompt(int tokens, long... blocks) {
    return new TraceRequest(0, -1, tokens, 1, blocks);
  }

  @Test
  void sharedBeginningsAreFound() {
    MergedCache cache = new MergedCache(10, 1000);
    cache.take(prompt(25, 1, 2, 3));
    cache.take(prompt(35, 1, 2, 4, 5));

    assertThat(cache.hit()).isCloseTo(20.0 / 60, within(1e-9));
  }

  @Test
  void lastTokenIsComputedAlways() {
    MergedCache cache = new MergedCache(10, 1000);
    cache.take(prompt(20, 1, 2));
    cache.take(prompt(20, 1, 2));

    assertThat(cache.hit()).isCloseTo(19.0 / 40, within(1e-9));
  }

  @Test
  void endOfTheLeastRecentlyUsedPromptIsEvictedFirst() {
    MergedCache cache = new MergedCache(10, 50);
    cache.take(prompt(30, 1, 2, 3));
    cache.take(prompt(30, 4, 5, 6));
    cache.take(prompt(30, 1, 2, 3));

    assertThat(cache.hit()).isCloseTo(20.0 / 90, within(1e-9));
  }
}
