package io.pointsman.pd.execution.answer;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class BufferedBodiesTest {
  @Test
  void theSumOfAllBodiesIsBounded() {
    BufferedBodies bodies = new BufferedBodies(100);
    assertThat(bodies.enter(60)).isTrue();
    assertThat(bodies.enter(41)).isFalse();
    assertThat(bodies.enter(40)).isTrue();
    bodies.leave(60);
    assertThat(bodies.enter(61)).isFalse();
    assertThat(bodies.enter(60)).isTrue();
  }

  @Test
  void aSingleBodyMayExceedTheLimit() {
    BufferedBodies bodies = new BufferedBodies(100);
    assertThat(bodies.enter(1000)).isTrue();
    assertThat(bodies.enter(1)).isFalse();
    bodies.leave(1000);
    assertThat(bodies.enter(1)).isTrue();
  }
}
