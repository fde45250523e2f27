package io.pointsman.engine.prefix;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class PrefixBlocksTest {
  private static final int BLOCKS = 23;

  private static long[] chained(long salt, long... pieces) {
    return PrefixBlocks.chain(salt, pieces, pieces.length, pieces.length * 16, 16, pieces.length)
        .hashes();
  }

  private static long[] pieces(int count) {
    return LongStream.range(0, count).map(PrefixBlocks::mix).toArray();
  }

  @Test
  void hashCoversEverythingBeforeItAndNothingAfterIt() {
    long[] whole = chained(7, pieces(BLOCKS));
    for (int count = 0; count <= BLOCKS; count++) {
      assertThat(chained(7, pieces(count))).isEqualTo(Arrays.copyOf(whole, count));
    }
  }

  @Test
  void everyPieceChangesItsHashAndAllAfterIt() {
    long[] whole = chained(7, pieces(BLOCKS));
    for (int changed = 0; changed < BLOCKS; changed++) {
      long[] other = pieces(BLOCKS);
      other[changed]++;
      long[] hashes = chained(7, other);
      for (int i = 0; i < BLOCKS; i++) {
        assertThat(hashes[i] == whole[i]).isEqualTo(i < changed);
      }
    }
  }

  @Test
  void orderOfPiecesMatters() {
    assertThat(chained(7, 1, 2)[1]).isNotEqualTo(chained(7, 2, 1)[1]);
  }

  @Test
  void saltChangesEveryHash() {
    long[] salted = chained(8, pieces(BLOCKS));
    assertThat(chained(7, pieces(BLOCKS))).doesNotContain(salted);
  }

  @Test
  void mixingCanBeUndone() {
    for (long x : new long[] {0, 1, -1, 77, Long.MIN_VALUE, Long.MAX_VALUE, 0x123456789ABCDEFL}) {
      assertThat(PrefixBlocks.unmix(PrefixBlocks.mix(x))).isEqualTo(x);
    }
  }

  @Test
  void aKeyCanBeContinued() {
    long[] all = pieces(BLOCKS);
    long[] whole = chained(7, pieces(BLOCKS));
    for (int count = 1; count < BLOCKS; count++) {
      PrefixBlocks first =
          PrefixBlocks.chain(7, Arrays.copyOf(all, count), count, count * 16, 16, count * 16);
      long[] rest = Arrays.copyOfRange(all, count, BLOCKS);
      assertThat(chained(first.saltBehind(), rest))
          .isEqualTo(Arrays.copyOfRange(whole, count, BLOCKS));
    }
  }

  @Test
  void keyOfTokenIdsCanBeRebasedToAnotherModel() {
    int[] ids = IntStream.range(0, 100_000).toArray();
    PrefixBlocks one = TokenIds.key(7, ids, ids.length, ids.length);
    PrefixBlocks other = TokenIds.key(8, ids, ids.length, ids.length);
    for (int i = 0; i < one.count(); i++) {
      assertThat(one.rebased(i, other.base())).isEqualTo(other.hashes()[i]);
    }
    assertThat(one.rebased(5, one.base())).isEqualTo(one.hashes()[5]);
  }

  @Test
  void keyOfKnownIdsIsChainedLikeOtherKeys() {
    int[] ids = IntStream.range(0, 40).toArray();
    PrefixBlocks known = TokenIds.key(7, ids, 32, 50);
    PrefixBlocks whole = TokenIds.key(7, ids, 40, 40);

    assertThat(known.hashes()).isEqualTo(Arrays.copyOf(whole.hashes(), 2));
    assertThat(known.tokens()).isEqualTo(50);
    assertThat(known.length()).isEqualTo(32);
    assertThat(whole.count()).isEqualTo(3);
    assertThat(TokenIds.key(7, ids, 39, 39).hashes()[2]).isNotEqualTo(whole.hashes()[2]);
  }

  @Test
  void onlyLongerKeysPassAMark() {
    PrefixBlocks prompt = Prompts.prompt("abc");
    PrefixMark mark = new PrefixMark(prompt.whole(), prompt.count());

    assertThat(mark.isPassedBy(Prompts.prompt("abcd"))).isTrue();
    assertThat(mark.isPassedBy(prompt)).isFalse();
    assertThat(mark.isPassedBy(Prompts.prompt("abd"))).isFalse();
    assertThat(mark.isPassedBy(Prompts.prompt("abdc"))).isFalse();
    assertThat(mark.isPassedBy(Prompts.prompt(1, "abcd"))).isFalse();
    assertThat(mark.isPassedBy(PrefixBlocks.NONE)).isFalse();
  }
}
