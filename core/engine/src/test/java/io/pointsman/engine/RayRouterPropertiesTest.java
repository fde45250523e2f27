package io.pointsman.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.PickReason;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.cache.CacheAwareSettings;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * The properties that Ray Serve's tests check on its routers; docs/evidence/ray-properties.md has
 * the list.
 */
class RayRouterPropertiesTest {
  private static final int SESSIONS = 2000;

  /** The ray-serve launcher's translation of a threshold of 2: only the difference counts. */
  private static final CacheAwareSettings RAYS_PREFIX =
      new CacheAwareSettings(
          Math.nextDown(0.1), 2, 1.0, CacheAwareSettings.DEFAULTS.maxIndexBytes());

  private final TestFleet fleet = new TestFleet();

  private RoutingEngine engine(String policy) {
    PolicySettings defaults = PolicySettings.DEFAULTS;
    PolicySettings settings =
        new PolicySettings(
            defaults.virtualNodes(),
            defaults.hashLoadFactor(),
            RAYS_PREFIX,
            defaults.sessionTtl(),
            defaults.maxSessions());
    PolicyParts parts =
        new PolicyParts(fleet::now, fleet.random, FleetSettings.DEFAULTS.maxWorkers(), settings);
    return new RoutingEngine(
        fleet.fleet,
        Policies.create(policy, parts),
        EngineSettings.DEFAULTS,
        new RecordedEvents(),
        fleet::now,
        fleet.random);
  }

  private void replicas(int count, int maxOngoing) {
    for (int i = 0; i < count; i++) {
      fleet.add(TestFleet.spec("r" + i, TestFleet.MODEL).withMaxInFlight(maxOngoing));
    }
  }

  private static Lease routed(RoutingEngine engine, RoutingRequest request) {
    return switch (engine.decide(request)) {
      case Decision.Routed(Lease lease) -> lease;
      case Decision.Rejected rejected -> throw new AssertionError(rejected);
    };
  }

  private static Worker served(RoutingEngine engine, RoutingRequest request) {
    Lease lease = routed(engine, request);
    lease.succeeded();
    return lease.worker();
  }

  // Consistent hash.

