package io.pointsman.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.catalog.PolicySetup;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The expected time until capacity returns, from the workers' history. */
class RetryAfterTest {
  private final TestFleet fleet = new TestFleet();
  private final RoutingEngine engine =
      new RoutingEngine(
          fleet.fleet,
          new PolicySetup(pool -> (_, now) -> pool.random(now, List.of(), fleet.random), List.of()),
          EngineSettings.DEFAULTS,
          new RecordedEvents(),
          fleet.clock::nanos,
          fleet.random);

  private Worker limited(String id, int most) {
    return fleet.add(TestFleet.spec(id, TestFleet.MODEL).withMaxInFlight(most));
  }

  /** Serves requests of that duration, one after the other. */
  private void serve(Worker worker, int requests, Duration each) {
    for (int i = 0; i < requests; i++) {
      Lease lease = fleet.lease(worker);
      fleet.clock.advance(each);
      lease.succeeded();
    }
  }

  private long retryAfter() {
    Decision decision = engine.decide(Requests.bare());
    assertThat(decision).isInstanceOf(Decision.Rejected.class);
    Decision.Rejected rejected = (Decision.Rejected) decision;
    assertThat(rejected.reason()).isEqualTo(RejectReason.ALL_BUSY);
    return rejected.retryAfterNanos();
  }

  private static long seconds(long seconds) {
    return Duration.ofSeconds(seconds).toNanos();
  }

  @Test
  void aFullWorkerIsExpectedToFreeCapacityEachServiceTimeOverItsLoad() {
    Worker worker = limited("a", 4);
    serve(worker, 3, Duration.ofSeconds(20));
    fleet.load(worker, 4);

    assertThat(retryAfter()).isEqualTo(seconds(5));
  }

  @Test
  void idleTimeDoesNotCount() {
    Worker worker = limited("a", 1);
    serve(worker, 3, Duration.ofSeconds(3));
    fleet.clock.advance(Duration.ofHours(5));
    fleet.load(worker, 1);

    assertThat(retryAfter()).isEqualTo(seconds(3));
  }

  @Test
  void ratesOfSeveralFullWorkersAddUp() {
    for (String id : List.of("a", "b")) {
      Worker worker = limited(id, 1);
      serve(worker, 1, Duration.ofSeconds(8));
      fleet.load(worker, 1);
    }

    assertThat(retryAfter()).isEqualTo(seconds(4));
  }

  @Test
  void aRestThatEndsEarlierCounts() {
    Worker full = limited("a", 1);
    serve(full, 1, Duration.ofSeconds(8));
    fleet.load(full, 1);
    Worker resting = fleet.add(TestFleet.spec("b", TestFleet.MODEL));
    resting.rest(seconds(2));

    assertThat(retryAfter()).isEqualTo(seconds(2));
  }

  @Test
  void theWaitIsBounded() {
    Worker worker = limited("a", 1);
    serve(worker, 1, Duration.ofHours(1));
    fleet.load(worker, 1);

    assertThat(retryAfter()).isEqualTo(Refusals.LONGEST_WAIT.toNanos());
  }

  @Test
  void nothingIsKnownBeforeTheFirstEnd() {
    fleet.load(limited("a", 2), 2);

    assertThat(retryAfter()).isZero();
  }

  @Test
  void onlyServedRequestsCount() {
    Worker worker = limited("a", 1);
    serve(worker, 1, Duration.ofSeconds(6));
    fleet.lease(worker).ignored();
    fleet.load(worker, 1);

    assertThat(retryAfter()).isEqualTo(seconds(6));
  }

  @Test
  void theEstimateFollowsTheWork() {
    Worker worker = limited("a", 1);
    serve(worker, 1, Duration.ofSeconds(40));
    serve(worker, 60, Duration.ofSeconds(2));
    fleet.load(worker, 1);

    assertThat(retryAfter()).isBetween(seconds(2), seconds(3));
  }
}
