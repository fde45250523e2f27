package io.pointsman.engine.prefix;

import static io.pointsman.engine.prefix.PrefixIndexProperties.holders;
import static io.pointsman.engine.prefix.Prompts.prompt;
import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PrefixIndexTest {
  private static final long MINUTE = TimeUnit.MINUTES.toNanos(1);

  @Test
  void matchEndsWherePromptsDiverge() {
    PrefixIndex index = new PrefixIndex(1 << 20, 4);
    index.add(prompt("abcdef"), index.epoch(1), 0, 0);

    assertThat(index.match(prompt("abcdXY"))).isEqualTo(4);
    assertThat(index.match(prompt("Xbcdef"))).isZero();
    assertThat(index.match(prompt("abcdefghij"))).isEqualTo(6);
    assertThat(index.match(PrefixBlocks.NONE)).isZero();
  }

  @Test
  void moreThanFourHoldersGetABitmap() {
    PrefixIndex index = new PrefixIndex(1 << 20, 40);
    PrefixBlocks prompt = prompt("abcd");
    for (int slot = 0; slot < 40; slot++) {
      index.add(prompt, index.epoch(slot), 0, 0);
      assertThat(index.holderBitmap(prompt, 4) != null).isEqualTo(slot >= 4);
      assertThat(holders(index, prompt, 4)).hasSize(slot + 1);
    }
  }

  @Test
  void bitmapWidensToTheHighestSlot() {
    PrefixIndex index = new PrefixIndex(8 << 20, 1 << 16);
    PrefixBlocks prompt = prompt("abcd");
    int[] slots = {0, 1, 2, 3, 4, 700, 65_535};
    for (int slot : slots) {
      index.add(prompt, index.epoch(slot), 0, 0);
    }

    HolderBitmap bitmap = requireNonNull(index.holderBitmap(prompt, 4));
    assertThat(IntStream.range(0, 1 << 16).filter(bitmap::holds))
        .containsExactly(0, 1, 2, 3, 4, 700, 65_535);
  }

  @Test
  void withoutRoomForABitmapTheNewestHoldersStay() {
    PrefixIndex index = new PrefixIndex(64 << 10, 1 << 16);
    PrefixBlocks prompt = prompt("abcd");
    for (int slot = 0; slot < 40; slot++) {
      index.add(prompt, index.epoch(slot), 0, 0);
    }

    assertThat(holders(index, prompt, 4)).hasSize(4).contains(39);
  }

  @Test
  void leastRecentlyUsedClaimsAreEvicted() {
    PrefixIndex index = new PrefixIndex(64 << 10, 4);
    PrefixBlocks kept = prompt(1, 60, 1, 60);
    PrefixBlocks idle = prompt(2, 60, 1, 60);
    index.add(kept, index.epoch(0), 0, 0);
    index.add(idle, index.epoch(0), 0, 0);
    for (int i = 1; i <= 400; i++) {
      index.add(prompt(3, 0, i, 60), index.epoch(1), 0, i * MINUTE);
      index.add(kept, index.epoch(0), kept.count(), i * MINUTE);
    }

    assertThat(index.match(kept)).isEqualTo(60);
    assertThat(index.match(idle)).isZero();
    assertThat(index.bytes()).isLessThanOrEqualTo(64 << 10);
  }

  @Test
  void holesDoNotHideLongerPrefixes() {
    PrefixIndex index = new PrefixIndex(64 << 10, 4);
    int found = 0;
    for (int i = 0; i < 400; i++) {
      PrefixBlocks prompt = prompt(i, 200, 1, 200);
      index.add(prompt, index.epoch(0), 0, i * MINUTE);
      PrefixBlocks earlier = prompt(Math.max(0, i - 8), 200, 1, 201);
      found += index.match(earlier) >= 192 ? 1 : 0;
    }

    assertThat(index.evictions()).isPositive();
    assertThat(found).isGreaterThan(360);
  }

  @Test
  void idleIndexIsSmall() {
    PrefixIndex index = new PrefixIndex(256 << 20, 16_384);
    assertThat(index.bytes()).isLessThan(256 << 10);

    for (int i = 0; i < 100; i++) {
      index.add(prompt(i, 256, 1, 256), index.epoch(i), 0, 0);
    }
    assertThat(index.entries()).isEqualTo(4_800);
    assertThat(index.bytes()).isLessThan(8 << 20);
  }

  @Test
  void endedEpochAddsNothing() {
    PrefixIndex index = new PrefixIndex(1 << 20, 16);
    for (int slot = 0; slot < 8; slot++) {
      index.add(prompt("popular"), index.epoch(slot), 0, 0);
    }
    int ended = index.epoch(9);
    index.forget(9);

    index.add(prompt("few"), ended, 0, 0);
    index.add(prompt("popular"), ended, 0, 0);
    assertThat(index.match(prompt("few"))).isZero();
    assertThat(holders(index, prompt("popular"), 7)).doesNotContain(9).hasSize(8);
  }

  @Test
  void secondHolderIsFoundBesideTheFirst() {
    PrefixIndex index = new PrefixIndex(1 << 20, 4);
    index.add(prompt("abcdefghijkl"), index.epoch(1), 0, 0);
    index.add(prompt("abcdefghXY"), index.epoch(2), 0, 0);

    for (int length = 1; length <= 8; length++) {
      assertThat(holders(index, prompt("abcdefgh"), length)).containsExactlyInAnyOrder(1, 2);
    }
    assertThat(holders(index, prompt("abcdefghijkl"), 12)).containsExactly(1);
    assertThat(holders(index, prompt("abcdefghXY"), 10)).containsExactly(2);
  }

  @Test
  void continuationsOfOnePrefixDoNotEvictEachOther() {
    PrefixIndex index = new PrefixIndex(4 << 20, 4);
    for (int i = 0; i < 1_000; i++) {
      index.add(prompt(1, 3, i, 8), index.epoch(i % 4), 3, i * MINUTE);
    }

    assertThat(index.evictions()).isZero();
    for (int i = 0; i < 1_000; i++) {
      assertThat(index.match(prompt(1, 3, i, 8))).isEqualTo(8);
    }
  }

  @Test
  void distinctPromptsTakeLessThanTenBytesALength() {
    PrefixIndex index = new PrefixIndex(1 << 20, 4);
    for (int i = 0; i < 20_000; i++) {
      index.add(prompt(i, 32, 1, 32), index.epoch(0), 0, i * MINUTE);
    }

    assertThat(index.bytes()).isLessThan(index.entries() * 10).isLessThanOrEqualTo(1 << 20);
  }

  @Test
  void removedPrefixIsCachedByTheOthersOnly() {
    PrefixIndex index = new PrefixIndex(1 << 20, 4);
    PrefixBlocks prompt = prompt(1, 32, 1, 32);
    PrefixBlocks alone = prompt(2, 32, 1, 32);
    index.add(prompt, index.epoch(0), 0, 0);
    index.add(prompt, index.epoch(1), 0, 0);
    index.add(alone, index.epoch(2), 0, 0);

    index.remove(lengths(prompt), 10, 24, index.epoch(0));
    index.remove(lengths(alone), 10, 24, index.epoch(2));

    assertThat(holders(index, prompt, 10)).containsExactlyInAnyOrder(0, 1);
    assertThat(holders(index, prompt, 11)).containsExactly(1);
    assertThat(holders(index, prompt, 32)).containsExactly(1);
    assertThat(index.match(alone)).isEqualTo(10);
    index.remove(lengths(alone), 0, 10, index.epoch(2));
    assertThat(index.match(alone)).isZero();
    assertThat(index.entries()).isEqualTo(24 + 10);
  }

  @Test
  void runThatOutlivedItsBeginningHidesNoHolder() {
    PrefixIndex index = new PrefixIndex(1 << 20, 4);
    PrefixBlocks prompt = prompt(1, 16, 1, 16);
    index.add(prompt, index.epoch(1), 0, 0);
    index.remove(lengths(prompt), 0, 8, index.epoch(1));
    index.add(prompt, index.epoch(2), 0, 0);

    assertThat(holders(index, prompt, 8)).containsExactly(2);
    assertThat(holders(index, prompt, 16)).containsExactlyInAnyOrder(1, 2);
  }

  @Test
  void removalWorksAfterTheBeginningWasReplaced() {
    PrefixIndex index = new PrefixIndex(64 << 10, 4);
    for (int i = 0; i < 100; i++) {
      PrefixBlocks prompt = prompt(i, 8, 1, 8);
      index.add(prompt, index.epoch(0), 0, i * MINUTE);
      index.add(prompt, index.epoch(1), 0, i * MINUTE);
    }
    for (int i = 0; i < 100; i++) {
      PrefixBlocks prompt = prompt(i, 8, 1, 8);
      index.add(prompt, index.epoch(0), 0, (100 + i) * MINUTE);
      index.remove(lengths(prompt), 0, 8, index.epoch(0));
      for (int length = 1; length <= 8; length++) {
        assertThat(holders(index, prompt, length)).doesNotContain(0);
      }
    }
  }

  static Lengths lengths(PrefixBlocks prompt) {
    long[] hashes = new long[IndexedLengths.upTo(prompt.count())];
    for (int i = 0; i < hashes.length; i++) {
      hashes[i] = prompt.hashes()[IndexedLengths.blocks(i) - 1];
    }
    return new Lengths(hashes) {
      {
        become(prompt, 1);
      }
    };
  }

  @Test
  void ageIsCorrectAfterTheTimeOverflows() {
    PrefixIndex index = new PrefixIndex(64 << 10, 4);
    long start = Long.MAX_VALUE - 200 * MINUTE;
    PrefixBlocks kept = prompt(1, 60, 1, 60);
    for (int i = 0; i <= 400; i++) {
      index.add(kept, index.epoch(0), index.match(kept), start + i * MINUTE);
      index.add(prompt(3, 0, i, 60), index.epoch(1), 0, start + i * MINUTE);
    }
    assertThat(index.match(kept)).isEqualTo(60);
  }

  @Test
  void invalidArgumentsAreRefused() {
    assertThatThrownBy(() -> new PrefixIndex(1000, 4))
        .hasMessage("maxBytes: 1000 (expected: >= 65536)");
    assertThatThrownBy(() -> new PrefixIndex(1 << 20, 0))
        .hasMessage("slots: 0 (expected: 1 to 65536)");
  }
}
