package io.pointsman.engine.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.CircuitBreaker.State;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Requests that a half-open breaker admits, and the moment of their success. */
class TrialTest {
  private final TestFleet fleet = TestFleet.of(1);
  private final Worker worker = fleet.worker(0);

  @BeforeEach
  void open() {
    for (int i = 0; i < 10; i++) {
      fleet.lease(worker).failed(Failure.ERROR);
    }
    fleet.clock.advance(Duration.ofSeconds(60));
  }

  private Lease beginWell() {
    Lease lease = fleet.lease(worker);
    assertThat(worker.eligible(fleet.now())).isFalse();
    lease.answersWell();
    return lease;
  }

  private State state() {
    return worker.breaker().state();
  }

  @Test
  void trialThatBeginsWellPermitsTheNext() {
    beginWell();

    assertThat(state()).isEqualTo(State.HALF_OPEN);
    assertThat(worker.eligible(fleet.now())).isTrue();
  }

  @Test
  void enoughGoodBeginningsCloseTheBreakerWhileRequestsContinue() {
    beginWell();
    beginWell();
    beginWell();

    assertThat(state()).isEqualTo(State.CLOSED);
    assertThat(worker.inFlight()).isEqualTo(3);
  }

  @Test
  void eachTrialCountsOnce() {
    Lease lease = beginWell();
    lease.answersWell();
    lease.succeeded();
    lease.answersWell();

    assertThat(state()).isEqualTo(State.HALF_OPEN);
    beginWell();
    assertThat(state()).isEqualTo(State.HALF_OPEN);
    beginWell();
    assertThat(state()).isEqualTo(State.CLOSED);
  }

  @Test
  void trialEndingWithoutVerdictAfterItsBeginningDoesNotBlockTheNext() {
    Lease first = beginWell();
    fleet.lease(worker);
    first.ignored();

    assertThat(worker.eligible(fleet.now())).isFalse();
  }

  @Test
  void failureAfterAGoodBeginningCountsAsAnOrdinaryFailure() {
    Lease early = beginWell();
    Lease first = beginWell();
    early.failed(Failure.ERROR);
    assertThat(state()).isEqualTo(State.HALF_OPEN);
    beginWell();
    assertThat(state()).isEqualTo(State.CLOSED);

    first.failed(Failure.ERROR);
    assertThat(state()).isEqualTo(State.CLOSED);
    for (int i = 0; i < 9; i++) {
      fleet.lease(worker).failed(Failure.ERROR);
    }
    assertThat(state()).isEqualTo(State.OPEN);
  }

  @Test
  void failureBeforeABeginningOpensTheBreakerAgain() {
    fleet.lease(worker).failed(Failure.ERROR);

    assertThat(state()).isEqualTo(State.OPEN);
    assertThat(worker.eligible(fleet.now())).isFalse();
  }
}
