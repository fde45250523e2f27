package io.pointsman.engine.policy.cache;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.testkit.FakeClock;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class RecentWorkTest {
  private FakeClock clock = new FakeClock();
  private RecentWork work = new RecentWork(4, clock.nanos());

  private void add(int slot, int tokens) {
    work.add(slot, tokens, clock.nanos());
  }

  private long tokens(int slot) {
    work.turn(clock.nanos());
    return work.tokens(slot);
  }

  @Test
  void tokensAddUpPerWorker() {
    add(1, 100);
    add(1, 50);
    add(2, 7);
    assertThat(tokens(1)).isEqualTo(150);
    assertThat(tokens(2)).isEqualTo(7);
    assertThat(tokens(0)).isZero();
  }

  @Test
  void thePreviousWindowStillCounts() {
    add(1, 100);
    clock.advance(Duration.ofSeconds(10));
    add(1, 1);
    assertThat(tokens(1)).isEqualTo(101);
  }

  @Test
  void workFromTwoWindowsAgoIsForgotten() {
    add(1, 100);
    clock.advance(Duration.ofSeconds(20));
    assertThat(tokens(1)).isZero();
    add(1, 1);
    clock.advance(Duration.ofSeconds(10));
    add(1, 2);
    clock.advance(Duration.ofSeconds(10));
    assertThat(tokens(1)).isEqualTo(2);
  }

  @Test
  void aLongSilenceForgetsBothWindows() {
    add(1, 100);
    clock.advance(Duration.ofSeconds(10));
    add(1, 100);
    clock.advance(Duration.ofSeconds(50));
    assertThat(tokens(1)).isZero();
  }

  @Test
  void aTimeInThePreviousWindowChangesNothing() {
    add(1, 100);
    long late = clock.nanos();
    clock.advance(Duration.ofSeconds(10));
    add(1, 10);
    work.add(1, 1, late);
    assertThat(tokens(1)).isEqualTo(111);

    clock.advance(Duration.ofSeconds(10));
    assertThat(tokens(1)).as("of the second window").isEqualTo(11);
  }

  @Test
  void windowsPassWhenTheClockOverflows() {
    clock = FakeClock.nearOverflow();
    work = new RecentWork(4, clock.nanos());
    add(1, 100);
    clock.advance(Duration.ofSeconds(10));
    assertThat(tokens(1)).isEqualTo(100);
    clock.advance(Duration.ofSeconds(10));
    assertThat(tokens(1)).isZero();
  }

  @Test
  void onlyTheDepartedWorkerIsForgotten() {
    add(1, 100);
    add(2, 100);
    work.forget(1);
    assertThat(tokens(1)).isZero();
    assertThat(tokens(2)).isEqualTo(100);
  }
}
