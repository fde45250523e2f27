package io.pointsman.engine.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.TestFleet;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ReservedLeaseTest {
  private final TestFleet fleet = TestFleet.of(1);
  private final Worker worker = fleet.worker(0);

  private Lease reserved() {
    return fleet.lease(worker, LeaseKind.LATER_STREAM);
  }

  private void silence(long seconds) {
    fleet.clock.advance(Duration.ofSeconds(seconds));
    fleet.fleet.checkStalls();
  }

  @Test
  void reservedLeasesCountButNeedNoProgress() {
    for (int i = 0; i < 8; i++) {
      reserved();
    }
    silence(600);

    assertThat(worker.inFlight()).isEqualTo(8);
    assertThat(worker.stalled()).isFalse();
  }

  @Test
  void theClockStartsWhenTheRequestIsSent() {
    Lease lease = reserved();
    silence(600);
    lease.dispatched();
    silence(20);
    assertThat(worker.stalled()).isFalse();

    silence(1);
    assertThat(worker.stalled()).isTrue();
  }

  @Test
  void aRequestSentBesideAReservedLeaseStartsTheClockToo() {
    reserved();
    silence(600);
    fleet.lease(worker);
    silence(20);
    assertThat(worker.stalled()).isFalse();

    silence(1);
    assertThat(worker.stalled()).isTrue();
  }

  @Test
  void sendingOneMoreDoesNotRestartTheClock() {
    fleet.lease(worker);
    Lease lease = reserved();
    silence(15);
    lease.dispatched();
    silence(6);

    assertThat(worker.stalled()).isTrue();
  }

  @Test
  void anUnusedReservationIsGivenBackCompletely() {
    Lease lease = reserved();
    assertThat(lease.ignored()).isTrue();
    lease.dispatched();

    assertThat(worker.inFlight()).isZero();
    assertThat(worker.reserved()).isZero();
    assertThat(worker.pendingTokens()).isZero();
  }

  @Test
  void progressImpliesDispatch() {
    Lease lease = reserved();
    lease.progressed();
    lease.dispatched();
    assertThat(worker.reserved()).isZero();

    lease.succeeded();
    assertThat(worker.inFlight()).isZero();
    assertThat(worker.reserved()).isZero();
  }

  @Test
  void prefillWorkersGetTheLimitOfTheFleetUnlessTheyHaveTheirOwn() {
    TestFleet limited =
        new TestFleet(
            new FleetSettings(
                8, HealthSettings.DEFAULTS, BreakerSettings.DEFAULTS, StallSettings.DEFAULTS, 3));

    assertThat(limited.add(spec("p", Role.PREFILL, 0)).maxInFlight()).isEqualTo(3);
    assertThat(limited.add(spec("q", Role.PREFILL, 5)).maxInFlight()).isEqualTo(5);
    assertThat(limited.add(spec("d", Role.DECODE, 0)).maxInFlight()).isZero();
  }

  @Test
  void anotherLimitOfTheFleetCountsForPresentPrefillWorkers() {
    FleetSettings one =
        new FleetSettings(
            8, HealthSettings.DEFAULTS, BreakerSettings.DEFAULTS, StallSettings.DEFAULTS, 1);
    TestFleet limited = new TestFleet(one);
    Worker prefill = limited.add(spec("p", Role.PREFILL, 0));
    Worker own = limited.add(spec("q", Role.PREFILL, 5));
    limited.lease(prefill);
    List<FleetSnapshot> seen = new ArrayList<>();
    limited.fleet.listen(seen::add);
    assertThat(eligible(limited)).containsExactly(own);

    limited.fleet.configure(one.withMaxPrefills(2));
    assertThat(prefill.maxInFlight()).isEqualTo(2);
    assertThat(own.maxInFlight()).isEqualTo(5);
    assertThat(seen).as("snapshots, for requests that wait").hasSize(2);
    assertThat(eligible(limited)).containsExactly(prefill, own);
    assertThat(prefill.eligible(limited.clock.nanos())).isTrue();
    limited.lease(prefill);
    assertThat(eligible(limited)).containsExactly(own);

    limited.fleet.configure(one.withMaxPrefills(0));
    assertThat(prefill.maxInFlight()).isZero();
    assertThat(eligible(limited)).containsExactly(prefill, own);
    limited.fleet.configure(one);
    assertThat(eligible(limited)).containsExactly(own);
    assertThat(prefill.eligible(limited.clock.nanos())).isFalse();

    Pool pool = limited.fleet.snapshot().pool(Role.PREFILL);
    limited.fleet.configure(one.withSlowStart(Duration.ofSeconds(1)));
    assertThat(limited.fleet.snapshot().pool(Role.PREFILL)).isSameAs(pool);
  }

  private static List<Worker> eligible(TestFleet fleet) {
    Pool pool = fleet.fleet.snapshot().pool(Role.PREFILL);
    long now = fleet.clock.nanos();
    return IntStream.range(0, pool.size())
        .filter(i -> pool.loadIfEligible(i, now, List.of()) != Pool.NOT_ELIGIBLE)
        .mapToObj(pool::worker)
        .toList();
  }

  private static WorkerSpec spec(String id, Role role, int most) {
    return new WorkerSpec(id, "http://" + id, role, Set.of(), WorkerSpec.NO_RANK, most, Map.of());
  }
}
