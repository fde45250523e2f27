package io.pointsman.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.deferral.Deferral;
import io.pointsman.engine.deferral.DeferralSettings;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.PickResult;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class DeferralTest {
  private static final DeferralSettings SETTINGS =
      new DeferralSettings(Duration.ofMillis(50), Duration.ofSeconds(5), 20);

  private final TestFleet fleet = TestFleet.of(1);

  /** The policy's predicted minimum wait in milliseconds; NaN if it predicts none. */
  private double waitMillis;

  /** Predicted for the plain choice in milliseconds; NaN without a prediction. */
  private double plainMillis = Double.NaN;

  /** Decisions until every worker is full again. */
  private int room;

  /** Prompt blocks cached by the worker, per request. */
  private final Map<RoutingRequest, Integer> cached = new HashMap<>();

  private final RecordedEvents events = new RecordedEvents();
  private final RoutingEngine engine =
      new RoutingEngine(
          fleet.fleet,
          new PolicySetup(
              pool ->
                  (request, now) -> {
                    request.picked(
                        PickResult.of(PickReason.LEAST_COST, cached.getOrDefault(request, 0)));
                    request.picked(
                        request
                            .result()
                            .withPlainMillis(plainMillis)
                            .withStepMillis(40)
                            .withWaitMillis(room > 0 ? 0 : waitMillis));
                    return pool.worker(0);
                  },
              List.of()),
          EngineSettings.DEFAULTS,
          events,
          fleet.clock::nanos,
          fleet.random);
  private final Deferral deferral = new Deferral(engine, SETTINGS, fleet.clock::nanos);
  private final List<Waiter> order = new ArrayList<>();

  private final class Waiter implements Deferral.Waiter {
    private final RoutingRequest request;
    private @Nullable Decision decision;
    private long deferredNanos;

    Waiter(@Nullable String model) {
      PrefixBlocks prompt = new PrefixBlocks(new long[] {1, 2, 3, 4}, 4, 256, 64, 256);
      request = RoutingRequest.builder().model(model).prefix(prompt).build();
    }

    @Override
    public RoutingRequest request() {
      return request;
    }

    @Override
    public void decided(Decision made, long nanos) {
      decision = made;
      deferredNanos = nanos;
      order.add(this);
      room--;
    }

    @Override
    public void failed(RuntimeException fault) {
      throw fault;
    }
  }

  private Waiter deferred(int cachedBlocks) {
    Waiter waiter = new Waiter(TestFleet.MODEL);
    cached.put(waiter.request, cachedBlocks);
    assertThat(deferral.decide(waiter)).isNull();
    return waiter;
  }

  private void pass(Duration time) {
    fleet.clock.advance(time);
    deferral.wake();
  }

  @Test
  void requestIsDeferredWhileEveryWorkerIsFullAndDecidedWhenOneHasRoom() {
    waitMillis = 51;
    Waiter waiter = deferred(0);
    pass(Duration.ofMillis(10));

    assertThat(order).isEmpty();
    assertThat(deferral.waiting()).isEqualTo(1);
    assertThat(events.routed).isEmpty();

    room = 1;
    pass(Duration.ofMillis(10));

    assertThat(waiter.decision).isInstanceOf(Decision.Routed.class);
    assertThat(waiter.deferredNanos).isEqualTo(Duration.ofMillis(20).toNanos());
    assertThat(waiter.request.waits().firstPlacedAt() - waiter.request.waits().askedAt())
        .isEqualTo(Duration.ofMillis(20).toNanos());
    assertThat(deferral.waiting()).isZero();
    assertThat(deferral.wakeAfterNanos()).isEqualTo(Deferral.NO_WAKE);
  }

  @Test
  void nothingIsDeferredIfAWorkerHasRoomOrThePolicyPredictsNoWait() {
    for (double wait : new double[] {0, 50, Double.NaN}) {
      waitMillis = wait;

      assertThat(deferral.decide(new Waiter(TestFleet.MODEL))).isNotNull();
    }
    waitMillis = 1000;
    Deferral off = new Deferral(engine, SETTINGS.withBeyond(Duration.ZERO), fleet.clock::nanos);

    assertThat(off.decide(new Waiter(TestFleet.MODEL))).isNotNull();
  }

  @Test
  void requestsWithTheMostCachedBlocksGoFirst() {
    waitMillis = 1000;
    Waiter first = deferred(1);
    Waiter second = deferred(3);
    Waiter third = deferred(1);
    room = 1;
    pass(Duration.ofMillis(10));
    assertThat(order).containsExactly(second);

    room = 2;
    pass(Duration.ofMillis(10));
    assertThat(order).containsExactly(second, first, third);
  }

  @Test
  void afterTheLongestTimeARequestIsPlacedOnAFullWorker() {
    waitMillis = 1000;
    Waiter first = deferred(0);
    fleet.clock.advance(Duration.ofSeconds(3));
    deferred(2);
    pass(Duration.ofSeconds(2));

    assertThat(order).containsExactly(first);
    assertThat(first.decision).isInstanceOf(Decision.Routed.class);
    assertThat(deferral.waiting()).isEqualTo(1);
  }

  @Test
  void manyDeferralsInVainPlaceAllAndStopDeferralForAMinute() {
    waitMillis = 1000;
    for (int i = 0; i < 16; i++) {
      deferred(0);
    }
    fleet.clock.advance(Duration.ofSeconds(3));
    deferred(0);
    pass(Duration.ofSeconds(2));
    assertThat(order).hasSize(17);
    assertThat(deferral.waiting()).isZero();

    fleet.clock.advance(Duration.ofSeconds(59));
    assertThat(deferral.decide(new Waiter(TestFleet.MODEL))).isInstanceOf(Decision.Routed.class);
    fleet.clock.advance(Duration.ofSeconds(1));
    deferred(0);
  }

  @Test
  void successfulDeferralsReduceTheCountOfDeferralsInVain() {
    waitMillis = 1000;
    for (int i = 0; i < 15; i++) {
      deferred(0);
    }
    fleet.clock.advance(Duration.ofSeconds(3));
    deferred(0);
    deferred(0);
    pass(Duration.ofSeconds(2));
    room = 1;
    pass(Duration.ofMillis(10));
    pass(Duration.ofSeconds(5));

    assertThat(order).hasSize(17);
    deferred(0);
  }

  @Test
  void singleDeferralsInVainCountToo() {
    waitMillis = 1000;
    for (int i = 0; i < 20; i++) {
      if (deferral.decide(new Waiter(TestFleet.MODEL)) == null) {
        pass(SETTINGS.longest());
      }
    }

    assertThat(deferral.decide(new Waiter(TestFleet.MODEL))).isInstanceOf(Decision.Routed.class);
    fleet.clock.advance(Duration.ofMinutes(1));
    deferred(0);
    pass(SETTINGS.longest());

    assertThat(deferral.decide(new Waiter(TestFleet.MODEL))).isInstanceOf(Decision.Routed.class);
  }

  @Test
  void newRequestJoinsTheQueueEvenIfAWorkerHasRoom() {
    waitMillis = 1000;
    Waiter first = deferred(0);
    room = 1;
    deferred(0);
    pass(Duration.ofMillis(10));

    assertThat(order).containsExactly(first);
    waitMillis = Double.NaN;
    assertThat(deferral.decide(new Waiter(TestFleet.MODEL))).isInstanceOf(Decision.Routed.class);
  }

  @Test
  void requestIsNotRefusedAsBusyWhileItMayStillWait() {
    waitMillis = 1000;
    Waiter waiter = deferred(0);
    fleet.worker(0).rest(Duration.ofSeconds(4).toNanos());
    pass(Duration.ofMillis(10));
    assertThat(waiter.decision).isNull();
    assertThat(deferral.waiting()).isEqualTo(1);

    fleet.worker(0).rest(Duration.ofHours(1).toNanos());
    pass(Duration.ofSeconds(5));
    assertThat(waiter.decision).isInstanceOf(Decision.Rejected.class);
  }

  private List<Waiter> most() {
    waitMillis = 1000;
    List<Waiter> waiters = new ArrayList<>();
    for (int i = 0; i < SETTINGS.most(); i++) {
      waiters.add(deferred(0));
    }
    return waiters;
  }

  @Test
  void requestBeyondTheMaximumDisplacesTheFirst() {
    Waiter first = most().getFirst();
    Waiter last = deferred(0);

    assertThat(order).containsExactly(first);
    assertThat(first.decision).isInstanceOf(Decision.Routed.class);
    assertThat(deferral.waiting()).isEqualTo(SETTINGS.most());
    assertThat(deferral.leave(last)).isTrue();
  }

  @Test
  void displacedRequestsCountInVainByTheirShareOfTheLongestTime() {
    most();
    for (int i = 0; i < 100; i++) {
      deferred(0);
    }
    fleet.clock.advance(Duration.ofMillis(4500));
    for (int i = 0; i < 18; i++) {
      deferred(0);
    }

    assertThat(deferral.decide(new Waiter(TestFleet.MODEL))).isInstanceOf(Decision.Routed.class);
    pass(Duration.ofMillis(10));
    assertThat(deferral.waiting()).isZero();
  }

  @Test
  void requestOfAnotherQueueBeyondTheMaximumIsPlacedAtOnce() {
    most();
    Waiter other = new Waiter(null);

    assertThat(deferral.decide(other)).isInstanceOf(Decision.Routed.class);
    assertThat(deferral.waiting()).isEqualTo(SETTINGS.most());
    assertThat(order).isEmpty();
  }

  @Test
  void requestBeyondTheMaximumIsRefusedInsteadOfTheFirst() {
    List<Waiter> waiters = most();
    fleet.worker(0).rest(Duration.ofSeconds(4).toNanos());

    assertThat(deferral.decide(new Waiter(TestFleet.MODEL))).isInstanceOf(Decision.Rejected.class);
    assertThat(order).isEmpty();
    assertThat(deferral.leave(waiters.getFirst())).isTrue();
  }

  @Test
  void requestThatLeavesIsNotDecided() {
    waitMillis = 1000;
    Waiter waiter = deferred(0);

    assertThat(deferral.leave(waiter)).isTrue();
    assertThat(deferral.leave(waiter)).isFalse();
    room = 1;
    pass(Duration.ofMillis(10));
    assertThat(order).isEmpty();
    assertThat(events.routed).isEmpty();
  }

  private void addThreeWorkers() {
    for (String id : List.of("w1", "w2", "w3")) {
      fleet.add(TestFleet.spec(id, TestFleet.MODEL));
    }
  }

  private static double plain(Waiter waiter) {
    return waiter.request.waits().plainMillis();
  }

  @Test
  void predictionForThePlainChoiceCountsTheDeferredRequestsOfAllWorkersThatServe() {
    waitMillis = 1000;
    plainMillis = 500;
    addThreeWorkers();
    fleet.worker(1).rest(Duration.ofHours(1).toNanos());
    assertThat(plain(deferred(0))).isEqualTo(500);
    assertThat(plain(deferred(0))).isEqualTo(510);
    fleet.kill(fleet.worker(1));
    fleet.kill(fleet.worker(2));
    assertThat(plain(deferred(0))).isEqualTo(530);

    fleet.clock.advance(Duration.ofMillis(10));
    assertThat(plain(deferred(0))).isEqualTo(540);
  }

  @Test
  void requestsThatLeaveDoNotCountInThePredictionForThePlainChoice() {
    waitMillis = 1000;
    plainMillis = 500;
    addThreeWorkers();
    deferred(0);
    Waiter second = deferred(0);
    deferral.leave(second);
    deferral.leave(second);

    assertThat(plain(deferred(0))).isEqualTo(510);
  }

  @Test
  void requestWithoutAPredictionForThePlainChoiceDoesNotChangeThoseOfOthers() {
    waitMillis = 1000;
    plainMillis = 500;
    addThreeWorkers();
    deferred(0);
    plainMillis = Double.NaN;
    Waiter without = deferred(0);
    assertThat(plain(without)).isNaN();
    deferral.leave(without);
    plainMillis = 500;

    assertThat(plain(deferred(0))).isEqualTo(510);
  }

  @Test
  void oneCallerWakesForAll() {
    waitMillis = 1000;
    assertThat(deferral.wakeAfterNanos()).isEqualTo(Deferral.NO_WAKE);
    deferred(0);
    assertThat(deferral.wakeAfterNanos()).isPositive();
    deferred(0);
    assertThat(deferral.wakeAfterNanos()).isEqualTo(Deferral.NO_WAKE);

    deferral.wake();
    assertThat(deferral.wakeAfterNanos()).isPositive();
  }

  @Test
  void allAreDecidedWhenNoWorkerIsLeft() {
    waitMillis = 1000;
    Waiter waiter = deferred(0);
    for (int i = 0; i < 10; i++) {
      fleet.worker(0).probed(false);
    }
    pass(Duration.ofMillis(10));

    assertThat(waiter.decision).isInstanceOf(Decision.Rejected.class);
  }
}
