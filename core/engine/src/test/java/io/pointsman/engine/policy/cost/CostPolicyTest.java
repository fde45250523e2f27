package io.pointsman.engine.policy.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.pointsman.engine.Decision;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Failure;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.cost.cache.KindCache;
import io.pointsman.engine.policy.cost.latency.PoolModel;
import io.pointsman.engine.policy.cost.latency.PrefillState;
import io.pointsman.engine.prefix.PrefixBlocks;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class CostPolicyTest {
  private static final PrefillState NO_PREFILL = new PrefillState(0, 0, 0, 0, 0, 0);

  private final TestFleet fleet = TestFleet.of(4);
  private final RoutingEngine engine = engine(CostSettings.DEFAULTS);
  private long fresh = 1000;

  private RoutingEngine engine(CostSettings settings) {
    PolicyParts parts =
        new PolicyParts(
            fleet.clock::nanos, fleet.random, 16_384, PolicySettings.DEFAULTS.withCost(settings));
    return new RoutingEngine(
        fleet.fleet,
        Policies.create("cost", parts),
        EngineSettings.DEFAULTS,
        new FaultsAreErrors(),
        fleet.clock::nanos,
        fleet.random);
  }

  private record FaultsAreErrors() implements EngineListener {
    @Override
    public void routed(RoutingRequest request, LeaseView lease) {
      assertThat(request.result().reason()).isEqualTo(PickReason.LEAST_COST);
    }

    @Override
    public void policyFailed(RuntimeException failure) {
      throw new AssertionError("policy failed", failure);
    }
  }

  private static RoutingRequest request(PrefixBlocks prompt) {
    return RoutingRequest.builder().model(TestFleet.MODEL).prefix(prompt).build();
  }

  private static Lease place(RoutingEngine on, PrefixBlocks prompt) {
    Decision decision = on.decide(request(prompt));
    if (decision instanceof Decision.Routed(Lease lease)) {
      return lease;
    }
    throw new AssertionError(decision);
  }

  private Lease place(PrefixBlocks prompt) {
    return place(engine, prompt);
  }

  /** Computes a prompt within {@code millis} and ends the answer at once. */
  private void serve(Lease lease, long millis) {
    fleet.clock.advance(Duration.ofMillis(millis));
    lease.progressed();
    lease.firstToken();
    lease.succeeded();
  }

  private Worker served(PrefixBlocks prompt) {
    Lease lease = place(prompt);
    serve(lease, 100);
    return lease.worker();
  }

  @Test
  void promptGoesWhereItsPrefixIs() {
    Worker holder = served(Prompt.of(1, 200));
    served(Prompt.of(2, 200));
    served(Prompt.of(3, 200));

    for (int turn = 0; turn < 5; turn++) {
      assertThat(served(Prompt.of(1, 200, 10 + turn, 5))).isSameAs(holder);
    }
  }

  @Test
  void notesShowTheCachedPart() {
    served(Prompt.of(1, 20));
    RoutingRequest next = request(Prompt.of(1, 20, 2, 4));
    engine.decide(next);

    assertThat(next.result().matchedBlocks()).isEqualTo(20);
  }

  @Test
  void siblingsFollowAPromptThatIsStillBeingComputed() {
    Set<Worker> workers = new HashSet<>();
    for (int i = 0; i < 8; i++) {
      workers.add(place(Prompt.of(1, 1000)).worker());
    }

    assertThat(workers).hasSize(1);
  }

  @Test
  void promptLeavesAHolderThatHasMuchToDo() {
    Worker holder = served(Prompt.of(1, 64));
    int left = 0;
    for (int i = 0; i < 4; i++) {
      Lease other = place(Prompt.of(1, 64, 100 + i, 4000));
      left += other.worker() == holder ? 0 : 1;
    }

    assertThat(left).isGreaterThanOrEqualTo(2);
    assertThat(place(Prompt.of(1, 64, 9, 1)).worker().inFlight()).isLessThanOrEqualTo(2);
  }

  @Test
  void distinctPromptsSpread() {
    Set<Worker> workers = new HashSet<>();
    for (int i = 0; i < 4; i++) {
      workers.add(place(Prompt.of(i, 500)).worker());
    }

    assertThat(workers).hasSize(4);
  }

  @Test
  void evictedPromptIsNotExpectedToBeFound() {
    RoutingEngine small = engine(CostSettings.DEFAULTS.withKvTokens(4096));
    serve(place(small, Prompt.of(1, 100)), 50);
    for (int i = 0; i < 40; i++) {
      serve(place(small, Prompt.of(100 + i, 150)), 50);
    }
    RoutingRequest again = request(Prompt.of(1, 100));
    small.decide(again);

    assertThat(again.result().matchedBlocks()).isZero();
  }

  @Test
  void workerThatRefusesConnectionsHasLostItsCache() {
    serve(place(Prompt.of(1, 100)), 50);
    for (int i = 0; i < 2; i++) {
      Lease lease = place(Prompt.of(1, 100));
      lease.failed(Failure.CONNECT);
      fleet.clock.advance(Duration.ofMinutes(1));
      lease.worker().probed(true);
    }
    RoutingRequest again = request(Prompt.of(1, 100));
    engine.decide(again);

    assertThat(again.result().matchedBlocks()).isZero();
  }

  @Test
  void workerThatHasLeftIsForgotten() {
    Worker holder = served(Prompt.of(1, 100));
    fleet.fleet.remove(holder.id());
    fleet.add(TestFleet.spec(holder.id(), TestFleet.MODEL));
    RoutingRequest again = request(Prompt.of(1, 100));
    engine.decide(again);

    assertThat(again.result().matchedBlocks()).isZero();
  }

  @Test
  void engineThatFindsNothingAnyMoreHasStartedAnew() {
    PrefixBlocks prompt = Prompt.of(1, 100);
    Worker holder = served(prompt);
    PrefixBlocks old = Prompt.of(1, 80, 2, 400);
    assertThat(served(old)).isSameAs(holder);
    Lease found = place(prompt);
    found.reported(new Usage(1600, 1599, 10));
    serve(found, 50);
    PrefixBlocks since = Prompt.of(1, 80, 3, 400);
    for (int i = 0; i < 4; i++) {
      Lease lease = place(prompt);
      assertThat(lease.worker()).isSameAs(holder);
      assertThat(lease.cachedTokens()).isPositive();
      lease.reported(new Usage(1600, 0, 10));
      serve(lease, 50);
      if (i == 1) {
        assertThat(served(since)).isSameAs(holder);
      }
    }

    assertThat(expected(old)).as("as much as those since share with it").isEqualTo(1280);
    assertThat(expected(since)).as("computed by the new engine").isGreaterThan(7000);
    assertThat(expected(prompt)).isGreaterThan(1500);
  }

  /** Expected cached tokens of a prompt. */
  private int expected(PrefixBlocks prompt) {
    Lease lease = place(prompt);
    serve(lease, 50);
    return lease.cachedTokens();
  }

  @Test
  void slowWorkerGetsLess() {
    Worker slow = fleet.worker(0);
    int onSlow = 0;
    for (int round = 0; round < 400; round++) {
      List<Lease> batch = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        batch.add(place(Prompt.of(3L * round + i, 300)));
      }
      for (Lease lease : batch) {
        onSlow += round >= 200 && lease.worker() == slow ? 1 : 0;
      }
      fleet.clock.advance(Duration.ofMillis(120));
      batch.stream().filter(lease -> lease.worker() != slow).forEach(CostPolicyTest::answer);
      fleet.clock.advance(Duration.ofMillis(360));
      batch.stream().filter(lease -> lease.worker() == slow).forEach(CostPolicyTest::answer);
    }

    // A fourth of 600 would be 150.
    assertThat(onSlow).isLessThan(60);
  }

  private static void answer(Lease lease) {
    lease.firstToken();
    lease.succeeded();
  }

  @Test
  void textPromptsAreMeasuredByTheCountsOfEngines() {
    CostLearner learner = new CostLearner(CostSettings.DEFAULTS, fleet.clock::nanos, 16_384);
    PoolModel pool = learner.adopt(fleet.pool())[0].kind().pool();
    assertThat(pool.tokens(Prompt.text(1, 50))).isEqualTo(800);
    RoutingRequest text = request(Prompt.text(1, 50));
    for (int i = 0; i < 2000; i++) {
      Lease lease = fleet.lease(fleet.worker(0));
      lease.reported(new Usage(400, 0, 10));
      learner.ended(text, lease, Outcome.SUCCEEDED);
      lease.ignored();
    }

    assertThat(pool.tokens(Prompt.text(1, 50))).isBetween(395, 410);
    assertThat(pool.tokens(Prompt.of(1, 50))).isEqualTo(800);
  }

  @Test
  void requestsThatEndUnansweredLeaveNothingBehind() {
    for (int i = 0; i < 200; i++) {
      place(Prompt.of(i, 2000)).ignored();
    }
    fleet.clock.advance(Duration.ofMinutes(1));
    RoutingRequest again = request(Prompt.of(5, 2000));
    engine.decide(again);

    assertThat(again.result().matchedBlocks()).isZero();
    assertThat(fleet.pool().workers()).allMatch(w -> w.inFlight() <= 1);
  }

  @Test
  void largeFleetIsServedByItsHolders() {
    assertThat(secondTurnInLargeFleet(500)).isTrue();
  }

  @Test
  void largeFleetIsServedByHoldersOfPromptsThatCostAboutNothing() {
    assertThat(secondTurnInLargeFleet(15)).isTrue();
  }

  /** Returns true if the second turn of a conversation goes to the worker of the first. */
  private static boolean secondTurnInLargeFleet(int blocks) {
    TestFleet large = TestFleet.of(1000);
    PolicyParts parts =
        new PolicyParts(large.clock::nanos, large.random, 16_384, PolicySettings.DEFAULTS);
    RoutingEngine on =
        new RoutingEngine(
            large.fleet,
            Policies.create("cost", parts),
            EngineSettings.DEFAULTS,
            new FaultsAreErrors(),
            large.clock::nanos,
            large.random);
    Lease first = place(on, Prompt.of(1, blocks));
    first.firstToken();
    first.succeeded();
    large.clock.advance(Duration.ofSeconds(1));
    return place(on, Prompt.of(1, blocks, 2, 2)).worker() == first.worker();
  }

  private double waitOf(PrefixBlocks prompt) {
    return waitOf(engine, prompt);
  }

  private static double waitOf(RoutingEngine on, PrefixBlocks prompt) {
    RoutingRequest asked = request(prompt);
    assertThat(on.preview(asked)).isNotNull();
    return asked.result().waitMillis();
  }

  /** With less work queued, the request joins the next step and loses no time. */
  @Test
  void requestWaitsOnlyIfEveryWorkerHasAFurtherStepToDo() {
    for (int i = 0; i < 7; i++) {
      place(Prompt.of(i, 1000));
    }
    assertThat(waitOf(Prompt.of(9, 1000))).isZero();

    place(Prompt.of(7, 1000));
    assertThat(waitOf(Prompt.of(9, 1000))).isGreaterThan(100);
  }

  @Test
  void nothingWaitsForUnreportedPromptsAfterTheyAreDue() {
    for (int i = 0; i < 8; i++) {
      engine.decide(unreported(Prompt.of(i, 1000)));
    }
    assertThat(waitOf(Prompt.of(9, 1000))).isGreaterThan(100);

    fleet.clock.advance(Duration.ofSeconds(10));
    assertThat(waitOf(Prompt.of(9, 1000))).isZero();
  }

  /** Engines that answer in one piece although a stream was requested. */
  @Test
  void nothingWaitsForDuePromptsOfEnginesWithoutReportedFirstTokens() {
    List<Lease> whole = new ArrayList<>();
    for (int i = 30; i < 38; i++) {
      whole.add(place(Prompt.of(i, 1000)));
    }
    fleet.clock.advance(Duration.ofSeconds(10));
    assertThat(waitOf(Prompt.of(9, 1000))).as("they may hang").isGreaterThan(100);
    whole.forEach(CostPolicyTest::answerInOnePiece);

    List<Lease> streams = new ArrayList<>();
    for (int i = 10; i < 18; i++) {
      streams.add(place(Prompt.of(i, 1000)));
    }
    assertThat(waitOf(Prompt.of(9, 1000))).isGreaterThan(100);
    fleet.clock.advance(Duration.ofSeconds(10));
    assertThat(waitOf(Prompt.of(9, 1000))).isZero();

    streams.forEach(CostPolicyTest::answer);
    assertThat(streams.stream().map(Lease::worker).distinct()).hasSize(4);
    hang();
    assertThat(waitOf(Prompt.of(9, 1000))).as("they report them again").isGreaterThan(100);
  }

  private static void answerInOnePiece(Lease lease) {
    lease.reported(new Usage(16_000, 0, 10));
    lease.succeeded();
  }

  /** Eight prompts without a first token for 10 s. */
  private void hang() {
    for (int i = 20; i < 28; i++) {
      place(Prompt.of(i, 1000));
    }
    fleet.clock.advance(Duration.ofSeconds(10));
  }

  /** Embeddings requested as streams, and errors in a stream. */
  @Test
  void answersThatHaveNoTokensSayNothingOfFirstTokens() {
    for (int i = 0; i < 4; i++) {
      Lease lease = place(Prompt.of(i, 1000));
      fleet.clock.advance(Duration.ofSeconds(10));
      if (i % 2 == 0) {
        lease.reported(new Usage(16_000, 0, 0));
      }
      lease.succeeded();
    }
    hang();
    assertThat(waitOf(Prompt.of(9, 1000))).isGreaterThan(100);
  }

  /** A request with beam search among streams. */
  @Test
  void unreportedPromptIsComputedOnceALaterOneIs() {
    CostFleet two = new CostFleet(2, CostSettings.DEFAULTS);
    two.place(Prompt.of(1, 1000));
    two.place(Prompt.of(2, 1000));
    two.fleet.clock.advance(Duration.ofSeconds(10));
    Lease behind = two.place(Prompt.of(3, 1000));
    Lease other = two.place(Prompt.of(4, 1000));
    assertThat(other.worker()).isNotSameAs(behind.worker());
    assertThat(waitOf(two.engine, Prompt.of(9, 1000))).isGreaterThan(100);

    two.fleet.clock.advance(Duration.ofMillis(50));
    behind.firstToken();
    assertThat(waitOf(two.engine, Prompt.of(9, 1000))).isZero();
  }

  /** Returns true if the next request avoids a worker with one prompt and ten hanging ones. */
  private boolean avoidsTheOneThatHangs(int blocks) {
    CostFleet two = new CostFleet(2, CostSettings.DEFAULTS);
    Worker hangs = two.fleet.worker(0);
    Worker other = two.fleet.worker(1);
    other.drain(true);
    for (int i = 0; i < 10; i++) {
      two.place(Prompt.of(fresh++, blocks));
    }
    other.drain(false);
    hangs.drain(true);
    two.fleet.clock.advance(Duration.ofSeconds(10));
    two.place(Prompt.of(fresh++, blocks));
    hangs.drain(false);
    return two.place(Prompt.of(fresh++, blocks)).worker() == other;
  }

  @Test
  void workerThatHangsIsNoBetterThanOneThatHasJustBegun() {
    assertThat(avoidsTheOneThatHangs(50)).as("within a step").isTrue();
    assertThat(avoidsTheOneThatHangs(2000)).as("more than a step").isTrue();
  }

  private static RoutingRequest unreported(PrefixBlocks prompt) {
    return RoutingRequest.builder().model(TestFleet.MODEL).prefix(prompt).stream(false).build();
  }

  @Test
  void requestWaitsForMemoryOnlyOnEnginesWithAReportedCapacity() {
    fill(engine);
    assertThat(waitOf(Prompt.of(9, 10_000))).isZero();

    for (int i = 0; i < 4; i++) {
      fleet.worker(i).learnKvTokens(400_000);
    }
    RoutingEngine withCapacity = engine(CostSettings.DEFAULTS);
    fill(withCapacity);
    assertThat(waitOf(withCapacity, Prompt.of(9, 10_000))).isGreaterThan(100);
    assertThat(waitOf(withCapacity, Prompt.of(9, 100))).isZero();
  }

  private void fill(RoutingEngine on) {
    for (int i = 0; i < 4; i++) {
      place(on, Prompt.of(i, 20_000)).firstToken();
    }
  }

  /** An answer in one piece, with the engine's token counts. */
  private static void endsCounted(Lease lease) {
    lease.reported(new Usage(lease.promptTokens(), 0, 1));
    lease.succeeded();
  }

  /** Parallel requests, each with its whole answer after a time in milliseconds. */
  private void burst(int size, long millis) {
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < size; i++) {
      PrefixBlocks prompt = Prompt.of(fresh++, 32);
      RoutingRequest request =
          RoutingRequest.builder().model(TestFleet.MODEL).prefix(prompt).stream(false).build();
      if (engine.decide(request) instanceof Decision.Routed(Lease lease)) {
        leases.add(lease);
      }
    }
    assertThat(leases).hasSize(size);
    fleet.clock.advance(Duration.ofMillis(millis));
    leases.forEach(CostPolicyTest::endsCounted);
    fleet.clock.advance(Duration.ofMillis(1));
  }

  private double waitInABurst(int rounds, long millis) {
    for (int i = 0; i < rounds; i++) {
      burst(64, millis);
    }
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < 80; i++) {
      leases.add(place(Prompt.of(fresh++, 32)));
    }
    double wait = waitOf(Prompt.of(fresh++, 32));
    leases.forEach(Lease::ignored);
    return wait;
  }

  @Test
  void wholeAnswersTeachThatWorkersAreFasterThanThought() {
    assertThat(waitInABurst(0, 2)).as("at first").isGreaterThan(100);
    assertThat(waitInABurst(50, 2)).isLessThan(20);
  }

  @Test
  void wholeAnswersTeachWhileNoWorkerIsEverGivenTwoRequests() {
    for (int i = 0; i < 200; i++) {
      burst(4, 1);
    }
    for (int i = 0; i < 4; i++) {
      place(Prompt.of(fresh++, 32));
    }
    assertThat(waitOf(Prompt.of(fresh++, 32))).isLessThan(20);
  }

  @Test
  void ofWorkersThatAreEquallyFastTheOneThatHoldsMostIsChosen() {
    for (int i = 0; i < 50; i++) {
      burst(64, 2);
    }
    PrefixBlocks prompt = Prompt.of(fresh++, 32);
    Lease first = place(prompt);
    first.succeeded();
    fleet.clock.advance(Duration.ofSeconds(1));
    for (int i = 0; i < 8; i++) {
      Lease again = place(prompt);
      assertThat(again.worker()).isSameAs(first.worker());
      again.succeeded();
      fleet.clock.advance(Duration.ofSeconds(1));
    }
  }

  @Test
  void wholeAnswersThatComeLateTeachNothing() {
    double before = waitInABurst(0, 0);

    assertThat(waitInABurst(50, 60_000)).isEqualTo(before);
  }

  /** Prediction for one prompt, after many that came behind a long one. */
  private static double learnedBehindAWholeAnswer(boolean endsFirst) {
    CostFleet one = new CostFleet(1, CostSettings.DEFAULTS);
    for (int i = 0; i < 300; i++) {
      RoutingRequest.Builder whole = RoutingRequest.builder().model(TestFleet.MODEL).stream(false);
      Lease first = one.place(whole.prefix(Prompt.of(2L * i, 1500)).build());
      Lease second = one.place(Prompt.of(2L * i + 1, 500));
      one.fleet.clock.advance(Duration.ofMillis(750));
      if (endsFirst) {
        endsCounted(first);
      }
      one.fleet.clock.advance(Duration.ofMillis(50));
      second.firstToken();
      second.succeeded();
      if (!endsFirst) {
        endsCounted(first);
      }
      one.fleet.clock.advance(Duration.ofSeconds(1));
    }
    RoutingRequest next = request(Prompt.of(99_999, 2000));
    one.place(next);
    return next.result().predictedMillis();
  }

  @Test
  void whatWasComputedForAWholeAnswerCountsWhetherItIsOverOrNot() {
    double known = learnedBehindAWholeAnswer(false);

    assertThat(known).isBetween(750.0, 850.0);
    assertThat(learnedBehindAWholeAnswer(true)).isCloseTo(known, within(0.05 * known));
  }

  @Test
  void answersThatCountNoPromptTeachNothing() {
    double before = waitInABurst(0, 0);
    for (int i = 0; i < 200; i++) {
      Lease lease = place(Prompt.of(fresh++, 32));
      fleet.clock.advance(Duration.ofMillis(1));
      lease.succeeded();
    }
    assertThat(waitInABurst(0, 0)).isEqualTo(before);
  }

  @Test
  void withOneWorkerNothingIsGainedByWaiting() {
    CostFleet one = new CostFleet(1, CostSettings.DEFAULTS);
    one.place(Prompt.of(1, 1000));

    assertThat(waitOf(one.engine, Prompt.of(2, 1000))).isNaN();
  }

  @Test
  void errorsTeachNothing() {
    double before = waitInABurst(0, 0);
    for (int i = 0; i < 50; i++) {
      Lease lease = place(Prompt.of(fresh++, 32));
      fleet.clock.advance(Duration.ofMillis(1));
      lease.failed(Failure.ERROR);
      Lease refused = place(Prompt.of(fresh++, 32));
      fleet.clock.advance(Duration.ofMillis(1));
      refused.refused();
    }
    assertThat(waitInABurst(0, 0)).isEqualTo(before);
  }

  private final PoolModel pool = new PoolModel(8192, 0.2, 400_000, null);
  private final KindModel kind =
      new KindModel(new WorkerKind(Role.REGULAR, Set.of()), pool, new KindCache());

  private WorkerState state(PrefillState prefill, int decoding) {
    return new WorkerState(kind, prefill, 1, decoding, 0, 400_000, true, 1, 10, false);
  }

  /** Cost of a prompt of 4,800 tokens, 50 ms after a step of the worker has started. */
  private double cost(PrefillState prefill) {
    CostEstimator estimator = new CostEstimator().about(kind, Prompt.of(2, 300), 50_000_000);
    return estimator.cost(state(prefill, 0), 0);
  }

  @Test
  void promptWaitsForTheRestOfTheStepAndSharesTheNextOne() {
    double alone = cost(NO_PREFILL);
    double behindAStep = cost(new PrefillState(0, 1, 8192, 0, 0, 0));
    double step = pool.latency().millis(8192, 0);
    assertThat(behindAStep - alone).as("the rest").isCloseTo(step - 50, within(0.01));

    double fixed = pool.latency().millis(1, 0);
    double sharing = cost(new PrefillState(0, 1, 8192, 0, 1, 100)) - behindAStep;
    double work = pool.latency().millis(100 + 4800, 0) - pool.latency().millis(4800, 0);
    double delaysOther = pool.latency().millis(4800, 0) - fixed;
    assertThat(sharing).as("no further step").isCloseTo(work + delaysOther, within(0.1));
  }

  @Test
  void stepThatIsLateTakesNoLongerThanOneThatHasJustStarted() {
    double fresh = cost(new PrefillState(50_000_000, 1, 8192, 0, 0, 0));
    double hanging = cost(new PrefillState(-10_000_000_000L, 1, 8192, 0, 0, 0));

    assertThat(hanging).isEqualTo(fresh);
  }

  @Test
  void workerThatDecodesMuchCostsMore() {
    double free =
        new CostEstimator().about(kind, Prompt.of(2, 300), 0).cost(state(NO_PREFILL, 0), 0);
    WorkerState decodes = new WorkerState(kind, NO_PREFILL, 1, 8, 0.5, 400_000, true, 1, 10, false);
    double busy = new CostEstimator().about(kind, Prompt.of(2, 300), 0).cost(decodes, 0);

    assertThat(busy).isGreaterThan(free + 20);
  }
}
