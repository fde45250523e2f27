package io.pointsman.engine.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.engine.TestFleet;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class StallTest {
  private static final StallSettings SETTINGS =
      new StallSettings(
          true, Duration.ofSeconds(20), Duration.ofMillis(500), Duration.ofSeconds(60));

  private final TestFleet fleet =
      new TestFleet(
          new FleetSettings(4, HealthSettings.DEFAULTS, BreakerSettings.DEFAULTS, SETTINGS));
  private final Worker worker = fleet.add(TestFleet.spec("a"));

  private Lease lease(int tokens) {
    return Objects.requireNonNull(worker.tryLease(fleet.now(), tokens, 0, (_, _) -> {}), "lease");
  }

  private Lease whole() {
    return fleet.lease(worker, LeaseKind.WHOLE);
  }

  private void silence(Duration duration) {
    fleet.clock.advance(duration);
    fleet.fleet.checkStalls();
  }

  @Test
  void silentWorkerWithRequestsIsExcluded() {
    lease(0);
    silence(Duration.ofSeconds(20));
    assertThat(worker.eligible(fleet.now())).isTrue();

    silence(Duration.ofNanos(1));
    assertThat(worker.stalled()).isTrue();
    assertThat(worker.eligible(fleet.now())).isFalse();
    assertThat(worker.tryLease(fleet.now(), 0, 0, (_, _) -> {})).isNull();
  }

  @Test
  void goodHealthProbeDoesNotBringItBack() {
    lease(0);
    silence(Duration.ofSeconds(21));
    worker.probed(true);

    assertThat(worker.eligible(fleet.now())).isFalse();
  }

  @Test
  void nextProgressBringsItBack() {
    Lease lease = lease(0);
    silence(Duration.ofSeconds(21));
    lease.progressed();

    assertThat(worker.stalled()).isFalse();
    assertThat(worker.eligible(fleet.now())).isTrue();
  }

  @Test
  void pendingPrefillExtendsTheLimitInProportionToThePrompt() {
    lease(10_000);
    silence(Duration.ofSeconds(25));
    assertThat(worker.stalled()).isFalse();

    silence(Duration.ofNanos(1));
    assertThat(worker.stalled()).isTrue();
  }

  @Test
  void answeredPromptDoesNotExtendTheLimit() {
    lease(10_000).progressed();
    silence(Duration.ofSeconds(21));

    assertThat(worker.stalled()).isTrue();
  }

  @Test
  void hugePromptExtendsTheLimitOnlyToTheMaximum() {
    lease(Integer.MAX_VALUE);
    silence(Duration.ofSeconds(60));
    assertThat(worker.stalled()).isFalse();

    silence(Duration.ofNanos(1));
    assertThat(worker.stalled()).isTrue();
  }

  @Test
  void progressOfAnyRequestCounts() {
    lease(0);
    Lease moving = lease(0);
    for (int i = 0; i < 10; i++) {
      silence(Duration.ofSeconds(15));
      moving.progressed();
      assertThat(worker.stalled()).isFalse();
    }
  }

  @Test
  void idleWorkerNeverStalls() {
    silence(Duration.ofDays(1));
    assertThat(worker.stalled()).isFalse();

    lease(0);
    fleet.fleet.checkStalls();
    assertThat(worker.stalled()).isFalse();
  }

  @Test
  void stalledWorkerWithNothingLeftInFlightGetsOneTrial() {
    Lease lease = lease(0);
    silence(Duration.ofSeconds(21));
    lease.ignored();
    assertThat(worker.eligible(fleet.now())).isFalse();

    silence(Duration.ofSeconds(5));
    assertThat(worker.stalled()).isTrue();
    Lease trial = lease(0);
    assertThat(worker.tryLease(fleet.now(), 0, 0, (_, _) -> {})).isNull();

    trial.progressed();
    assertThat(worker.stalled()).isFalse();
    lease(0);
    lease(0);
  }

  @Test
  void pauseBeforeTheNextTrialDoublesWithEachTrialWithoutOutput() {
    lease(0).ignored();
    Lease lease = lease(0);
    silence(Duration.ofSeconds(21));
    lease.ignored();
    for (int seconds : new int[] {5, 10, 20, 40, 60, 60}) {
      silence(Duration.ofSeconds(seconds).minusNanos(1));
      assertThat(worker.eligible(fleet.now())).isFalse();
      silence(Duration.ofNanos(1));
      Lease trial = lease(0);
      trial.accepted();
      trial.ignored();
      assertThat(worker.stalled()).isTrue();
    }
  }

  /** Clients that wait for a stream and leave after {@code patience}, one after the other. */
  private void clientsLeave(int clients, Duration patience) {
    for (int i = 0; i < clients; i++) {
      Lease left = lease(0);
      left.accepted();
      silence(patience);
      left.clientLeft();
      left.ignored();
    }
  }

  @Test
  void clientsThatLeaveOneAfterTheOtherWithoutAByteAreAStall() {
    clientsLeave(2, Duration.ofSeconds(2));
    assertThat(worker.stalled()).isFalse();

    clientsLeave(1, Duration.ofSeconds(2));
    assertThat(worker.stalled()).isTrue();
    assertThat(worker.stallState().byDepartures()).isEqualTo(3);
    assertThat(worker.stallState().count()).isOne();
    assertThat(worker.stallState().deserted()).isEqualTo(3);
    silence(Duration.ofSeconds(4));
    assertThat(worker.eligible(fleet.now())).isFalse();
    silence(Duration.ofSeconds(1));
    assertThat(worker.eligible(fleet.now())).isTrue();
  }

  @Test
  void outputOfAnotherRequestOutweighsDepartures() {
    Lease other = lease(0);
    for (int i = 0; i < 10; i++) {
      Lease left = lease(0);
      silence(Duration.ofSeconds(1));
      other.progressed();
      silence(Duration.ofSeconds(1));
      left.clientLeft();
      left.ignored();
    }
    assertThat(worker.stalled()).isFalse();
  }

  @Test
  void clientsThatLeaveTogetherAreNoStall() {
    Lease[] leases = new Lease[20];
    for (int i = 0; i < leases.length; i++) {
      leases[i] = lease(0);
    }
    silence(Duration.ofSeconds(10));
    for (Lease each : leases) {
      each.clientLeft();
      each.ignored();
    }
    assertThat(worker.stalled()).isFalse();
  }

  @Test
  void clientsLessPatientThanAFirstTokenUsuallyTakesAreNoStallAtOnce() {
    Lease slow = lease(0);
    silence(Duration.ofSeconds(3));
    slow.progressed();
    slow.succeeded();

    clientsLeave(9, Duration.ofSeconds(2));
    assertThat(worker.stalled()).isFalse();
    clientsLeave(2, Duration.ofSeconds(2));
    assertThat(worker.stalled()).as("none had output for longer than is allowed").isTrue();
  }

  @Test
  void longPromptsExplainDepartures() {
    for (int i = 0; i < 4; i++) {
      Lease left = lease(10_000);
      silence(Duration.ofSeconds(4));
      left.clientLeft();
      left.ignored();
    }
    assertThat(worker.stalled()).isFalse();
  }

  @Test
  void departuresFromNonStreamingResponsesCountIfSuchResponsesAreUsuallyFaster() {
    for (int i = 0; i < 2; i++) {
      for (int j = 0; j < 3; j++) {
        Lease left = whole();
        silence(Duration.ofSeconds(4));
        left.clientLeft();
        left.ignored();
      }
      assertThat(worker.stalled()).isEqualTo(i == 1);
      Lease usual = i == 0 ? whole() : null;
      if (usual != null) {
        silence(Duration.ofSeconds(2));
        usual.succeeded();
      }
    }
  }

  @Test
  void headOfAStreamIsNoProgress() {
    for (int i = 0; i < 3; i++) {
      lease(0).accepted();
      silence(Duration.ofSeconds(7));
    }
    assertThat(worker.stalled()).isTrue();
  }

  @Test
  void settingsOutOfRangeAreRefusedByName() {
    assertThatThrownBy(
            () -> new StallSettings(true, Duration.ZERO, Duration.ZERO, Duration.ofSeconds(1)))
        .hasMessage("patience: PT0S (expected: > 0)");
    assertThatThrownBy(
            () ->
                new StallSettings(
                    true, Duration.ofSeconds(2), Duration.ZERO, Duration.ofSeconds(1)))
        .hasMessage("max-patience: PT1S (expected: >= patience, PT2S)");
  }

  @Test
  void stallsAreNotDetectedWhenDisabled() {
    TestFleet off =
        new TestFleet(
            new FleetSettings(
                4,
                HealthSettings.DEFAULTS,
                BreakerSettings.DEFAULTS,
                new StallSettings(
                    false, Duration.ofSeconds(1), Duration.ZERO, Duration.ofSeconds(1))));
    Worker silent = off.add(TestFleet.spec("a"));
    off.lease(silent);
    off.clock.advance(Duration.ofHours(1));
    off.fleet.checkStalls();

    assertThat(silent.eligible(off.now())).isTrue();
  }

  @Test
  void nonStreamingResponsesNeedNoProgress() {
    whole();
    whole();
    silence(Duration.ofHours(1));

    assertThat(worker.stalled()).isFalse();
  }

  @Test
  void oneStreamAmongNonStreamingResponsesNeedsProgress() {
    whole();
    Lease stream = lease(0);
    silence(Duration.ofSeconds(21));
    assertThat(worker.stalled()).isTrue();

    stream.ignored();
    fleet.fleet.checkStalls();
    assertThat(worker.stalled()).isTrue();
    silence(Duration.ofSeconds(5));
    assertThat(worker.eligible(fleet.now())).as("for a trial").isTrue();
  }

  @Test
  void manySilentNonStreamingResponsesAreAStall() {
    for (int i = 0; i < 4; i++) {
      whole();
    }
    silence(Duration.ofSeconds(60));
    assertThat(worker.stalled()).isFalse();

    silence(Duration.ofNanos(1));
    assertThat(worker.stalled()).isTrue();
  }

  @Test
  void endedNonStreamingResponsesDoNotCount() {
    whole();
    Lease ended = whole();
    ended.succeeded();
    lease(0);
    silence(Duration.ofSeconds(21));

    assertThat(worker.stalled()).isTrue();
  }

  @Test
  void reprieveRestartsTheClock() {
    lease(0);
    silence(Duration.ofSeconds(21));
    worker.stallState().reprieve();
    silence(Duration.ofSeconds(20));
    assertThat(worker.eligible(fleet.now())).isTrue();

    silence(Duration.ofSeconds(1));
    assertThat(worker.eligible(fleet.now())).isFalse();
  }

  @Test
  void clientThatDoesNotReadPreventsAStall() {
    Lease lease = lease(0);
    lease.progressed();
    silence(Duration.ofSeconds(20));
    lease.clientPaused();
    silence(Duration.ofSeconds(20));
    assertThat(worker.stalled()).isFalse();

    silence(Duration.ofNanos(1));
    assertThat(worker.stalled()).isTrue();
    lease.clientPaused();
    assertThat(worker.stalled()).isFalse();
  }

  @Test
  void clientCannotHoldUpAResponseBeforeItsBeginOrAfterItsEnd() {
    Lease silent = lease(0);
    lease(0);
    silence(Duration.ofSeconds(21));
    silent.clientPaused();
    assertThat(worker.stalled()).isTrue();

    silent.ignored();
    silent.clientPaused();
    assertThat(worker.stalled()).isTrue();
  }
}
