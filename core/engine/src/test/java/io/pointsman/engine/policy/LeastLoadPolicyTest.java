package io.pointsman.engine.policy;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Worker;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Loads that engines report themselves. */
class LeastLoadPolicyTest {
  private static final long VALID = Duration.ofSeconds(6).toNanos();

  private final TestFleet fleet = TestFleet.of(2);
  private final Picker picker = new LeastLoadPolicy(fleet.dice).picker(fleet.pool());
  private final Worker a = fleet.worker(0);
  private final Worker b = fleet.worker(1);

  private Worker pick(long now) {
    return requireNonNull(picker.pick(RoutingRequest.builder().build(), now));
  }

  @Test
  void theReportsOfAllCandidatesComeBeforeTheOwnCount() {
    fleet.load(b, 3);
    a.reportQueue(9, VALID);
    b.reportQueue(6, VALID);
    assertThat(pick(fleet.now())).isSameAs(b);
  }

  @Test
  void ownRequestsSinceTheReportCount() {
    a.reportQueue(9, VALID);
    b.reportQueue(6, VALID);
    fleet.load(b, 4);
    assertThat(pick(fleet.now())).isSameAs(a);
  }

  @Test
  void aMissingOrOldReportMakesTheOwnCountDecide() {
    a.reportQueue(50, VALID);
    fleet.load(b, 1);
    assertThat(pick(fleet.now())).as("b has no report").isSameAs(a);

    b.reportQueue(0, VALID);
    assertThat(pick(fleet.now())).isSameAs(b);
    assertThat(pick(fleet.now() + VALID)).as("both reports are old").isSameAs(a);
  }

  @Test
  void aReportIsComparedByTheWeightOfTheWorker() {
    a.reportQueue(9, VALID);
    b.reportQueue(6, VALID);
    a.weight(3);
    assertThat(pick(fleet.now())).isSameAs(a);
  }
}
