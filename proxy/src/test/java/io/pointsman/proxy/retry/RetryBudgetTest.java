package io.pointsman.proxy.retry;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.testkit.ScriptedDice;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** How many retries there may be, and how long they wait. */
class RetryBudgetTest {
  private static final long SECOND = 1_000_000_000L;

  private static int drain(RetryBudget budget, long now) {
    int taken = 0;
    while (budget.withdraw(now)) {
      taken++;
    }
    return taken;
  }

  @Test
  void startsFullAndRefillsWithTime() {
    RetryBudget budget = new RetryBudget(RetrySettings.DEFAULTS.withBudget(0, 10), 1, 0);

    assertThat(drain(budget, 0)).isEqualTo(300);
    assertThat(drain(budget, 2 * SECOND)).isEqualTo(20);
  }

  @Test
  void oneOfManyStartsWithItsPartButWithOneRequestsRetriesAtLeast() {
    RetrySettings settings = RetrySettings.DEFAULTS.withBudget(0, 10);

    assertThat(drain(new RetryBudget(settings, 10, 0), 0)).isEqualTo(30);
    assertThat(drain(new RetryBudget(settings, 1000, 0), 0)).isEqualTo(settings.maxAttempts());
  }

  @Test
  void refillsWithAShareOfTheTraffic() {
    RetryBudget budget = new RetryBudget(RetrySettings.DEFAULTS.withBudget(0.25, 0), 1, 0);
    assertThat(drain(budget, 0)).isZero();
    for (int i = 0; i < 12; i++) {
      budget.deposit(SECOND);
    }
    assertThat(drain(budget, SECOND)).isEqualTo(3);
  }

  /** A worker that falls silent takes with it what came to it until that was noticed. */
  @Test
  void whatTrafficHasEarnedOfLateMayBeUsedAtOnce() {
    RetryBudget budget = new RetryBudget(RetrySettings.DEFAULTS.withBudget(0.2, 10), 1, 0);
    int perSecond = 500;
    int seconds = 60;
    for (long i = 1; i <= (long) perSecond * seconds; i++) {
      budget.deposit(i * SECOND / perSecond);
    }
    assertThat(drain(budget, seconds * SECOND)).isBetween(1290, 1300);
    assertThat(drain(budget, seconds * SECOND)).isZero();
  }

  @Test
  void whatTrafficHasEarnedLongAgoIsForgotten() {
    RetryBudget budget = new RetryBudget(RetrySettings.DEFAULTS.withBudget(0.2, 10), 1, 0);
    for (int i = 0; i < 100_000; i++) {
      budget.deposit(0);
    }
    assertThat(drain(budget, 1_000_000 * SECOND)).isEqualTo(300);
  }

  @Test
  void waitsGrowUpToABoundWithJitterBothWays() {
    RetrySettings settings =
        RetrySettings.DEFAULTS.withBackoff(Duration.ofMillis(100), Duration.ofMillis(200));

    assertThat(new Backoff(settings, ScriptedDice.of(1000)::roll).nanos(0)).isEqualTo(100_000_000);
    assertThat(new Backoff(settings, ScriptedDice.of(1000)::roll).nanos(1)).isEqualTo(150_000_000);
    assertThat(new Backoff(settings, ScriptedDice.of(1000)::roll).nanos(9)).isEqualTo(200_000_000);
    assertThat(new Backoff(settings, ScriptedDice.of(0)::roll).nanos(0)).isEqualTo(80_000_000);
    assertThat(new Backoff(settings, ScriptedDice.of(2000)::roll).nanos(0)).isEqualTo(120_000_000);
  }
}
