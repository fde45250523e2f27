package io.pointsman.proxy.retry;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.testkit.ScriptedRandomSource;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Number of permitted retries, and their delays. */
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
  void eachLoopStartsWithItsShareButAtLeastOneRequestsRetries() {
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

  /**
   * The budget of one of {@code loops} event loops, after a minute of 500 requests per second in
   * total.
   */
  private static RetryBudget busy(int loops) {
    RetryBudget budget = new RetryBudget(RetrySettings.DEFAULTS.withBudget(0.2, 10), loops, 0);
    int perSecond = 500 / loops;
    for (long i = 1; i <= 60L * perSecond; i++) {
      budget.deposit(i * SECOND / perSecond);
    }
    return budget;
  }

  /** A silent worker delays all requests that it received until the timeout. */
  @Test
  void tokensFromRecentTrafficCanBeUsedTogether() {
    RetryBudget alone = busy(1);
    assertThat(drain(alone, 60 * SECOND)).isBetween(1290, 1300);
    assertThat(drain(alone, 60 * SECOND)).isZero();
    assertThat(drain(busy(5), 60 * SECOND)).as("one of five").isBetween(256, 260);
  }

  @Test
  void tokensFromTrafficExpireWithinTensOfSeconds() {
    assertThat(drain(busy(1), 70 * SECOND)).as("a third is left").isBetween(660, 675);
    assertThat(drain(busy(1), 160 * SECOND)).isEqualTo(300);
  }

  @Test
  void delaysGrowUpToAMaximumWithJitterInBothDirections() {
    RetrySettings settings =
        RetrySettings.DEFAULTS.withBackoff(Duration.ofMillis(100), Duration.ofMillis(200));

    assertThat(new Backoff(settings, ScriptedRandomSource.of(1000)::roll).nanos(0))
        .isEqualTo(100_000_000);
    assertThat(new Backoff(settings, ScriptedRandomSource.of(1000)::roll).nanos(1))
        .isEqualTo(150_000_000);
    assertThat(new Backoff(settings, ScriptedRandomSource.of(1000)::roll).nanos(9))
        .isEqualTo(200_000_000);
    assertThat(new Backoff(settings, ScriptedRandomSource.of(0)::roll).nanos(0))
        .isEqualTo(80_000_000);
    assertThat(new Backoff(settings, ScriptedRandomSource.of(2000)::roll).nanos(0))
        .isEqualTo(120_000_000);
  }
}
