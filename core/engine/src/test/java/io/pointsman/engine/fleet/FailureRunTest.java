package io.pointsman.engine.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class FailureRunTest {
  private final FailureRun run = new FailureRun();

  @Test
  void coversRequestsPlacedAfterItsFirstFailure() {
    assertThat(run.covers(5, 5)).isFalse();
    run.failed(0, 10);
    assertThat(run.covers(9, 20)).isFalse();
    assertThat(run.covers(10, 20)).isFalse();
    assertThat(run.covers(11, 20)).isTrue();
    run.failed(0, 15);
    assertThat(run.covers(11, 20)).isTrue();
    assertThat(run.length()).isEqualTo(2);
  }

  @Test
  void endsWithOutput() {
    run.failed(0, 10);
    run.served();
    assertThat(run.covers(11, 20)).isFalse();
    run.failed(0, 30);
    assertThat(run.length()).isEqualTo(1);
    assertThat(run.covers(20, 31)).isFalse();
    assertThat(run.covers(31, 32)).isTrue();
  }

  @Test
  void endsWithoutAFailureForSomeTime() {
    run.failed(0, 10);
    assertThat(run.covers(11, 10 + FailureRun.MOST_APART_NANOS)).isTrue();
    assertThat(run.covers(11, 11 + FailureRun.MOST_APART_NANOS)).isFalse();
    run.failed(0, 11 + FailureRun.MOST_APART_NANOS);
    assertThat(run.length()).isEqualTo(1);
    assertThat(run.covers(20, 12 + FailureRun.MOST_APART_NANOS)).isFalse();
  }

  @Test
  void continuesWithRequestsThatArePlacedLater() {
    run.failed(5, 10);
    run.failed(8, 12);
    assertThat(run.continuedAfter(10)).isFalse();
    run.failed(11, 13);
    run.failed(9, 14);
    assertThat(run.continuedAfter(10)).isTrue();
    run.served();
    assertThat(run.continuedAfter(10)).isFalse();
    assertThat(run.failing()).isFalse();
  }
}
