package io.pointsman.proxy.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.testkit.ScriptedRandomSource;
import org.junit.jupiter.api.Test;

class RouterIdTest {
  private final RouterId own = RouterId.random(ScriptedRandomSource.seeded(1)::roll);
  private final RouterId other = RouterId.random(ScriptedRandomSource.seeded(2)::roll);

  @Test
  void aRandomIdHasSixteenDigits() {
    assertThat(own.text()).matches("[0-9a-f]{16}");
    assertThat(own.text()).isNotEqualTo(other.text());
  }

  @Test
  void theOwnIdPrecedesEarlierOnes() {
    assertThat(own.via(null)).isEqualTo(own.text());
    assertThat(own.via("")).isEqualTo(own.text());
    assertThat(own.via("a, b")).isEqualTo(own.text() + ", a, b");
    assertThat(RouterId.NONE.via(null)).isEmpty();
  }

  @Test
  void aRequestThatHasPassedTheRouterOrTooManyIsInACircle() {
    assertThat(own.endsLoop(own.text())).isTrue();
    assertThat(own.endsLoop("a ,\t" + own.text() + ",b")).isTrue();
    assertThat(own.endsLoop("1, 2, 3, 4, 5, 6, 7, 8, 9")).isTrue();

    assertThat(own.endsLoop("1, 2, 3, 4, 5, 6, 7, 8")).isFalse();
    assertThat(own.endsLoop(other.text())).isFalse();
    assertThat(own.endsLoop(own.text() + "0")).isFalse();
    assertThat(own.endsLoop("")).isFalse();
    assertThat(RouterId.NONE.endsLoop(", ,")).isFalse();
  }
}
