package io.pointsman.pd.execution.answer;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class HeldBodiesTest {
  @Test
  void theSumOfAllBodiesIsBounded() {
    HeldBodies bodies = new HeldBodies(100);
    assertThat(bodies.enter(60)).isTrue();
    assertThat(bodies.enter(41)).isFalse();
    assertThat(bodies.enter(40)).isTrue();
    bodies.leave(60);
    assertThat(bodies.enter(61)).isFalse();
    assertThat(bodies.enter(60)).isTrue();
  }

  @Test
  void aSingleBodyMayExceedTheLimit() {
    HeldBodies bodies = new HeldBodies(100);
    assertThat(bodies.enter(1000)).isTrue();
    assertThat(bodies.enter(1)).isFalse();
    bodies.leave(1000);
    assertThat(bodies.enter(1)).isTrue();
  }
}
