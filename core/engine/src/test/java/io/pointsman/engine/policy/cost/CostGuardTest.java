package io.pointsman.engine.policy.cost;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.pointsman.engine.Decision;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.TestFleet;
import io.pointsman.engine.deferral.Deferral;
import io.pointsman.engine.deferral.DeferralSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.Insight.Fallback;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.testkit.FakeClock;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class CostGuardTest {
  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final double PLAIN = 100;

  /** Above 1.5 times {@link #PLAIN} and 20 ms. */
  private static final double SLOW = 180;

  private final FakeClock clock = new FakeClock();
  private final CostGuard guard = new CostGuard(clock.nanos());

  /** A window of first tokens of requests placed within its ten seconds. */
  private void window(double measured) {
    for (int i = 0; i <= 10; i++) {
      int together = i < 10 ? 25 : CostGuard.WINDOW - 250;
      for (int n = 0; n < together; n++) {
        guard.answered(clock.nanos(), measured, PLAIN, clock.nanos());
      }
      clock.advance(i < 10 ? SECOND : Duration.ZERO);
    }
  }

  private boolean fallenBack() {
    return guard.fallenBack(clock.nanos());
  }

  private void fallBack() {
    window(SLOW);
    window(SLOW);
    assertThat(fallenBack()).isTrue();
  }

  /** Measures a window, waits for the end of the fallback, and returns its length in seconds. */
  private long secondsFallenBack(double measured) {
    long from = clock.nanos();
    window(measured);
    while (fallenBack()) {
      clock.advance(SECOND);
    }
    return (clock.nanos() - from) / 1_000_000_000;
  }

  /** Returns the seconds from the end of a fallback to the start of the next by slow windows. */
  private long secondsUntilNext() {
    long from = clock.nanos();
    while (!fallenBack()) {
      window(SLOW);
    }
    return (clock.nanos() - from) / 1_000_000_000;
  }

  @Test
  void twoSlowWindowsBeginAFallback() {
    fallBack();

    Fallback view = guard.view(clock.nanos());
    assertThat(view.active()).isTrue();
    assertThat(view.activations()).isEqualTo(1);
    assertThat(view.costMillis()).isEqualTo(SLOW);
    assertThat(view.plainMillis()).isEqualTo(PLAIN);
    assertThat(view.fallbackMillis()).isNaN();
  }

  @Test
  void oneSlowWindowBeginsNone() {
    window(SLOW);
    window(PLAIN);
    window(SLOW);
    window(PLAIN);

    assertThat(fallenBack()).isFalse();
    assertThat(guard.view(clock.nanos())).isEqualTo(Fallback.NONE);
  }

  @Test
  void windowsNotFarAboveThePlainChoiceBeginNone() {
    for (int i = 0; i < 100; i++) {
      window(1.5 * PLAIN + 20);
    }

    assertThat(fallenBack()).isFalse();
  }

  @Test
  void lateFirstTokensOfThePlainChoiceTooBeginNone() {
    for (int i = 0; i < 10; i++) {
      for (int n = 0; n < CostGuard.CORRECTED_BY; n++) {
        guard.answeredPlain(clock.nanos(), SLOW, PLAIN, clock.nanos());
      }
      window(SLOW);
    }

    assertThat(fallenBack()).isFalse();
  }

  @Test
  void manyFirstTokensAtOnceAreOneWindow() {
    for (int n = 0; n < 10 * CostGuard.WINDOW; n++) {
      guard.answered(clock.nanos(), SLOW, PLAIN, clock.nanos());
    }
    clock.advance(Duration.ofSeconds(9));
    guard.answered(clock.nanos(), SLOW, PLAIN, clock.nanos());
    window(PLAIN);

    assertThat(fallenBack()).isFalse();
  }

  @Test
  void costDecidesAgainAfterAMinute() {
    fallBack();

    assertThat(secondsFallenBack(SLOW / 2)).isEqualTo(60);
    Fallback view = guard.view(clock.nanos());
    assertThat(view.active()).isFalse();
    assertThat(view.fallbackMillis()).isEqualTo(SLOW / 2);
  }

  @Test
  void aFallbackEndsThoughNobodyAsksForAPick() {
    fallBack();
    clock.advance(CostGuard.FIRST_FALLBACK);

    assertThat(guard.view(clock.nanos()).active()).isFalse();
  }

  @Test
  void itRestsForAnHourWhenTheFallbackIsNotFaster() {
    fallBack();
    secondsFallenBack(0.95 * SLOW);

    assertThat(secondsUntilNext()).isBetween(3600L, 3640L);
  }

  @Test
  void itRestsWhenTooFewFirstTokensCame() {
    fallBack();
    for (int n = 1; n < CostGuard.JUDGED_BY; n++) {
      guard.answered(clock.nanos(), 1, PLAIN, clock.nanos());
    }
    clock.advance(CostGuard.FIRST_FALLBACK);

    assertThat(guard.view(clock.nanos()).fallbackMillis()).isNaN();
    assertThat(secondsUntilNext()).isBetween(3600L, 3640L);
  }

  @Test
  void restsInARowDoubleUpToSixteenHours() {
    for (long hours : new long[] {1, 2, 4, 8, 16, 16}) {
      while (!fallenBack()) {
        window(SLOW);
      }
      secondsFallenBack(SLOW);
      assertThat(secondsUntilNext()).isBetween(hours * 3600, hours * 3600 + 40);
    }
  }

  @Test
  void fallbacksInARowDoubleUpToSixteenMinutes() {
    for (long minutes : new long[] {1, 2, 4, 8, 16, 16}) {
      fallBack();
      assertThat(secondsFallenBack(SLOW / 2)).isEqualTo(60 * minutes);
    }
    assertThat(guard.view(clock.nanos()).activations()).isEqualTo(6);
  }

  @Test
  void aGoodWindowEndsTheRowOfFallbacks() {
    fallBack();
    secondsFallenBack(SLOW / 2);
    window(PLAIN);
    fallBack();

    assertThat(secondsFallenBack(SLOW / 2)).isEqualTo(60);
  }

  @Test
  void requestsPlacedBeforeTheFallbackDoNotCountInIt() {
    long before = clock.nanos();
    fallBack();
    for (int n = 0; n < CostGuard.WINDOW; n++) {
      guard.answered(before, SLOW, PLAIN, clock.nanos());
    }
    secondsFallenBack(SLOW / 2);

    assertThat(guard.view(clock.nanos()).fallbackMillis()).isEqualTo(SLOW / 2);
  }

  private final TestFleet fleet = TestFleet.of(4);
  private final CostLearner learner =
      new CostLearner(CostSettings.DEFAULTS, fleet.clock::nanos, 16_384);
  private final CostPolicy policy = new CostPolicy(CostSettings.DEFAULTS, learner, fleet.random);
  private final PolicySetup setup =
      new PolicySetup(policy, List.of(learner), List.of(learner), null, null, null);
  private final RoutingEngine engine = engine(setup);

  private RoutingEngine engine(PolicySetup with) {
    return new RoutingEngine(
        fleet.fleet,
        with,
        EngineSettings.DEFAULTS,
        failure -> {
          throw new AssertionError(failure);
        },
        fleet.clock::nanos,
        fleet.random);
  }

  /** Activates the fallback of the fleet's policy. */
  private void policyFallsBack() {
    while (!learner.fallback().active()) {
      learner.guard().answered(fleet.now(), SLOW, PLAIN, fleet.now());
      fleet.clock.advance(Duration.ofMillis(40));
    }
  }

  private Lease place(RoutingRequest request) {
    return placed(engine, request);
  }

  private static Lease placed(RoutingEngine by, RoutingRequest request) {
    return ((Decision.Routed) by.decide(request)).lease();
  }

  private Worker served(PrefixBlocks prompt) {
    Lease lease = place(CostFleet.request(prompt));
    fleet.clock.advance(Duration.ofMillis(50));
    lease.firstToken();
    lease.reported(new Usage(prompt.tokens(), 0, 10));
    lease.succeeded();
    return lease.worker();
  }

  @Test
  void picksWhileFallenBackFollowLoadWithPrefixTies() {
    PrefixBlocks prompt = Prompt.of(1, 500);
    Worker holder = served(prompt);
    policyFallsBack();

    // One request more than the least loaded counts as equal load.
    for (int n = 0; n < 2; n++) {
      RoutingRequest request = CostFleet.request(prompt);
      assertThat(place(request).worker()).isSameAs(holder);
      assertThat(request.result().reason()).isEqualTo(PickReason.LEAST_LOAD);
      assertThat(request.result().matchedBlocks()).isPositive();
      assertThat(request.result().waitMillis()).isNaN();
    }
    // Two more are too many, for any cached prefix.
    assertThat(place(CostFleet.request(prompt)).worker()).isNotSameAs(holder);
  }

  @Test
  void firstTokensThatAreMeasuredAreCompared() {
    served(Prompt.of(0, 4));
    policyFallsBack();
    for (int n = 1; n <= CostGuard.JUDGED_BY; n++) {
      served(Prompt.of(n, 4));
    }
    fleet.clock.advance(CostGuard.FIRST_FALLBACK);

    assertThat(learner.fallback().fallbackMillis()).isEqualTo(50);
    RoutingRequest request = CostFleet.request(Prompt.of(1, 4));
    place(request);
    assertThat(request.result().reason()).isEqualTo(PickReason.LEAST_COST);
  }

  /** A request that may be deferred, and its lease. */
  private final class Deferred implements Deferral.Waiter {
    private final RoutingRequest request = CostFleet.request(Prompt.of(prompts++, 4));
    private @Nullable Lease lease;

    @Override
    public RoutingRequest request() {
      return request;
    }

    @Override
    public void decided(Decision decision, long deferredNanos) {
      lease = ((Decision.Routed) decision).lease();
      if (oneAtATime) {
        fullUntil = Long.MAX_VALUE;
      }
    }

    @Override
    public void failed(RuntimeException fault) {
      throw new AssertionError(fault);
    }
  }

  private int prompts;

  /** Until this time the rule of {@link #deferral} takes all workers for full. */
  private long fullUntil;

  /** True if all workers are full again after each placement. */
  private boolean oneAtATime;

  /** A request of {@link #deferral} takes this time alone. */
  private static final Duration OWN = Duration.ofMillis(50);

  /** The part of {@link #OWN} that a request adds to a step with others. */
  private double stepMillis = OWN.toMillis();

  /** Prediction of the choice minus that of the plain choice. */
  private double besidePlain;

  private Deferral deferral() {
    Policy full =
        pool -> {
          Picker picker = policy.picker(pool);
          return (request, now) -> {
            Worker worker = picker.pick(request, now);
            double wait = now < fullUntil ? 1000 : 0;
            request.picked(
                request
                    .result()
                    .withPlainMillis((double) OWN.toMillis())
                    .withStepMillis(stepMillis)
                    .withPredictedMillis(wait + (double) OWN.toMillis() + besidePlain)
                    .withWaitMillis(wait));
            return worker;
          };
        };
    return new Deferral(
        engine(new PolicySetup(full, List.of(learner), List.of(learner), null, null, null)),
        new DeferralSettings(Duration.ofMillis(25), Duration.ofMinutes(1), 100),
        fleet.clock::nanos);
  }

  private Deferred asked(Deferral deferral) {
    Deferred waiter = new Deferred();
    Decision decision = deferral.decide(waiter);
    if (decision != null) {
      waiter.decided(decision, 0);
    }
    return waiter;
  }

  private void answered(Deferred waiter, Duration after) {
    Lease lease = requireNonNull(waiter.lease, "lease");
    fleet.clock.advance(after);
    lease.firstToken();
    lease.succeeded();
  }

  /** Serves single requests, each deferred for a time in which every worker is idle. */
  private void servedAfter(Duration deferred) {
    Deferral deferral = deferral();
    for (int n = 0; n < 3 * CostGuard.WINDOW; n++) {
      fullUntil = fleet.now() + deferred.toNanos();
      Deferred waiter = asked(deferral);
      fleet.clock.advance(deferred);
      deferral.wake();
      answered(waiter, OWN);
    }
  }

  @Test
  void deferralThatMakesRequestsLateBeginsAFallback() {
    servedAfter(Duration.ZERO);
    assertThat(learner.fallback().active()).isFalse();

    servedAfter(Duration.ofMillis(100));
    assertThat(learner.fallback().active()).isTrue();
    assertThat(learner.fallback().costMillis()).isCloseTo(150, within(1.0));
  }

  /** The plain choice would have sent all of a burst to the workers, where they would wait. */
  @Test
  void deferralOfABurstThatWorkersServeAtTheirPaceBeginsNone() {
    besidePlain = 1; // its choices are not the plain ones, whose lateness would correct the mean
    Deferral deferral = deferral();
    Duration pace = OWN.dividedBy(fleet.pool().size());
    for (int bursts = 0; bursts < 60; bursts++) {
      fullUntil = Long.MAX_VALUE;
      List<Deferred> waiters = Stream.generate(() -> asked(deferral)).limit(60).toList();
      assertThat(waiters).allMatch(waiter -> waiter.lease == null);
      fullUntil = 0;
      deferral.wake();
      waiters.forEach(waiter -> answered(waiter, pace));
    }

    assertThat(learner.fallback()).isEqualTo(Fallback.NONE);
  }

  /** Serves one request after the other, each behind a queue of deferred ones. */
  private void servedFromAStandingQueue() {
    besidePlain = 1; // its choices are not the plain ones, whose lateness would correct the mean
    oneAtATime = true;
    fullUntil = Long.MAX_VALUE;
    Deferral deferral = deferral();
    Duration pace = OWN.dividedBy(fleet.pool().size());
    Deque<Deferred> waiters = new ArrayDeque<>();
    for (long n = 0; n < Duration.ofMinutes(1).dividedBy(pace); n++) {
      waiters.add(asked(deferral));
      if (waiters.size() > 60) {
        fullUntil = 0;
        deferral.wake();
        answered(waiters.remove(), pace);
      }
    }
  }

  /** The engine would have computed the short prompts of the queue in a few steps. */
  @Test
  void standingQueueBeforeEnginesThatBatchBeginsAFallback() {
    stepMillis = 1;
    servedFromAStandingQueue();

    assertThat(learner.fallback().activations()).isPositive();
  }

  @Test
  void standingQueueBeforeEnginesThatDoNotBatchBeginsNone() {
    servedFromAStandingQueue();

    assertThat(learner.fallback()).isEqualTo(Fallback.NONE);
  }

  private void servedLaterThanThePlainChoice(RoutingEngine by) {
    for (int n = 0; n < 3 * CostGuard.WINDOW; n++) {
      RoutingRequest request = CostFleet.request(Prompt.of(n, 4));
      Lease lease = placed(by, request);
      request.picked(request.result().withPlainMillis(1));
      fleet.clock.advance(Duration.ofMillis(50));
      lease.firstToken();
      lease.succeeded();
    }
  }

  @Test
  void choicesThatAreCarriedOutAreCompared() {
    servedLaterThanThePlainChoice(engine);

    assertThat(learner.fallback().active()).isTrue();
  }

  @Test
  void ruleWithoutItsGuardIsNotCompared() {
    PolicyParts parts =
        new PolicyParts(fleet.clock::nanos, fleet.random, 16_384, PolicySettings.DEFAULTS);
    PolicySetup unguarded = Policies.cost(parts, CostTerms.ALL.withGuard(false));
    servedLaterThanThePlainChoice(engine(unguarded));

    assertThat(requireNonNull(unguarded.insight(), "insight").fallback().activations()).isZero();
  }

  @Test
  void choicesOfAShadowAreNotCompared() {
    learner.inShadow();
    servedLaterThanThePlainChoice(engine);

    assertThat(learner.fallback().activations()).isZero();
  }

  @Test
  void oneCandidateIsNoChoiceToCompare() {
    CostFleet on = new CostFleet(1, CostSettings.DEFAULTS);
    RoutingRequest request = CostFleet.request(Prompt.of(1, 4));
    on.place(request);

    assertThat(request.result().predictedMillis()).isPositive();
    assertThat(request.result().plainMillis()).isNaN();
  }
}
