package io.pointsman.engine.prefix;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
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
  void hashStandsForEverythingBeforeItAndForNothingBehindIt() {
    long[] whole = chained(7, pieces(BLOCKS));
    for (int count = 0; count <= BLOCKS; count++) {
      assertThat(chained(7, pieces(count))).isEqualTo(Arrays.copyOf(whole, count));
    }
  }

  @Test
  void everyPieceChangesItsHashAndAllBehindIt() {
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
}
