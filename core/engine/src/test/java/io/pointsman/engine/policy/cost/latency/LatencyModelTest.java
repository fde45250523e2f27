package io.pointsman.engine.policy.cost.latency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.SplittableRandom;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;

class LatencyModelTest {
  private final LatencyModel model = new LatencyModel(8192);

  @Test
  void answersFromItsPriorAtFirst() {
    assertThat(model.millis(0, 0)).isEqualTo(20);
    assertThat(model.millis(8192, 0.5)).isEqualTo((20 + 15) + 150);
  }

  @Test
  void learnsHowLongEnginesTake() {
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < 2000; i++) {
      double tokens = 100 + random.nextInt(20_000);
      double util = random.nextDouble();
      double millis = (8 + 40 * util) * Math.ceil(tokens / 8192) + 300 * tokens / 8192;
      model.learn(tokens, util, millis * (0.9 + random.nextDouble() * 0.2));
    }

    assertThat(model.millis(4096, 0.2)).isCloseTo(16 + 150, Percentage.withPercentage(5));
    assertThat(model.millis(16_384, 0.8)).isCloseTo(40 * 2 + 600, Percentage.withPercentage(5));
  }

  @Test
  void learnsFromPromptsOfOneLengthAlone() {
    for (int i = 0; i < 500; i++) {
      model.learn(8192, 0, 2);
    }
    assertThat(model.millis(8192, 0)).as("much faster than thought").isCloseTo(2, within(2.0));
    LatencyModel slow = new LatencyModel(8192);
    for (int i = 0; i < 500; i++) {
      slow.learn(1, 0, 700);
    }
    assertThat(slow.millis(1, 0)).as("much slower").isCloseTo(700, within(70.0));
  }

  @Test
  void forgetsFormerStates() {
    for (int i = 0; i < 5000; i++) {
      model.learn(8192, 0, 1000);
    }
    assertThat(model.millis(8192, 0)).isCloseTo(1000, within(20.0));
    for (int i = 0; i < 5000; i++) {
      model.learn(8192, 0, 200);
    }
    assertThat(model.millis(8192, 0)).isCloseTo(200, within(20.0));
  }

  @Test
  void neverPredictsLessThanNothing() {
    for (int i = 0; i < 1000; i++) {
      model.learn(i % 2 == 0 ? 100 : 20_000, i % 3 * 0.5, i % 2 == 0 ? 3000 : 1);
    }

    for (int tokens = 0; tokens < 100_000; tokens += 500) {
      assertThat(model.millis(tokens, 1)).isPositive();
      assertThat(model.millis(tokens, 0)).isPositive();
    }
  }
}
