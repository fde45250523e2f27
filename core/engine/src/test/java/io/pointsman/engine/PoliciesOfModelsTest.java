package io.pointsman.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.catalog.PolicySetup;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Models with their own policies, on workers that may serve several of them. */
class PoliciesOfModelsTest {
  private static final int TIMES = 12;

  private final TestFleet fleet = new TestFleet();
  private final PolicySetup common = policy("round_robin");
  private final PolicySetup own = policy("cache_aware");

  private PolicySetup policy(String name) {
    return Policies.create(
        name,
        new PolicyParts(
            fleet::now,
            fleet.random,
            FleetSettings.DEFAULTS.maxWorkers(),
            PolicySettings.DEFAULTS));
  }

  private RoutingEngine engine(UnknownModel unknown) {
    return new RoutingEngine(
        fleet.fleet,
        StagePolicies.same(common).with(Map.of("own", own)),
        new EngineSettings(unknown),
        new RecordedEvents(),
        fleet::now,
        fleet.random);
  }

  private record Placed(Worker worker, PickReason reason) {}

  private Placed placed(RoutingEngine engine, String model) {
    RoutingRequest request =
        RoutingRequest.builder().model(model).prefix(Requests.blocks(1)).build();
    return switch (engine.decide(request)) {
      case Decision.Routed(Lease lease) -> {
        lease.succeeded();
        yield new Placed(lease.worker(), request.result().reason());
      }
      case Decision.Rejected rejected -> throw new AssertionError(rejected);
    };
  }

  private Set<Placed> placed(RoutingEngine engine, String model, int times) {
    Set<Placed> all = new HashSet<>();
    for (int i = 0; i < times; i++) {
      all.add(placed(engine, model));
    }
    return all;
  }

  private void shared(int workers) {
    for (int i = 0; i < workers; i++) {
      fleet.add(TestFleet.spec("w" + i, "own", "other"));
    }
  }

  @Test
  void sharedWorkersAreChosenByTheModelsOwnPolicy() {
    shared(4);
    RoutingEngine engine = engine(UnknownModel.REJECT);
    Placed first = placed(engine, "own");

    assertThat(first.reason()).isEqualTo(PickReason.PREFIX_MISS);
    assertThat(placed(engine, "own", TIMES))
        .containsExactly(new Placed(first.worker(), PickReason.PREFIX_HIT));
    assertThat(placed(engine, "other", TIMES))
        .hasSize(4)
        .allMatch(each -> each.reason() == PickReason.TURN);
  }

  @Test
  void onlyTheModelsOwnRequestsTeachItsPolicy() {
    shared(2);
    RoutingEngine engine = engine(UnknownModel.REJECT);

    placed(engine, "other");
    assertThat(Objects.requireNonNull(own.prefixes()).entries()).isZero();
    placed(engine, "own");
    assertThat(Objects.requireNonNull(own.prefixes()).entries()).isPositive();
  }

  @Test
  void adaptersHaveThePolicyOfTheirBase() {
    shared(4);
    RoutingEngine engine = engine(UnknownModel.BASE_MODEL);

    placed(engine, "own:a");

    assertThat(placed(engine, "own:a", TIMES))
        .hasSize(1)
        .allMatch(each -> each.reason() == PickReason.PREFIX_HIT);
  }

  @Test
  void changesOfTheFleetAreFollowed() {
    shared(2);
    RoutingEngine engine = engine(UnknownModel.REJECT);
    Worker holder = placed(engine, "own").worker();
    fleet.add(TestFleet.spec("late", "own", "other"));
    assertThat(placed(engine, "own").worker()).isSameAs(holder);

    fleet.fleet.remove(holder.id());

    assertThat(placed(engine, "own").reason()).isEqualTo(PickReason.PREFIX_MISS);
  }

  @Test
  void workersThatReportNoModelsServeItByItsPolicyToo() {
    Worker silent = fleet.add(TestFleet.spec("silent"));
    fleet.fleet.learnModels(silent, Set.of());
    RoutingEngine engine = engine(UnknownModel.REJECT);

    assertThat(placed(engine, "own").reason()).isEqualTo(PickReason.PREFIX_MISS);
    assertThat(placed(engine, "another").reason()).isEqualTo(PickReason.TURN);
  }
}
