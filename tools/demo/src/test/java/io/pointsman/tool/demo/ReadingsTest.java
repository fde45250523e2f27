package io.pointsman.tool.demo;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ReadingsTest {
  private final Readings readings = new Readings();

  @Test
  void withoutAnAnswerThereIsNoTime() {
    assertThat(readings.latestMillis("a")).isNaN();
    assertThat(readings.millis(0.5)).isNaN();
  }

  @Test
  void eachWorkerHasItsOwnMedian() {
    for (int i = 1; i <= 5; i++) {
      readings.answered("a", i * 1_000_000L);
      readings.answered("b", i * 10_000_000L);
    }
    assertThat(readings.latestMillis("a")).isEqualTo(3);
    assertThat(readings.latestMillis("b")).isEqualTo(30);
    assertThat(readings.millis(1)).isEqualTo(50);
    assertThat(readings.answered()).isEqualTo(10);
  }

  @Test
  void onlyTheLatestAnswersOfAWorkerCount() {
    for (int i = 0; i < 1000; i++) {
      readings.answered("a", 900_000_000L);
    }
    for (int i = 0; i < 30; i++) {
      readings.answered("a", 5_000_000L);
    }
    assertThat(readings.latestMillis("a")).isEqualTo(5);
    assertThat(readings.millis(0.5)).isEqualTo(900);
  }

  @Test
  void failuresAreCountedApart() {
    readings.failed();
    assertThat(readings.failures()).isEqualTo(1);
    assertThat(readings.answered()).isZero();
  }
}
