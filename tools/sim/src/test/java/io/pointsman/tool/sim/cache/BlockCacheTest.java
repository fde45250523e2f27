package io.pointsman.tool.sim.cache;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.tool.sim.cache.BlockCache.Reservation;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class BlockCacheTest {
  private static final int BLOCK = 4;
  private final BlockCache cache = new BlockCache(10, BLOCK);

  @Test
  void publishedPrefixIsFoundAgain() {
    run(prompt(1, 13), 13, 0);

    assertThat(reserve(prompt(1, 13), 0).cachedTokens()).isEqualTo(12);
  }

  @Test
  void lastTokenIsNeverFoundEvenWhenItsBlockIsComplete() {
    run(prompt(1, 12), 12, 0);

    assertThat(reserve(prompt(1, 12), 0).cachedTokens()).isEqualTo(8);
  }

  @Test
  void onlyTheCommonPrefixIsFound() {
    run(prompt(1, 13), 13, 0);
    int[] fork = prompt(1, 13);
    fork[5] = 99;

    assertThat(reserve(fork, 0).cachedTokens()).isEqualTo(4);
  }

  @Test
  void evictedPromptIsFoundOnTheFurtherTier() {
    RecordedOffload recorded = new RecordedOffload();
    cache.offloadTo(new Offload(100, recorded));
    run(prompt(1, 17), 17, 0);
    run(prompt(2, 40), 40, 0);

    assertThat(cache.known(BlockHashes.of(prompt(1, 17), BLOCK, 0))).isZero();
    assertThat(recorded.there).hasSize(4);
    assertThat(reserve(prompt(1, 17), 0).cachedTokens()).isEqualTo(16);
  }

  @Test
  void furtherTierDropsTheLeastRecentlyUsed() {
    RecordedOffload recorded = new RecordedOffload();
    cache.offloadTo(new Offload(6, recorded));
    run(prompt(1, 17), 17, 0);
    run(prompt(2, 40), 40, 0);
    run(prompt(3, 17), 17, 0);

    // Five blocks of the second prompt have left the device, and three of the first were dropped
    // for them.
    assertThat(recorded.there).hasSize(6);
    assertThat(recorded.dropped).isEqualTo(3);
    assertThat(reserve(prompt(1, 17), 0).cachedTokens()).isEqualTo(4);
  }

  @Test
  void forgettingClearsTheFurtherTierToo() {
    RecordedOffload recorded = new RecordedOffload();
    cache.offloadTo(new Offload(100, recorded));
    run(prompt(1, 17), 17, 0);
    run(prompt(2, 40), 40, 0);
    Reservation running = reserve(prompt(3, 8), 0);
    cache.publish(running, 8);
    cache.forgetIdle();

    assertThat(recorded.there)
        .as("recorded one by one, as something stays on the device")
        .isEmpty();
    cache.release(running);
    assertThat(reserve(prompt(1, 17), 0).cachedTokens()).isZero();
  }

  private static final class RecordedOffload implements OffloadListener {
    private final Set<Long> there = new HashSet<>();
    private int dropped;

    @Override
    public void offloaded(PromptOrigin origin, long[] hashes, int block) {
      assertThat(there.add(hashes[block])).isTrue();
    }

    @Override
    public void dropped(long hash) {
      assertThat(there.remove(hash)).isTrue();
      dropped++;
    }
  }

  @Test
  void outputBlocksAreNotReused() {
    run(prompt(1, 8), 8, 8);

    assertThat(cache.idleBlocks()).isEqualTo(2);
    assertThat(cache.pinnedBlocks()).isZero();
  }

  @Test
  void unpublishedPromptIsNotFound() {
    Reservation first = reserve(prompt(1, 16), 0);
    cache.publish(first, 9);

    assertThat(reserve(prompt(1, 16), 0).cachedTokens()).isEqualTo(8);
  }

  @Test
  void leastRecentlyUsedPromptIsEvictedFirstAndItsTailBeforeItsHead() {
    run(prompt(1, 16), 16, 0);
    run(prompt(2, 16), 16, 0);
    run(prompt(3, 16), 16, 0);

    assertThat(cache.idleBlocks()).isEqualTo(10);
    assertThat(reserve(prompt(1, 17), 0).cachedTokens()).isEqualTo(8);
  }

  @Test
  void useMakesAPromptTheMostRecent() {
    run(prompt(1, 16), 16, 0);
    run(prompt(2, 16), 16, 0);
    run(prompt(1, 17), 17, 0);
    run(prompt(3, 16), 16, 0);

    assertThat(reserve(prompt(1, 17), 0).cachedTokens()).isEqualTo(16);
  }

  @Test
  void pinnedBlocksAreNeverEvicted() {
    Reservation held = reserve(prompt(1, 16), 16);
    cache.publish(held, 16);

    assertThat(cache.reserve(hashes(prompt(2, 12)), 12, 12)).isNull();
    assertThat(cache.pinnedBlocks()).isEqualTo(8);
  }

  @Test
  void refusedReservationChangesNothing() {
    run(prompt(1, 16), 16, 0);

    assertThat(cache.reserve(hashes(prompt(1, 17)), 17, 44)).isNull();
    assertThat(cache.idleBlocks()).isEqualTo(4);
    assertThat(cache.pinnedBlocks()).isZero();
  }

  @Test
  void sharedBlocksAreCountedOnce() {
    Reservation first = reserve(prompt(1, 17), 3);
    cache.publish(first, 17);
    reserve(prompt(1, 17), 3);

    assertThat(cache.pinnedBlocks()).isEqualTo(6);
  }

  @Test
  void secondReleaseIsRefused() {
    Reservation held = reserve(prompt(1, 4), 0);
    cache.release(held);

    assertThatThrownBy(() -> cache.release(held)).isInstanceOf(IllegalStateException.class);
  }

  @Test
  void flushForgetsIdleBlocksOnly() {
    run(prompt(1, 16), 16, 0);
    Reservation held = reserve(prompt(2, 8), 0);
    cache.publish(held, 8);

    assertThat(cache.forgetIdle()).isEqualTo(4);
    assertThat(cache.pinnedBlocks()).isEqualTo(2);
  }

  @Test
  void saltSeparatesEqualTokens() {
    assertThat(BlockHashes.of(prompt(1, 8), BLOCK, 1))
        .doesNotContain(BlockHashes.of(prompt(1, 8), BLOCK, 2));
  }

  private void run(int[] prompt, int published, int output) {
    Reservation reservation = reserve(prompt, output);
    reservation.of(new PromptOrigin(prompt, null, ""));
    cache.publish(reservation, published);
    cache.release(reservation);
  }

  private Reservation reserve(int[] prompt, int output) {
    return Objects.requireNonNull(
        cache.reserve(hashes(prompt), prompt.length, prompt.length + output));
  }

  private static long[] hashes(int[] prompt) {
    return BlockHashes.of(prompt, BLOCK, 0);
  }

  private static int[] prompt(int group, int length) {
    return IntStream.range(0, length).map(i -> group * 1000 + i).toArray();
  }
}
