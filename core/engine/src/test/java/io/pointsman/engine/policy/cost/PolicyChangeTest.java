package io.pointsman.engine.policy.cost;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.Decision;
import io.pointsman.engine.EngineSettings;
import io.pointsman.engine.RoutingEngine;
import io.pointsman.engine.StagePolicies;
import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.LeaseView;
import io.pointsman.engine.fleet.Outcome;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.Learner;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.cache.CacheAwareSettings;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyMemory;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.catalog.PolicySetup;
import io.pointsman.engine.prefix.PrefixBlocks;
import io.pointsman.engine.prefix.PrefixIndex;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Policies that change while requests are in flight. */
class PolicyChangeTest {
  private final TestFleet fleet = TestFleet.of(4);
  private final PolicyMemory memory = new PolicyMemory();
  private final PolicyParts parts =
      new PolicyParts(fleet.clock::nanos, fleet.random, 16_384, PolicySettings.DEFAULTS);

  private PolicySetup setup(String policy) {
    return Policies.create(policy, parts.remembering(PolicySettings.DEFAULTS, memory));
  }

  private RoutingEngine engine(PolicySetup setup) {
    return new RoutingEngine(
        fleet.fleet, setup, EngineSettings.DEFAULTS, _ -> {}, fleet.clock::nanos, fleet.random);
  }

  private void use(RoutingEngine engine, PolicySetup next) {
    engine.use(StagePolicies.same(next), EngineSettings.DEFAULTS, memory.learners());
  }

  private static Lease place(RoutingEngine engine, PrefixBlocks prompt) {
    Decision decision = engine.decide(CostFleet.request(prompt));
    assertThat(decision).isInstanceOf(Decision.Routed.class);
    return ((Decision.Routed) decision).lease();
  }

  private Worker serve(RoutingEngine engine, PrefixBlocks prompt) {
    Lease lease = place(engine, prompt);
    fleet.clock.advance(Duration.ofMillis(50));
    lease.progressed();
    lease.firstToken();
    lease.succeeded();
    return lease.worker();
  }

  @ParameterizedTest
  @CsvSource({
    "cache_aware, cost",
    "cost, cache_aware",
    "cache_aware, kv_aware",
    "kv_aware, cost",
    "cost, cost"
  })
  void aNewPolicyKnowsWhereThePromptsAre(String before, String next) {
    RoutingEngine engine = engine(setup(before));
    List<Worker> homes = new ArrayList<>();
    for (int n = 0; n < 12; n++) {
      homes.add(serve(engine, Prompt.of(n, 200)));
    }
    use(engine, setup(next));
    for (int n = 0; n < 12; n++) {
      assertThat(serve(engine, Prompt.of(n, 200))).isSameAs(homes.get(n));
    }
    use(engine, setup(before));
    for (int n = 0; n < 12; n++) {
      assertThat(serve(engine, Prompt.of(n, 200))).isSameAs(homes.get(n));
    }
  }

  @Test
  void aWorkerThatLeavesIsForgottenByTheEarlierPolicyToo() {
    RoutingEngine engine = engine(setup("cost"));
    PrefixBlocks prompt = Prompt.of(1, 200);
    Worker home = serve(engine, prompt);
    use(engine, setup("round_robin"));
    fleet.fleet.remove(home);
    Worker heir = fleet.add(TestFleet.spec("heir", TestFleet.MODEL));
    assertThat(heir.slot()).isEqualTo(home.slot());
    use(engine, setup("cache_aware"));
    PrefixIndex index = requireNonNull(setup("cache_aware").prefixes());
    assertThat(index.match(prompt)).isZero();
  }

  /** Counts the ends of placements that it has seen. */
  private static final class Counting implements Learner {
    private int placed;
    private int ended;
    private int departures;

    @Override
    public void placed(RoutingRequest request, LeaseView lease) {
      placed++;
    }

    @Override
    public void ended(RoutingRequest request, LeaseView lease, Outcome outcome) {
      ended++;
    }

    @Override
    public void forget(Worker worker) {
      departures++;
    }
  }

  @Test
  void aRequestEndsUnderThePolicyThatPlacedIt() {
    Counting first = new Counting();
    Counting second = new Counting();
    RoutingEngine engine = engine(setup("random").with(first));
    Lease running = place(engine, Prompt.of(1, 4));
    use(engine, setup("least_load").with(second));
    Lease later = place(engine, Prompt.of(2, 4));
    running.succeeded();
    later.succeeded();
    assertThat(first.placed).isEqualTo(1);
    assertThat(first.ended).isEqualTo(1);
    assertThat(second.placed).isEqualTo(1);
    assertThat(second.ended).isEqualTo(1);
  }

  /** The engine would otherwise hold the index of each earlier size. */
  @Test
  void theEngineLeavesLearnersThatNoPolicyTakesOver() {
    Counting first = new Counting();
    RoutingEngine engine = engine(setup("random").with(first));
    use(engine, setup("least_load"));
    fleet.fleet.remove(fleet.fleet.snapshot().workers().getFirst());
    assertThat(first.departures).isZero();
  }

  @Test
  void policiesThatAreNotUsedChangeNoMemory() {
    PolicySetup present = setup("cache_aware");
    PolicySettings larger =
        new PolicySettings(
            160, 0, new CacheAwareSettings(0.3, 64, 1.5, 32L << 20), Duration.ofHours(2), 100_000);
    PolicySetup refused = Policies.create("cache_aware", parts.remembering(larger, memory.copy()));
    assertThat(refused.prefixes()).isNotSameAs(present.prefixes());
    assertThat(setup("cache_aware").prefixes()).isSameAs(present.prefixes());
  }

  @Test
  void withoutAMemoryEachPolicyStartsAnew() {
    PolicySetup one = Policies.create("cost", parts);
    assertThat(Policies.create("cost", parts).prefixes()).isNotSameAs(one.prefixes());
  }
}
