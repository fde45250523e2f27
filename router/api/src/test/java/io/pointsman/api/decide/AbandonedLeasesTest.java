package io.pointsman.api.decide;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.pointsman.engine.choice.ExternalLeaseSettings;
import io.pointsman.proxy.local.LocalResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A proxy that dies with a thousand leases; the test controls the clock. */
class AbandonedLeasesTest {
  private static final int ABANDONED = 1000;
  private static final Duration NANO = Duration.ofNanos(1);

  /**
   * @param endsAt expiry in nanoseconds of the clock, from the response
   */
  private record OpenLease(String lease, long endsAt) {}

  private static DecideFixture fixture(String policy) {
    Duration longest = Duration.ofMinutes(10);
    return new DecideFixture(
            policy, new ExternalLeaseSettings(ABANDONED, longest, longest, longest))
        .withWorkers(4);
  }

  /** Leases requested over ten seconds, with unordered durations. */
  private static List<OpenLease> leases(DecideFixture plane) throws Exception {
    List<OpenLease> leases = new ArrayList<>();
    for (int i = 0; i < ABANDONED; i++) {
      int millis = 60_000 + i * 7919 % 30_000;
      JsonNode reply =
          plane.decided("{\"body\":" + DecideFixture.CHAT + ",\"ttl_ms\":" + millis + "}");
      assertThat(reply.path("expires_in_ms").asLong()).isEqualTo(millis);
      long endsAt = plane.clock.nanos() + reply.path("expires_in_ms").asLong() * 1_000_000;
      leases.add(new OpenLease(reply.path("lease").asText(), endsAt));
      plane.clock.advance(Duration.ofMillis(10));
    }
    leases.sort(Comparator.comparingLong(OpenLease::endsAt));
    return leases;
  }

  @ParameterizedTest
  @ValueSource(strings = {"least_load", "cost"})
  void eachLeaseEndsAtTheTimeInItsResponse(String policy) throws Exception {
    DecideFixture plane = fixture(policy);
    List<OpenLease> leases = leases(plane);
    assertThat(plane.inFlight()).isEqualTo(ABANDONED);

    for (int i = 0; i < ABANDONED; ) {
      long endsAt = leases.get(i).endsAt();
      plane.clock.advance(Duration.ofNanos(endsAt - plane.clock.nanos()).minus(NANO));
      assertThat(plane.choices.expireDue()).as("before lease %d", i).isZero();
      assertThat(plane.inFlight()).isEqualTo(ABANDONED - i);
      plane.clock.advance(NANO);
      int together = (int) leases.stream().filter(each -> each.endsAt() == endsAt).count();
      assertThat(plane.choices.expireDue()).as("at lease %d", i).isEqualTo(together);
      i += together;
      assertThat(plane.inFlight()).isEqualTo(ABANDONED - i);
    }

    assertThat(plane.choices.open()).isZero();
    assertThat(plane.choices.tally().expired()).isEqualTo(ABANDONED);
  }

  /** A report one nanosecond before the expiry counts; one at the expiry does not. */
  @Test
  void aReportCountsOnlyBeforeThatTime() throws Exception {
    DecideFixture plane = fixture("least_load");
    List<OpenLease> leases = leases(plane);

    for (OpenLease each : leases) {
      boolean early = each.lease().hashCode() % 2 == 0;
      long endsAt = each.endsAt() - (early ? 1 : 0);
      if (endsAt > plane.clock.nanos()) {
        plane.clock.advance(Duration.ofNanos(endsAt - plane.clock.nanos()));
      }
      early = plane.clock.nanos() < each.endsAt();
      LocalResponse answer =
          plane.post("/v1/leases/" + each.lease() + "/settle", "{\"outcome\":\"succeeded\"}");
      assertThat(answer.status()).isEqualTo(early ? 200 : 404);
    }

    plane.choices.expireDue();
    assertThat(plane.inFlight()).isZero();
    assertThat(plane.choices.tally().succeeded()).isBetween(ABANDONED / 4L, 3 * ABANDONED / 4L);
    assertThat(plane.choices.tally().succeeded() + plane.choices.tally().expired())
        .isEqualTo(ABANDONED);
  }
}
