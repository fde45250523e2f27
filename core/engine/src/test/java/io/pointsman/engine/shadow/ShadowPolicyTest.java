package io.pointsman.engine.shadow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.pointsman.engine.Decision;
import io.pointsman.engine.EngineListener;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.policy.cost.CostSettings;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.shadow.ShadowPolicy.Maker;
import io.pointsman.engine.shadow.ShadowPolicy.Second;
import io.pointsman.testkit.ScriptedRandomSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ShadowPolicyTest {
  private static final int WORKERS = 4;

  private final TestFleet fleet = TestFleet.of(WORKERS);

  private ShadowPolicy shadow(Maker policy) {
    return shadow(policy, FleetSettings.DEFAULTS);
  }

  private ShadowPolicy shadow(Maker policy, FleetSettings settings) {
    return new ShadowPolicy(
        fleet.fleet,
        settings,
        new Second(policy, false),
        parts(11),
        EngineSettings.DEFAULTS,
        CostSettings.DEFAULTS.withMaxBytes(8 << 20));
  }

  private PolicyParts parts(long seed) {
    return new PolicyParts(
        fleet.clock::nanos,
        ScriptedRandomSource.seeded(seed)::roll,
        FleetSettings.DEFAULTS.maxWorkers(),
        PolicySettings.DEFAULTS);
  }

  private static Maker named(String policy) {
    return (_, parts) -> Policies.create(policy, parts);
  }

  private RoutingEngine acting(String policy, ShadowPolicy... observers) {
    PolicySetup setup = Policies.create(policy, parts(12));
    for (ShadowPolicy observer : observers) {
      setup = setup.withAnswers(observer);
    }
    return new RoutingEngine(
        fleet.fleet,
        setup,
        EngineSettings.DEFAULTS,
        new FaultsAreErrors(),
        fleet.clock::nanos,
        fleet.random);
  }

  private static RoutingRequest request(long prompt) {
    long[] pieces = new long[100];
    for (int i = 0; i < pieces.length; i++) {
      pieces[i] = PrefixBlocks.mix(prompt * 1000 + i);
    }
    PrefixBlocks prefix = PrefixBlocks.chain(1, pieces, 100, 1600, 16, 1600);
    return RoutingRequest.builder().model(TestFleet.MODEL).prefix(prefix).build();
  }

  private static Lease place(RoutingEngine engine, long prompt) {
    return ((Decision.Routed) engine.decide(request(prompt))).lease();
  }

  /** Serves a request on an engine that does not report its cache hits. */
  private void serve(Lease lease) {
    fleet.clock.advance(Duration.ofMillis(50));
    lease.progressed();
    lease.firstToken();
    lease.reported(new Usage(1600, -1, 10));
    lease.succeeded();
  }

  @Test
  void hitsOfBothPoliciesAreReported() {
    ShadowPolicy shadow = shadow(named("cost"));
    RoutingEngine engine = acting("round_robin", shadow);
    for (int i = 0; i < 40; i++) {
      // An odd number of prompts, so the turns do not coincide.
      serve(place(engine, i % 5));
      shadow.work();
    }

    ShadowReport report = shadow.report();
    assertThat(report.acting().placed()).isEqualTo(40);
    assertThat(report.shadow().placed()).isEqualTo(40);
    assertThat(report.shadow().promptTokens()).isEqualTo(40 * 1600);
    // All but the first of each of five prompts.
    assertThat(report.shadow().cachedTokens()).isBetween(34L * 1600, 35L * 1600);
    // All but the first of each prompt on each worker.
    assertThat(report.acting().cachedTokens()).isBetween(19L * 1600, 20L * 1600);
    assertThat(report.shadow().ttftMillis()).isLessThan(report.acting().ttftMillis());
    assertThat(report.failures()).isZero();
  }

  /** The maximum may have been lowered, and the last worker has the highest slot. */
  @Test
  void aWorkerInAHigherSlotThanTheMaximumIsFollowed() {
    for (int i = 0; i < WORKERS - 1; i++) {
      fleet.fleet.remove("w" + i);
    }
    ShadowPolicy shadow = shadow(named("cost"), FleetSettings.DEFAULTS.withMaxWorkers(1));
    serve(place(acting("cost", shadow), 1));
    shadow.work();
    assertThat(shadow.report().shadow().placed()).isEqualTo(1);
    assertThat(shadow.report().failures()).isZero();
  }

  @Test
  void actingPolicyIsNotAffected() {
    ShadowPolicy shadow = shadow(named("cost"));
    List<Worker> alone = placements(acting("round_robin"));
    List<Worker> watched = placements(acting("round_robin", shadow));
    shadow.work();

    assertThat(watched).isEqualTo(alone);
    assertThat(shadow.report().shadow().placed()).isEqualTo(8);
    assertThat(fleet.pool().workers()).allMatch(worker -> worker.inFlight() == 0);
  }

  private static List<Worker> placements(RoutingEngine engine) {
    List<Worker> chosen = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      Lease lease = place(engine, i);
      chosen.add(lease.worker());
      lease.ignored();
    }
    return chosen;
  }

  @Test
  void endedRequestsLeaveNothing() {
    ShadowPolicy shadow = shadow(named("least_load"));
    RoutingEngine engine = acting("cost", shadow);
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      leases.add(place(engine, i));
    }
    shadow.work();
    assertThat(shadow.following()).isEqualTo(20);
    assertThat(shadow.running()).isEqualTo(40);
    leases.forEach(Lease::ignored);
    shadow.work();

    assertThat(shadow.following()).isZero();
    assertThat(shadow.running()).isZero();
  }

  @Test
  void policyThatChoosesOneWorkerIsUnbalanced() {
    ShadowPolicy shadow =
        shadow(
            (_, _) ->
                new PolicySetup(
                    pool -> (_, _) -> pool.isEmpty() ? null : pool.worker(0), List.of()));
    RoutingEngine engine = acting("round_robin", shadow);
    for (int i = 0; i < 40; i++) {
      serve(place(engine, 100 + i));
    }
    shadow.work();

    assertThat(shadow.report().shadow().imbalance()).isCloseTo(WORKERS, within(1e-6));
    assertThat(shadow.report().acting().imbalance()).isBetween(1.0, 1.05);
  }

  @Test
  void ineligibleWorkersAreNotChosen() {
    ShadowPolicy shadow =
        shadow(
            (_, _) ->
                new PolicySetup(
                    pool -> (_, _) -> pool.isEmpty() ? null : pool.worker(0), List.of()));
    RoutingEngine engine = acting("round_robin", shadow);
    Worker first = fleet.worker(0);
    serve(place(engine, 1));
    shadow.work();
    fleet.kill(first);
    fleet.clock.advance(Duration.ofSeconds(1));
    serve(place(engine, 2));
    shadow.work();

    assertThat(shadow.report().shadow().placed()).isEqualTo(2);
    // Not all on the first any more: least load serves if a policy chooses an ineligible worker.
    assertThat(shadow.report().shadow().imbalance()).isLessThan(WORKERS - 0.5);
  }

  @Test
  void workersThatBecameHealthySinceTheLastLookAreFollowed() {
    ShadowPolicy shadow = shadow(named("round_robin"));
    RoutingEngine engine = acting("round_robin", shadow);
    for (int i = 0; i < WORKERS; i++) {
      fleet.fleet.remove("w" + i);
    }
    Worker late = fleet.fleet.add(TestFleet.spec("late", TestFleet.MODEL));
    shadow.work();
    late.probed(true);
    serve(place(engine, 1));
    shadow.work();

    assertThat(shadow.report().agreed()).isEqualTo(1);
  }

  @Test
  void workersComeAndGo() {
    ShadowPolicy shadow = shadow(named("cost"));
    RoutingEngine engine = acting("cost", shadow);
    serve(place(engine, 1));
    shadow.work();
    for (int i = 0; i < WORKERS; i++) {
      fleet.fleet.remove("w" + i);
    }
    fleet.add(TestFleet.spec("late", TestFleet.MODEL));
    serve(place(engine, 1));
    shadow.work();

    ShadowReport report = shadow.report();
    assertThat(report.agreed()).isPositive();
    assertThat(report.shadow().placed()).isEqualTo(2);
    // The caches of the departed workers are gone.
    assertThat(report.shadow().cachedTokens()).isZero();
    assertThat(report.acting().cachedTokens()).isZero();
  }

  @Test
  void faultsDoNotAffectRequests() {
    ShadowPolicy shadow =
        shadow(
            (_, _) ->
                new PolicySetup(
                    pool ->
                        (_, _) -> {
                          throw new IllegalStateException("scripted");
                        },
                    List.of()));
    RoutingEngine engine = acting("round_robin", shadow);
    serve(place(engine, 1));
    shadow.work();

    assertThat(shadow.report().failures()).isEqualTo(1);
    assertThat(shadow.report().shadow().placed()).isEqualTo(1);
  }

  @Test
  void queueIsBoundedAndDroppedRequestsAreCounted() {
    ShadowPolicy shadow = shadow(named("round_robin"));
    RoutingEngine engine = acting("round_robin", shadow);
    // Each accepted request also queues its end.
    int taken = (int) (ShadowPolicy.MOST_WAITING / ShadowPolicy.EVENT_WEIGHT / 2);
    for (int i = 0; i < taken + 100; i++) {
      ((Decision.Routed) engine.decide(RoutingRequest.builder().build())).lease().ignored();
    }
    assertThat(shadow.following()).isZero();
    shadow.work();

    ShadowReport report = shadow.report();
    assertThat(report.dropped()).isEqualTo(100);
    assertThat(report.shadow().placed()).isEqualTo(taken);
    serve(place(engine, 1));
    shadow.work();
    assertThat(shadow.report().shadow().placed()).isEqualTo(taken + 1);
  }

  @Test
  void longPromptsFillTheQueueSooner() {
    ShadowPolicy shadow = shadow(named("round_robin"));
    RoutingEngine engine = acting("round_robin", shadow);
    int blocks = 1 << 14;
    PrefixBlocks prompt = new PrefixBlocks(new long[blocks], blocks, 16 * blocks, 16, 16 * blocks);
    int taken = 2 + (int) (ShadowPolicy.MOST_WAITING / blocks);
    for (int i = 0; i < taken; i++) {
      RoutingRequest request = RoutingRequest.builder().prefix(prompt).build();
      ((Decision.Routed) engine.decide(request)).lease().ignored();
    }
    shadow.work();

    assertThat(shadow.report().dropped()).isPositive();
    assertThat(shadow.report().shadow().placed()).isGreaterThan(taken - 8);
  }

  @Test
  void furtherAttemptsAndPinnedRequestsAreNotDecidedOn() {
    ShadowPolicy shadow = shadow(named("cost"));
    RoutingEngine engine = acting("round_robin", shadow);
    RoutingRequest retried = request(1);
    retried.exclude(fleet.worker(0));
    engine.decide(retried);
    engine.decide(RoutingRequest.builder().pinnedWorker("w1").build());
    shadow.work();

    assertThat(shadow.report().shadow().placed()).isZero();
    assertThat(shadow.following()).isZero();
  }

  private record FaultsAreErrors() implements EngineListener {
    @Override
    public void policyFailed(RuntimeException failure) {
      throw new AssertionError("policy failed", failure);
    }
  }
}
