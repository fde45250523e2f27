package io.pointsman.engine.policy.cost.cache;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.policy.cost.Prompt;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

class BlockScaleTest {
  @Test
  void fourBlocksOf16TokensAreOneAndTheLastMayBeShorter() {
    PrefixBlocks key = Prompt.of(1, 30);
    BlockScale scale = BlockScale.of(key);
    PrefixBlocks coarse = scale.coarse();

    assertThat(coarse.count()).isEqualTo(8);
    for (int i = 0; i < 7; i++) {
      assertThat(coarse.hashes()[i]).isEqualTo(key.hashes()[4 * i + 3]);
      assertThat(scale.fine(i + 1)).isEqualTo(4 * i + 4);
      assertThat(coarse.ratio(i + 1)).isEqualTo(key.ratio(4 * i + 4));
    }
    assertThat(coarse.whole()).isEqualTo(key.whole());
    assertThat(coarse.tokens()).isEqualTo(key.tokens());
    assertThat(scale.fine(8)).isEqualTo(30);
    assertThat(scale.coarse(30)).isEqualTo(8);
    assertThat(scale.coarse(28)).isEqualTo(7);
    assertThat(scale.coarse(27)).isEqualTo(6);
    assertThat(scale.coarse(3)).isZero();
  }

  @Test
  void fourBlocksOf64BytesAreOneHoweverManyTokensTheyAreTakenFor() {
    for (int tokens : new int[] {1, 60, 480, 481, 700, 100_000}) {
      PrefixBlocks key = new PrefixBlocks(Prompt.of(1, 30).hashes(), 30, 1_920, 64, tokens);

      assertThat(BlockScale.of(key.asText()).coarse().count()).isEqualTo(8);
    }
  }

  @Test
  void theStartOfAPromptIsFoundAtAnyEstimatedLength() {
    PrefixBlocks next = Prompt.of(1, 50);
    for (int tokens = 300; tokens < 900; tokens += 7) {
      PrefixBlocks before = new PrefixBlocks(Prompt.of(1, 30).hashes(), 30, 1_920, 64, tokens);
      PrefixBlocks coarse = BlockScale.of(before.asText()).coarse();
      PrefixBlocks later = new PrefixBlocks(next.hashes(), 50, 3_200, 64, 2 * tokens / 3);

      assertThat(BlockScale.of(later.asText()).coarse().hashes())
          .startsWith(Arrays.copyOf(coarse.hashes(), coarse.count() - 1));
    }
  }

  @Test
  void blocksThatAreLongEnoughStayAsTheyAre() {
    PrefixBlocks key = new PrefixBlocks(new long[] {1, 2, 3}, 3, 180, 64, 180);

    assertThat(BlockScale.of(key).coarse()).isSameAs(key);
    assertThat(BlockScale.of(key).fine(2)).isEqualTo(2);
    assertThat(BlockScale.of(PrefixBlocks.NONE).coarse()).isSameAs(PrefixBlocks.NONE);
    assertThat(BlockScale.of(PrefixBlocks.NONE).fine(0)).isZero();
  }
}
