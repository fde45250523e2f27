package io.pointsman.proxy.body;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class BodyBudgetTest {
  private final BodyBudget all = new BodyBudget(100);

  @Test
  void aClientsBytesCountInItsShareAndInTheWhole() {
    BodyBudget own = all.enter("a", 0.5);
    assertThat(own.take(40)).isTrue();
    assertThat(all.taken()).isEqualTo(40);
    assertThat(own.tight()).isTrue();
    assertThat(own.take(11)).as("above its share").isFalse();
    assertThat(own.admits(11)).isFalse();
    assertThat(all.refused()).isEqualTo(2);
    assertThat(all.taken()).isEqualTo(40);
    own.giveBack(40);
    assertThat(all.taken()).isZero();
  }

  @Test
  void othersCanUseTheRest() {
    BodyBudget one = all.enter("a", 0.5);
    BodyBudget other = all.enter("b", 0.5);
    assertThat(one.take(50)).isTrue();
    assertThat(other.take(50)).isTrue();
    BodyBudget third = all.enter("c", 0.5);
    assertThat(third.take(1)).isFalse();
    assertThat(third.taken()).isZero();
    assertThat(all.taken()).isEqualTo(100);
  }

  @Test
  void connectionsOfOneClientShareUntilTheLastIsClosed() {
    BodyBudget own = all.enter("a", 0.5);
    assertThat(all.enter("a", 0.5)).isSameAs(own);
    all.leave("a");
    assertThat(all.enter("a", 0.5)).isSameAs(own);
    all.leave("a");
    all.leave("a");
    assertThat(all.enter("a", 0.5)).isNotSameAs(own);
  }

  @Test
  void sharesFollowAChangedMaximum() {
    BodyBudget own = all.enter("a", 0.5);
    assertThat(own.take(50)).isTrue();
    all.limit(200);
    assertThat(own.take(50)).isTrue();
    assertThat(own.take(1)).isFalse();
    assertThat(all.enter("a", 0.75).take(50)).isTrue();
    all.limit(100);
    assertThat(all.taken()).isEqualTo(150);
    assertThat(own.take(1)).isFalse();
  }
}
