package io.pointsman.tool.replay.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.tool.replay.trace.TraceRequest;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class BlockCutTest {
  private static final TraceRequest REQUEST =
      new TraceRequest(0, -1, 300, 1, new long[] {1, 2, 3, 4, 5});

  private static final TraceRequest HASHED =
      new TraceRequest(0, -1, 300, 1, new SplittableRandom(1).longs(5).toArray());

  @Test
  void traceBlocksAreDividedIntoEngineBlocks() {
    long[] cut = new BlockCut(64, 16).blocks(HASHED);

    assertThat(cut).hasSize(300 / 16).doesNotHaveDuplicates();
  }

  @Test
  void traceBlocksAreJoinedToEngineBlocks() {
    assertThat(new BlockCut(64, 128).blocks(REQUEST)).containsExactly(2, 4);
  }

  @Test
  void onlyCompleteBlocksCount() {
    assertThat(new BlockCut(64, 64).blocks(REQUEST)).containsExactly(1, 2, 3, 4);
  }

  @Test
  void defaultBlocksHave64TokensIfTheTraceCanBeDivided() {
    assertThat(new BlockCut(512, 0).engineTokens()).isEqualTo(64);
    assertThat(new BlockCut(100, 0).engineTokens()).isEqualTo(100);
  }

  @Test
  void blocksThatDoNotFitAreRefused() {
    assertThatThrownBy(() -> new BlockCut(64, 48))
        .hasMessage("block-size: 48 (expected: a divisor or a multiple of the trace's 64)");
  }
}
