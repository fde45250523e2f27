package io.pointsman.engine.choice;

import static io.pointsman.engine.choice.ChoiceFleet.TTL;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.CircuitBreaker.State;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import java.time.Duration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Requests of external proxies that a half-open breaker admits. */
class ExternalLeaseTrialTest {
  private static final EndReport BEGAN = new EndReport(TokenCounts.NONE, Duration.ofMillis(5));

  private final ChoiceFleet fleet = ChoiceFleet.of("random", 1);
  private final Worker worker = fleet.workers.worker(0);

  @BeforeEach
  void open() {
    for (int i = 0; i < 10; i++) {
      fleet.workers.lease(worker).failed(Failure.ERROR);
    }
    fleet.workers.clock.advance(Duration.ofSeconds(60));
  }

  private String trial() {
    String lease = fleet.held().lease();
    assertThat(worker.eligible(fleet.workers.now())).isFalse();
    return lease;
  }

  private State state() {
    return worker.breaker().state();
  }

  @Test
  void firstTokensCloseTheBreakerWhileTheRequestsGoOn() {
    for (int i = 0; i < 3; i++) {
      fleet.choices.firstToken(trial());
    }

    assertThat(state()).isEqualTo(State.CLOSED);
    assertThat(worker.inFlight()).isEqualTo(3);
  }

  @Test
  void renewalsThatReportAGoodAnswerCloseItToo() {
    for (int i = 0; i < 3; i++) {
      String lease = trial();
      fleet.choices.renew(lease, TTL);
      assertThat(worker.eligible(fleet.workers.now())).as("nothing is known yet").isFalse();
      fleet.choices.renew(lease, TTL, true);
      fleet.choices.renew(lease, TTL, true);
    }

    assertThat(state()).isEqualTo(State.CLOSED);
    assertThat(worker.inFlight()).isEqualTo(3);
  }

  @Test
  void streamsThatClientsAbortCountAsSuccessfulTrials() {
    for (int i = 0; i < 3; i++) {
      fleet.choices.settle(trial(), Outcome.IGNORED, BEGAN);
    }

    assertThat(state()).isEqualTo(State.CLOSED);
  }

  @Test
  void aFailureOpensItAgainDespiteAGoodBeginning() {
    fleet.choices.settle(trial(), new Outcome.Failed(Failure.ERROR), BEGAN);

    assertThat(state()).isEqualTo(State.OPEN);
  }

  @Test
  void anUnreportedRequestHasNoVerdict() {
    fleet.choices.settle(trial(), Outcome.IGNORED, EndReport.NONE);

    assertThat(state()).isEqualTo(State.HALF_OPEN);
    trial();
  }
}
