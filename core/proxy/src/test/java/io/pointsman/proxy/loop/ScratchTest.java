package io.pointsman.proxy.loop;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ScratchTest {
  private final Scratch scratch = new Scratch();

  @Test
  void largeBodiesUseOneArrayInTurn() {
    byte[] first = scratch.atLeast(7 << 20);
    assertThat(first).hasSize(7 << 20);
    assertThat(scratch.atLeast(5 << 20)).isSameAs(first);
    byte[] larger = scratch.atLeast((7 << 20) + 1);
    assertThat(larger).isNotSameAs(first).hasSize((7 << 20) + 1);
    assertThat(scratch.atLeast(2 << 20)).isSameAs(larger);
  }

  @Test
  void smallBodiesKeepTheirArray() {
    byte[] small = scratch.atLeast(100);
    scratch.atLeast(8 << 20);
    assertThat(scratch.atLeast(8192)).isSameAs(small);
    assertThat(scratch.atLeast(Scratch.KEPT)).hasSize(Scratch.KEPT);
  }
}
