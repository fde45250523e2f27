package io.pointsman.engine.choice;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ExternalLeasesTest {
  /** A scan begins without an expiry too. The time is a wait for clients then. */
  @Test
  void withoutAKnownExpiryTheWaitIsTheLongestLease() {
    ExternalLeaseSettings settings =
        new ExternalLeaseSettings(
            4, Duration.ofSeconds(3), Duration.ofSeconds(10), Duration.ofMinutes(1));
    Random random = new Random(1);
    ExternalLeases leases = new ExternalLeases(settings, random::nextInt, -5);
    assertThat(leases.untilExpiry(-5)).isEqualTo(Duration.ofSeconds(10).toNanos());
    assertThat(leases.untilExpiry(Long.MAX_VALUE)).isZero();
  }
}
