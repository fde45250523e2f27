package io.pointsman.engine.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.TestFleet;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class BegunAnswersTest {
  private final TestFleet fleet = new TestFleet();
  private final Worker worker = fleet.add(TestFleet.spec("a"));

  private Lease lease() {
    return Objects.requireNonNull(worker.tryLease(fleet.now(), 1, 0, (_, _) -> {}), "lease");
  }

  /** Advances the clock, so earlier events do not count any more. */
  private long later() {
    fleet.clock.advance(Duration.ofMillis(1));
    return fleet.now();
  }

  @Test
  void newWorkerHasBegunNoResponse() {
    assertThat(worker.begunSince(fleet.now() - Duration.ofHours(1).toNanos())).isFalse();
  }

  @Test
  void firstPartOfAResponseCounts() {
    Lease lease = lease();
    long then = later();
    assertThat(worker.begunSince(then)).isFalse();
    lease.progressed();
    assertThat(worker.begunSince(then)).isTrue();
    assertThat(worker.begunSince(later())).isFalse();
  }

  @Test
  void laterPartsAndTheEndDoNotCount() {
    Lease lease = lease();
    lease.progressed();
    long then = later();
    lease.progressed();
    lease.clientPaused();
    lease.succeeded();
    assertThat(worker.begunSince(then)).isFalse();
  }

  @Test
  void responseWithoutPartsCountsAtItsEnd() {
    Lease lease = lease();
    long then = later();
    lease.succeeded();
    assertThat(worker.begunSince(then)).isTrue();
  }

  @Test
  void placementAbortAndFailureDoNotCount() {
    long then = later();
    lease().ignored();
    lease().failed(Failure.ERROR);
    Lease reserved = fleet.lease(worker, LeaseKind.LATER_STREAM);
    reserved.dispatched();
    reserved.ignored();
    worker.stallState().reprieve();
    assertThat(worker.begunSince(then)).isFalse();
  }

  @Test
  void refusedConnectionExcludesTheWorkerUnlessItHasBegunOtherResponses() {
    Lease waiting = lease();
    Lease answered = lease();
    later();
    answered.progressed();
    waiting.failed(Failure.CONNECT);
    assertThat(worker.health().healthy()).isTrue();

    later();
    Lease refused = lease();
    answered.progressed();
    refused.failed(Failure.CONNECT);
    assertThat(worker.health().status()).isEqualTo(HealthState.Status.SUSPECT);
  }
}
