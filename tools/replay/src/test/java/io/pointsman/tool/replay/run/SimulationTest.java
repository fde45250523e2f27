package io.pointsman.tool.replay.run;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.deferral.DeferralSettings;
import io.pointsman.engine.kv.KvIndex;
import io.pointsman.engine.policy.Policy;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.policy.cost.CostSettings;
import io.pointsman.tool.replay.peer.ReplayPolicies;
import io.pointsman.tool.replay.run.SimulationSettings.Announcements;
import io.pointsman.tool.replay.run.SimulationSettings.Change;
import io.pointsman.tool.replay.trace.Trace;
import io.pointsman.tool.replay.trace.TraceRequest;
import io.pointsman.tool.replay.trace.Workloads;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class SimulationTest {
  private static final DeferralSettings DEFERRED = DeferralSettings.DEFAULTS;
  private static final DeferralSettings NOT_HELD = DEFERRED.withBeyond(Duration.ZERO);

  private static final Trace SIBLINGS = Workloads.make("best-of-n", 1).first(1200);
  private static final Trace LOOPS = Workloads.make("tool-loops", 1).first(1500);

  private static SimulationSettings settings(Map<Integer, Double> slow, Change... changes) {
    return new SimulationSettings(8, 400_000, slow, List.of(changes), 1, PolicySettings.DEFAULTS);
  }

  private static RunResult run(Trace trace, String policy) {
    return Simulation.run(trace, ReplayPolicies.of(policy), settings(Map.of()));
  }

  static List<String> names() {
    return ReplayPolicies.names();
  }

  @ParameterizedTest
  @MethodSource("names")
  void everyPolicyServesEveryRequest(String policy) {
    Trace trace = LOOPS.first(300).atRate(15);
    RunResult result = run(trace, policy);

    assertThat(result.requests()).isEqualTo(300);
    assertThat(result.rejected()).isZero();
    assertThat(result.hit()).isBetween(0.0, 1.0);
    assertThat(result.requestsByWorker().stream().mapToInt(n -> n).sum()).isEqualTo(300);
  }

  @ParameterizedTest
  @ValueSource(strings = {"cost", "kv_aware"})
  void eventsServePoliciesThatFollowThem(String policy) {
    Trace trace = LOOPS.first(600).atRate(15);
    for (Announcements announcements :
        List.of(
            new Announcements(Double.POSITIVE_INFINITY, 0),
            new Announcements(0, 0),
            new Announcements(0, 0, true),
            new Announcements(1, 0.05))) {
      SimulationSettings settings =
          new SimulationSettings(
              8, 400_000, Map.of(), List.of(), 1, PolicySettings.DEFAULTS, announcements);
      RunResult result = Simulation.run(trace, ReplayPolicies.of(policy), settings);

      assertThat(result.requests()).isEqualTo(600);
      assertThat(result.hit()).as("%s", announcements).isGreaterThan(0.6);
    }
  }

  /** Chooses workers in turn, and records the number of known blocks at each pick. */
  private static PolicySetup inTurn(PolicyParts parts, List<Long> known) {
    KvIndex announced = parts.kv().index();
    Policy policy =
        pool ->
            (_, _) -> {
              known.add(announced.blocks());
              return pool.worker(known.size() % pool.size());
            };
    return new PolicySetup(policy, List.of());
  }

  @Test
  void eventsArriveBeforeRequestsOfALostEngineAreDecidedAgain() {
    TraceRequest lost = new TraceRequest(0, -1, 64, 2000, new long[] {11});
    TraceRequest last = new TraceRequest(0, -1, 640, 1, new long[] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    Trace trace = new Trace("two", 64, List.of(lost, last));
    List<Long> known = new ArrayList<>();
    SimulationSettings settings =
        new SimulationSettings(
            2,
            400_000,
            Map.of(),
            List.of(new Change(5, 1)),
            1,
            PolicySettings.DEFAULTS,
            new Announcements(0, 0));
    RunResult result = Simulation.run(trace, (parts, _) -> inTurn(parts, known), settings);

    assertThat(result.requests()).isEqualTo(2);
    assertThat(known).hasSize(3);
    assertThat(known.get(1)).isLessThan(10);
    assertThat(known.get(2)).isGreaterThanOrEqualTo(10);
  }

  @Test
  void policyWithoutReportsStillFindsMostHits() {
    Trace trace = LOOPS.first(600).atRate(10);
    RunResult reported = run(trace, "cost");
    SimulationSettings unreported =
        new SimulationSettings(
            8, 400_000, Map.of(), List.of(), 1, PolicySettings.DEFAULTS, null, 0.2);
    RunResult result = Simulation.run(trace, ReplayPolicies.of("cost"), unreported);

    assertThat(result.hit()).isGreaterThan(0.9 * reported.hit());
    assertThat(result.predictions().meanAbsolute())
        .as("it knows less")
        .isNotEqualTo(reported.predictions().meanAbsolute());
  }

  /**
   * Prompts are text, and the policy assumes half of the engines' actual memory. The sums cover
   * eight workloads: the mean differences are four and seven of their standard errors.
   */
  @Test
  void eventsRevealTheCapacityOfCaches() {
    PolicySettings half =
        PolicySettings.DEFAULTS.withCost(CostSettings.DEFAULTS.withKvTokens(30_000));
    Announcements sizes = new Announcements(0, 0, true);
    double reportedTtft = 0;
    double unreportedTtft = 0;
    double reportedHit = 0;
    double unreportedHit = 0;
    for (int seed = 1; seed <= 8; seed++) {
      Trace trace = Workloads.make("best-of-n", seed).first(1200).atRate(23);
      RunResult reported = cost(trace, half, sizes);
      RunResult unreported = cost(trace, half, null);
      reportedTtft += reported.ttftMean();
      unreportedTtft += unreported.ttftMean();
      reportedHit += reported.hit();
      unreportedHit += unreported.hit();
    }

    assertThat(reportedTtft).isLessThan(unreportedTtft);
    assertThat(reportedHit).isGreaterThan(unreportedHit);
  }

  private static RunResult cost(
      Trace trace, PolicySettings policies, @Nullable Announcements announcements) {
    SimulationSettings settings =
        new SimulationSettings(8, 60_000, Map.of(), List.of(), 1, policies, announcements);
    return Simulation.run(trace, ReplayPolicies.of("cost"), settings);
  }

  @Test
  void sameSeedGivesTheSameResult() {
    Trace trace = SIBLINGS.atRate(20);
    RunResult one = run(trace, "cost");
    RunResult other = run(trace, "cost");

    assertThat(other.ttftMean()).isEqualTo(one.ttftMean());
    assertThat(other.requestsByWorker()).isEqualTo(one.requestsByWorker());
  }

  @Test
  void singleRequestTakesItsPrefillTime() {
    TraceRequest request = new TraceRequest(0, -1, 8192, 1, new long[] {1, 2, 3, 4});
    RunResult result = run(new Trace("one", 2048, List.of(request)), "round_robin");

    double prefill = 4.21e-7 * 8192 * 8192 + 0.01518 * 8192 + 16.5 + 5.74;
    assertThat(result.ttftMean()).isBetween(prefill - 0.01, prefill + 0.01);
  }

  @Test
  void dependentRequestArrivesAfterItsPredecessorsEnd() {
    TraceRequest first = new TraceRequest(0, -1, 100, 50, new long[] {1});
    TraceRequest second = new TraceRequest(1000, 0, 100, 1, new long[] {1});
    RunResult result = run(new Trace("two", 100, List.of(first, second)), "round_robin");

    assertThat(result.requests()).isEqualTo(2);
    assertThat(result.seconds()).isGreaterThan(1.3);
  }

  @Test
  void siblingsShareOneEngineUnderCostButNotUnderRoundRobin() {
    Trace trace = SIBLINGS.atRate(20);

    assertThat(run(trace, "cost").hit()).isGreaterThan(0.8);
    assertThat(run(trace, "round_robin").hit()).isLessThan(0.1);
  }

  @Test
  void costIsFasterThanRoundRobinOnLoops() {
    Trace trace = LOOPS.atRate(25);

    assertThat(run(trace, "cost").ttftMean())
        .isLessThan(0.7 * run(trace, "round_robin").ttftMean());
  }

  @Test
  void slowEngineGetsLessUnderCost() {
    RunResult result =
        Simulation.run(SIBLINGS.atRate(15), ReplayPolicies.of("cost"), settings(Map.of(2, 4.0)));
    int slow = result.requestsByWorker().get(2);
    List<Integer> others = new ArrayList<>(result.requestsByWorker().subList(0, 2));
    others.addAll(result.requestsByWorker().subList(3, 8));

    assertThat(others).allMatch(other -> other > slow);
  }

  @Test
  void requestsOfALostEngineAreServedElsewhereAndItReturns() {
    RunResult result =
        Simulation.run(
            SIBLINGS.atRate(20),
            ReplayPolicies.of("cost"),
            settings(Map.of(), new Change(10, 3), new Change(20, 3), new Change(25, 8)));

    assertThat(result.requests()).isEqualTo(1200);
    assertThat(result.requestsByWorker()).hasSize(10);
    assertThat(result.requestsByWorker().get(8)).isGreaterThan(50);
    assertThat(result.requestsByWorker().get(9)).isGreaterThan(50);
  }

  /** Conversations of five turns with long prefill, arriving {@code atATime} at once. */
  private static Trace longPrompts(int atATime) {
    List<TraceRequest> requests = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      int conversation = (i * 31) % 200;
      long[] blocks = new long[8 + 8 * (i / 200) + conversation % 11 * 4];
      for (int block = 0; block < blocks.length; block++) {
        blocks[block] = 1000L * conversation + block + 1;
      }
      requests.add(
          new TraceRequest(
              i / atATime * atATime * 100 + i % atATime * 10, -1, blocks.length * 512, 20, blocks));
    }
    return new Trace("conversations", 512, requests);
  }

  private static RunResult run(String policy, double rate, DeferralSettings deferral) {
    return run(policy, longPrompts(40).atRate(rate), 1, deferral);
  }

  private static RunResult run(String policy, Trace trace, long seed, DeferralSettings deferral) {
    SimulationSettings settings =
        new SimulationSettings(
            4, 400_000, Map.of(), List.of(), seed, PolicySettings.DEFAULTS, null, 0, deferral);
    return Simulation.run(trace, ReplayPolicies.of(policy), settings);
  }

  @Test
  void deferredRequestsArePlacedBetter() {
    RunResult deferred = run("cost", 8, DEFERRED);
    RunResult placed = run("cost", 8, NOT_HELD);

    assertThat(deferred.requests()).isEqualTo(1000);
    assertThat(deferred.deferred()).isGreaterThan(100);
    assertThat(deferred.deferredMax())
        .isGreaterThanOrEqualTo(deferred.deferredMean())
        .isLessThan(5_100.0);
    assertThat(placed.deferred()).isZero();
    assertThat(run("cost", 8, DEFERRED).ttftMean()).isEqualTo(deferred.ttftMean());
    assertThat(sumOfMeans(40, DEFERRED)).isLessThan(0.98 * sumOfMeans(40, NOT_HELD));
  }

  @Test
  @Tag("full")
  void deferralCostsEvenlyArrivingPromptsLittle() {
    assertThat(sumOfMeans(1, DEFERRED)).isLessThan(1.2 * sumOfMeans(1, NOT_HELD));
  }

  /** Sums several rates and seeds, because one decision changes all later ones. */
  private static double sumOfMeans(int atATime, DeferralSettings deferral) {
    double sum = 0;
    for (int rate = 5; rate <= 9; rate++) {
      for (int seed = 1; seed <= 4; seed++) {
        sum += run("cost", longPrompts(atATime).atRate(rate), seed, deferral).ttftMean();
      }
    }
    return sum;
  }

  @Test
  void policiesWithoutPredictionsDeferNothing() {
    assertThat(run("least_load", 10, DEFERRED).deferred()).isZero();
  }
}