  @Test
  void aSaturatedPrimaryPassesItsSessionToItsFallbacksInOrder() {
    replicas(5, 1);
    RoutingEngine engine = engine("ray_consistent_hash");
    RoutingRequest excluding = Requests.session("s");
    List<Worker> ranks = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      Worker next = served(engine, excluding);
      ranks.add(next);
      excluding.exclude(next);
    }
    List<Worker> byFullness = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      byFullness.add(routed(engine, Requests.session("s")).worker());
    }

    assertThat(byFullness).isEqualTo(ranks);
  }

  @Test
  void aSessionWaitsWhileAllAreSaturatedAndThenGoesToItsPrimary() {
    replicas(3, 1);
    RoutingEngine engine = engine("ray_consistent_hash");
    Lease primary = routed(engine, Requests.session("s"));
    routed(engine, Requests.session("s"));
    routed(engine, Requests.session("s"));

    assertThat(engine.decide(Requests.session("s")))
        .isInstanceOfSatisfying(
            Decision.Rejected.class,
            rejected -> assertThat(rejected.reason()).isEqualTo(RejectReason.ALL_BUSY));
    primary.succeeded();
    assertThat(routed(engine, Requests.session("s")).worker()).isSameAs(primary.worker());
  }

  @Test
  void aReplicaThatLeavesMovesExactlyTheKeysThatItOwned() {
    replicas(5, 0);
    RoutingEngine engine = engine("ray_consistent_hash");
    Map<String, String> before = owners(engine);

    fleet.fleet.remove("r2");

    Map<String, String> after = owners(engine);
    before.forEach(
        (session, owner) -> {
          if (owner.equals("r2")) {
            assertThat(after.get(session)).isNotEqualTo("r2");
          } else {
            assertThat(after).containsEntry(session, owner);
          }
        });
    assertThat(before).containsValue("r2");
  }

  private static Map<String, String> owners(RoutingEngine engine) {
    Map<String, String> owners = new HashMap<>();
    for (int s = 0; s < SESSIONS; s++) {
      owners.put("user_" + s, served(engine, Requests.session("user_" + s)).id());
    }
    return owners;
  }

  @Test
  void aSessionReturnsToItsPrimaryUnlessThatIsDead() {
    replicas(4, 0);
    RoutingEngine engine = engine("ray_consistent_hash");
    Worker primary = served(engine, Requests.session("s"));
    primary.drain(true);
    Worker fallback = served(engine, Requests.session("s"));
    primary.drain(false);
    assertThat(served(engine, Requests.session("s"))).isSameAs(primary);

    fleet.fleet.remove(primary.id());

    assertThat(served(engine, Requests.session("s"))).isSameAs(fallback);
  }

  // Round robin.

  @Test
  void theNextReplicaTakesTheTurnOfAFullOne() {
    replicas(3, 1);
    RoutingEngine engine = engine("round_robin");
    Set<Worker> taken = new HashSet<>();

    for (int i = 0; i < 3; i++) {
      taken.add(routed(engine, Requests.bare()).worker());
    }

    assertThat(taken).hasSize(3);
    assertThat(engine.decide(Requests.bare())).isInstanceOf(Decision.Rejected.class);
  }

  @Test
  void turnsRepeatInTheSameOrder() {
    replicas(4, 0);
    RoutingEngine engine = engine("round_robin");
    List<Worker> first = new ArrayList<>();
    List<Worker> second = new ArrayList<>();

    for (int i = 0; i < 8; i++) {
      (i < 4 ? first : second).add(served(engine, Requests.bare()));
    }

    assertThat(second).isEqualTo(first);
    assertThat(new HashSet<>(first)).hasSize(4);
  }

  @Test
  void routersStartAtDifferentReplicas() {
    replicas(8, 0);
    Set<Worker> firsts = new HashSet<>();

    for (int i = 0; i < 100; i++) {
      firsts.add(served(engine("round_robin"), Requests.bare()));
    }

    assertThat(firsts).hasSizeGreaterThan(4);
  }

  // Power of two choices.

  @Test
  void ofTwoReplicasTheShorterQueueWins() {
    replicas(2, 0);
    RoutingEngine engine = engine("power_of_two");
    fleet.load(fleet.worker(0), 3);

    for (int i = 0; i < 20; i++) {
      assertThat(served(engine, Requests.bare())).isSameAs(fleet.worker(1));
    }
  }

  @Test
  void idleReplicasAreChosenFairly() {
    replicas(2, 0);
    RoutingEngine engine = engine("power_of_two");
    Map<Worker, Integer> chosen = new HashMap<>();

    for (int i = 0; i < SESSIONS; i++) {
      chosen.merge(served(engine, Requests.bare()), 1, Integer::sum);
    }

    assertThat(chosen.values()).hasSize(2).allMatch(n -> n > SESSIONS / 4);
  }

  @Test
  void aFullReplicaIsNeverChosenAndNothingWaitsWhenOneIsFree() {
    replicas(6, 1);
    RoutingEngine engine = engine("power_of_two");
    Set<Worker> taken = new HashSet<>();

    for (int i = 0; i < 6; i++) {
      taken.add(routed(engine, Requests.bare()).worker());
    }

    assertThat(taken).hasSize(6);
  }

  // Prefix.

  @Test
  void unequalQueuesBeatAMatch() {
    replicas(2, 0);
    RoutingEngine engine = engine("cache_aware");
    Worker holder = served(engine, Requests.prompt(1));
    Worker other = fleet.worker(0) == holder ? fleet.worker(1) : fleet.worker(0);

    fleet.load(holder, 2);
    assertThat(served(engine, Requests.prompt(1))).isSameAs(holder);
    fleet.load(holder, 8);
    RoutingRequest request = Requests.prompt(1);

    assertThat(served(engine, request)).isSameAs(other);
    assertThat(request.result().reason()).isEqualTo(PickReason.LOAD_IMBALANCE);
  }

  @Test
  void aMatchingReplicaIsChosenForItsPromptAndALessLoadedOneForANewPrompt() {
    replicas(4, 0);
    RoutingEngine engine = engine("cache_aware");
    Worker holder = served(engine, Requests.prompt(1));
    fleet.load(holder, 1);

    assertThat(served(engine, Requests.prompt(1))).isSameAs(holder);
    assertThat(served(engine, Requests.prompt(1_000_000))).isNotSameAs(holder);
  }

  // ChoicesTest covers reservation and dispatch; RetryAfterTest covers a busy fleet.

  @Test
  void aRefusalReportsWhenAReplicaWillBeFree() {
    replicas(1, 1);
    RoutingEngine engine = engine("power_of_two");
    Lease lease = routed(engine, Requests.bare());
    fleet.clock.advance(Duration.ofSeconds(5));
    lease.succeeded();
    routed(engine, Requests.bare());

    assertThat(engine.decide(Requests.bare()))
        .isEqualTo(new Decision.Rejected(RejectReason.ALL_BUSY, Duration.ofSeconds(5).toNanos()));
  }
}
