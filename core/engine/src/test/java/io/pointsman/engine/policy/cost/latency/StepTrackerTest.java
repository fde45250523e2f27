package io.pointsman.engine.policy.cost.latency;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.policy.cost.Prompt;
import java.util.ArrayDeque;
import java.util.Deque;
import org.junit.jupiter.api.Test;

class StepTrackerTest {
  private static final double STEP = 8000;
  private static final long SAME_STEP = 5;

  private final Deque<InFlight> pending = new ArrayDeque<>();
  private final StepTracker steps = new StepTracker(pending);

  private InFlight add(int tokens, long now) {
    return add(tokens, now, now);
  }

  private InFlight add(int tokens, long now, long startsAt) {
    InFlight entry =
        new InFlight(
            Prompt.of(1, 1),
            tokens,
            0,
            0,
            now,
            new Expectation(10, 10, 0, WorkerPhase.FREE, false));
    pending.add(entry);
    steps.add(entry, startsAt, STEP);
    return entry;
  }

  /** The first tokens of some requests arrive together. */
  private void firstTokens(long at, InFlight... entries) {
    for (InFlight entry : entries) {
      boolean ended = steps.end(at, SAME_STEP) >= 0;
      pending.remove(entry);
      steps.remove(entry, true, at, STEP);
      if (ended) {
        steps.start(at, STEP);
      }
    }
  }

  @Test
  void promptThatFindsTheWorkerFreeStartsAStep() {
    add(1000, 100);

    assertThat(steps.state()).isEqualTo(new PrefillState(100, 1, 1000, 0, 0, 0));
  }

  @Test
  void promptsThatArriveDuringAStepWaitForTheNextOne() {
    InFlight first = add(1000, 100);
    InFlight second = add(2000, 110);
    InFlight third = add(3000, 120);
    assertThat(steps.state()).isEqualTo(new PrefillState(100, 1, 1000, 0, 2, 5000));

    firstTokens(200, first);
    assertThat(steps.state()).isEqualTo(new PrefillState(200, 2, 5000, 0, 0, 0));
    firstTokens(300, second, third);
    assertThat(steps.state().tokens()).isZero();
  }

  @Test
  void promptsThatArriveBeforeTheStepStartsJoinIt() {
    add(1000, 100, 130);
    add(2000, 110, 110);

    assertThat(steps.state()).isEqualTo(new PrefillState(130, 2, 3000, 0, 0, 0));
  }

  @Test
  void promptsBeyondAStepAreComputedInParts() {
    InFlight first = add(100, 100);
    InFlight second = add(6000, 110);
    InFlight third = add(6000, 120);
    firstTokens(200, first);
    assertThat(steps.state()).isEqualTo(new PrefillState(200, 2, 8000, 0, 0, 4000));

    firstTokens(300, second);
    assertThat(steps.state()).isEqualTo(new PrefillState(300, 1, 4000, 0, 0, 0));
    firstTokens(400, third);
    assertThat(steps.state().tokens()).isZero();
  }

  @Test
  void promptLongerThanAStepCountsAsOneLongStep() {
    add(20_000, 100);
    add(500, 110);

    assertThat(steps.state()).isEqualTo(new PrefillState(100, 1, 20_000, 0, 1, 500));
  }

  @Test
  void promptsWhoseFirstTokensAreMissingAreLate() {
    InFlight first = add(100, 100);
    InFlight second = add(1000, 110);
    add(3000, 120);
    firstTokens(200, first);
    firstTokens(300, second);

    assertThat(steps.state().lateTokens()).isEqualTo(3000);
  }

  @Test
  void requestThatIsGivenUpWaitsNoLonger() {
    add(1000, 100);
    InFlight second = add(2000, 110);
    pending.remove(second);
    steps.remove(second, false, 120, STEP);

    assertThat(steps.state()).isEqualTo(new PrefillState(100, 1, 1000, 0, 0, 0));
  }

  @Test
  void requestThatIsGivenUpBeforeItsStepStartsIsNotComputed() {
    add(1000, 100, 130);
    InFlight second = add(2000, 110, 110);
    pending.remove(second);
    steps.remove(second, false, 120, STEP);

    assertThat(steps.state()).isEqualTo(new PrefillState(130, 1, 1000, 0, 0, 0));
  }

  @Test
  void stepThatHasStartedTakesAsLongWhenOneOfItsRequestsIsGivenUp() {
    add(1000, 100, 130);
    InFlight second = add(2000, 110, 110);
    pending.remove(second);
    steps.remove(second, false, 140, STEP);

    assertThat(steps.state()).isEqualTo(new PrefillState(130, 1, 3000, 0, 0, 0));
  }

  @Test
  void requestComputesTheSharedPartOfItsStep() {
    InFlight first = add(1000, 100, 130);
    InFlight second = add(2000, 110, 110);
    pending.remove(first);
    steps.grow(second, 400, 120);
    steps.remove(first, false, 120, STEP);

    assertThat(steps.state()).isEqualTo(new PrefillState(130, 1, 2400, 0, 0, 0));
  }

  @Test
  void tokensOfAStartedStepAreNotCountedAgainWhenAnotherRequestComputesThem() {
    InFlight first = add(1000, 100, 130);
    InFlight second = add(2000, 110, 110);
    pending.remove(first);
    steps.grow(second, 400, 140);
    steps.remove(first, false, 140, STEP);

    assertThat(steps.state()).isEqualTo(new PrefillState(130, 1, 3000, 0, 0, 0));
  }

  @Test
  void waitingRequestGrowsInTheQueue() {
    add(1000, 100);
    InFlight second = add(2000, 110);
    steps.grow(second, 400, 120);

    assertThat(steps.state()).isEqualTo(new PrefillState(100, 1, 1000, 0, 1, 2400));
  }

  @Test
  void lateRequestGrowsAmongTheLateTokens() {
    InFlight first = add(100, 100);
    InFlight second = add(1000, 110);
    InFlight third = add(3000, 120);
    firstTokens(200, first);
    firstTokens(300, second);
    steps.grow(third, 400, 310);

    assertThat(steps.state().lateTokens()).isEqualTo(3400);
  }

  @Test
  void firstTokensSoonAfterTheFirstOfAStepBelongToIt() {
    add(100, 100);
    add(1000, 110);

    assertThat(steps.end(200, SAME_STEP)).isZero();
    assertThat(steps.end(204, SAME_STEP)).isEqualTo(-1);
    assertThat(steps.end(206, SAME_STEP)).as("counted from the first one").isNotEqualTo(-1);
  }

  @Test
  void waitingRequestsStartAStepWhenAllOfThePresentOneAreGivenUp() {
    InFlight first = add(1000, 100);
    add(2000, 110);
    pending.remove(first);
    steps.remove(first, false, 120, STEP);

    assertThat(steps.state()).isEqualTo(new PrefillState(120, 1, 2000, 0, 0, 0));
  }
}
