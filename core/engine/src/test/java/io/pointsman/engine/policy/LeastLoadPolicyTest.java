package io.pointsman.engine.policy;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.ReportedLoad;
import io.pointsman.engine.fleet.Worker;
import org.junit.jupiter.api.Test;

/** Loads that engines report themselves. */
class LeastLoadPolicyTest {
  private final TestFleet fleet = TestFleet.of(2);
  private final Picker picker = new LeastLoadPolicy(fleet.random).picker(fleet.pool());
  private final Worker a = fleet.worker(0);
  private final Worker b = fleet.worker(1);

  private Worker pick(long now) {
    return requireNonNull(picker.pick(RoutingRequest.builder().build(), now));
  }

  private static void reports(Worker worker, int requests) {
    worker.capacity().reports(new ReportedLoad(requests, 0, 0));
  }

  @Test
  void reportedRequestsOfOthersCount() {
    fleet.load(b, 3);
    reports(a, 9);
    reports(b, 6);
    assertThat(pick(fleet.now())).isSameAs(b);
  }

  @Test
  void ownRequestsSinceTheReportCount() {
    reports(a, 9);
    reports(b, 6);
    fleet.load(b, 4);
    assertThat(pick(fleet.now())).isSameAs(a);
  }

  @Test
  void withoutAReportTheOwnRequestsCount() {
    reports(a, 5);
    fleet.load(b, 1);
    assertThat(pick(fleet.now())).as("b has no report").isSameAs(b);

    a.capacity().reports(ReportedLoad.NONE);
    assertThat(pick(fleet.now())).as("a's report has ended").isSameAs(a);
  }

  @Test
  void aReportIsComparedByTheWeightOfTheWorker() {
    reports(a, 9);
    reports(b, 6);
    a.weight(3);
    assertThat(pick(fleet.now())).isSameAs(a);
  }
}
