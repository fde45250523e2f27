package io.pointsman.engine.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class FailureRunTest {
  private final FailureRun run = new FailureRun();

  @Test
  void coversRequestsPlacedAfterItsFirstFailure() {
    assertThat(run.covers(5, 5)).isFalse();
    run.failed(10);
    assertThat(run.covers(9, 20)).isFalse();
    assertThat(run.covers(10, 20)).isFalse();
    assertThat(run.covers(11, 20)).isTrue();
    run.failed(15);
    assertThat(run.covers(11, 20)).isTrue();
    assertThat(run.length()).isEqualTo(2);
  }

  @Test
  void endsWithOutput() {
    run.failed(10);
    run.served();
    assertThat(run.covers(11, 20)).isFalse();
    run.failed(30);
    assertThat(run.length()).isEqualTo(1);
    assertThat(run.covers(20, 31)).isFalse();
    assertThat(run.covers(31, 32)).isTrue();
  }

  @Test
  void endsWithoutAFailureForSomeTime() {
    run.failed(10);
    assertThat(run.covers(11, 10 + FailureRun.MOST_APART_NANOS)).isTrue();
    assertThat(run.covers(11, 11 + FailureRun.MOST_APART_NANOS)).isFalse();
    run.failed(11 + FailureRun.MOST_APART_NANOS);
    assertThat(run.length()).isEqualTo(1);
    assertThat(run.covers(20, 12 + FailureRun.MOST_APART_NANOS)).isFalse();
  }
}
