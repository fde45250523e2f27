package io.pointsman.engine.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.engine.TestFleet;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class LeaseTest {
  private final TestFleet fleet = TestFleet.of(1);
  private final Worker worker = fleet.worker(0);
  private final List<Outcome> outcomes = new ArrayList<>();

  private Lease lease() {
    return lease(0);
  }

  private Lease lease(int tokens) {
    Lease lease = worker.tryLease(fleet.now(), tokens, 0, (_, outcome) -> outcomes.add(outcome));
    return Objects.requireNonNull(lease, "lease");
  }

  @Test
  void requestIsInFlightFromLeaseToSettlement() {
    Lease lease = lease();
    assertThat(worker.inFlight()).isEqualTo(1);
    assertThat(lease.settled()).isFalse();

    assertThat(lease.succeeded()).isTrue();
    assertThat(worker.inFlight()).isZero();
    assertThat(lease.settled()).isTrue();
  }

  @Test
  void eachEndingIsReportedAndCountedByItsKind() {
    lease().succeeded();
    lease().failed(Failure.TIMEOUT);
    lease().ignored();

    assertThat(outcomes)
        .containsExactly(Outcome.SUCCEEDED, new Outcome.Failed(Failure.TIMEOUT), Outcome.IGNORED);
    assertThat(worker.served()).isEqualTo(1);
    assertThat(worker.failures()).isEqualTo(1);
    assertThat(worker.inFlight()).isZero();
  }

  @Test
  void aSessionIsServedButItsDurationIsNoServiceTime() {
    Lease request = lease();
    fleet.clock.advance(Duration.ofMillis(8));
    request.succeeded();
    Lease session = lease();
    fleet.clock.advance(Duration.ofHours(1));
    session.sessionEnded();

    assertThat(worker.served()).isEqualTo(2);
    assertThat(worker.nanosBetweenEnds()).isEqualTo(8_000_000);
  }

  @Test
  void countFallsBeforeTheEndingIsReported() {
    List<Integer> inFlight = new ArrayList<>();
    Lease lease = worker.tryLease(fleet.now(), 0, 0, (_, _) -> inFlight.add(worker.inFlight()));
    Objects.requireNonNull(lease, "lease").ignored();

    assertThat(inFlight).containsExactly(0);
  }

  @Test
  void secondEndingIsAnErrorAndChangesNothing() {
    Lease other = lease();
    Lease lease = lease();
    lease.succeeded();

    assertThatThrownBy(() -> lease.failed(Failure.ERROR))
        .isInstanceOf(AssertionError.class)
        .hasMessageContaining("w0 settled twice");
    assertThat(worker.inFlight()).isEqualTo(1);
    assertThat(worker.failures()).isZero();
    assertThat(outcomes).containsExactly(Outcome.SUCCEEDED);
    assertThat(other.settled()).isFalse();
  }

  @Test
  void promptIsPendingUntilTheFirstPartOfTheAnswer() {
    Lease answered = lease(1000);
    lease(500).ignored();
    assertThat(worker.pendingTokens()).isEqualTo(1000);

    answered.progressed();
    assertThat(worker.pendingTokens()).isZero();
    answered.progressed();
    answered.succeeded();
    assertThat(worker.pendingTokens()).isZero();
  }

  @Test
  void progressAfterTheEndIsIgnored() {
    Lease lease = lease(1000);
    lease.ignored();
    lease.progressed();

    assertThat(worker.pendingTokens()).isZero();
  }

  @Test
  void fullWorkerGivesNoLease() {
    TestFleet limited = new TestFleet();
    Worker one = limited.add(TestFleet.spec("one").withMaxInFlight(1));
    Lease first = limited.lease(one);

    assertThat(one.eligible(limited.now())).isFalse();
    assertThat(one.merelyBusy(limited.now())).isTrue();
    assertThat(one.tryLease(limited.now(), 0, 0, (_, _) -> {})).isNull();
    assertThat(one.inFlight()).isEqualTo(1);

    first.succeeded();
    assertThat(one.eligible(limited.now())).isTrue();
  }

  @Test
  void restingWorkerGivesNoLeaseUntilItsRestIsOver() {
    worker.rest(Duration.ofSeconds(2).toNanos());
    assertThat(worker.eligible(fleet.now())).isFalse();
    assertThat(worker.merelyBusy(fleet.now())).isTrue();
    assertThat(worker.restState().left(fleet.now())).isEqualTo(2_000_000_000L);
    assertThat(worker.tryLease(fleet.now(), 0, 0, (_, _) -> {})).isNull();

    fleet.clock.advance(Duration.ofSeconds(2));
    assertThat(worker.eligible(fleet.now())).isTrue();
    lease().succeeded();
    assertThat(worker.restState().left(fleet.now())).isZero();
  }

  @Test
  void shorterRestDoesNotShortenALongerOne() {
    worker.rest(Duration.ofSeconds(5).toNanos());
    worker.rest(Duration.ofSeconds(1).toNanos());
    fleet.clock.advance(Duration.ofSeconds(2));

    assertThat(worker.eligible(fleet.now())).isFalse();
  }

  @Test
  void endlessRestDoesNotOverflow() {
    worker.rest(Long.MAX_VALUE);
    fleet.clock.advance(Duration.ofDays(365));

    assertThat(worker.eligible(fleet.now())).isFalse();
  }

  @Test
  void unhealthyDrainingAndUnprobedWorkersGiveNoLease() {
    Worker unprobed = fleet.fleet.add(TestFleet.spec("new"));
    assertThat(unprobed.tryLease(fleet.now(), 0, 0, (_, _) -> {})).isNull();

    worker.drain(true);
    assertThat(worker.tryLease(fleet.now(), 0, 0, (_, _) -> {})).isNull();
    worker.drain(false);
    fleet.kill(worker);
    assertThat(worker.tryLease(fleet.now(), 0, 0, (_, _) -> {})).isNull();
    assertThat(worker.inFlight()).isZero();
  }

  @Test
  void refusedConnectionExcludesTheWorkerUntilItsNextGoodProbe() {
    lease().failed(Failure.CONNECT);
    assertThat(worker.eligible(fleet.now())).isFalse();

    worker.probed(true);
    assertThat(worker.eligible(fleet.now())).isTrue();
  }

  @Test
  void openBreakerAdmitsOneLeaseAfterItsTime() {
    for (int i = 0; i < 10; i++) {
      lease().failed(Failure.ERROR);
    }
    assertThat(worker.tryLease(fleet.now(), 0, 0, (_, _) -> {})).isNull();

    fleet.clock.advance(Duration.ofSeconds(60));
    Lease probe = lease();
    assertThat(worker.eligible(fleet.now())).isFalse();
    assertThat(worker.tryLease(fleet.now(), 0, 0, (_, _) -> {})).isNull();
    assertThat(worker.inFlight()).isEqualTo(1);

    probe.ignored();
    lease().succeeded();
    lease().succeeded();
    lease().succeeded();
    assertThat(worker.breaker().state()).isEqualTo(CircuitBreaker.State.CLOSED);
    assertThat(worker.eligible(fleet.now())).isTrue();
  }
}
