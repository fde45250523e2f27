package io.pointsman.engine.policy.tier;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.Requests;
import io.pointsman.engine.TestFleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.engine.policy.Picker;
import io.pointsman.engine.policy.RoutingRequest;
import io.pointsman.engine.policy.catalog.Policies;
import io.pointsman.engine.policy.catalog.PolicyParts;
import io.pointsman.engine.policy.catalog.PolicySettings;
import io.pointsman.engine.policy.catalog.PolicySetup;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class LocalityPolicyTest {
  private static final int REQUESTS = 60;

  private final TestFleet fleet = new TestFleet();

  static Stream<String> policies() {
    return Policies.names().stream();
  }

  private Worker worker(String id, String node, String zone, int most) {
    return fleet.add(
        TestFleet.spec(id, TestFleet.MODEL)
            .withMaxInFlight(most)
            .withLabels(Map.of(WorkerSpec.NODE_LABEL, node, WorkerSpec.ZONE_LABEL, zone)));
  }

  private Picker picker(String policy, LocalitySettings settings) {
    PolicySetup inner =
        Policies.create(
            policy,
            new PolicyParts(
                fleet::now,
                fleet.random,
                FleetSettings.DEFAULTS.maxWorkers(),
                PolicySettings.DEFAULTS));
    return new Tiers(settings, AdapterSettings.DEFAULTS, null, fleet.random)
        .around(inner)
        .policy()
        .picker(fleet.pool());
  }

  private @Nullable Worker pick(Picker picker, RoutingRequest request) {
    return picker.pick(request, fleet.now());
  }

  /** The workers that receive many requests of all kinds. */
  private Set<String> chosen(Picker picker) {
    Set<String> ids = new HashSet<>();
    for (int i = 0; i < REQUESTS; i++) {
      Worker worker = pick(picker, Requests.ofKind(i % Requests.KINDS, 1000L * i));
      ids.add(worker == null ? "nobody" : worker.id());
    }
    return ids;
  }

  @ParameterizedTest
  @MethodSource("policies")
  void theNearestAvailableTierReceivesAllRequests(String policy) {
    List<Worker> node = List.of(worker("n0", "me", "z", 1), worker("n1", "me", "z", 1));
    List<Worker> zone = List.of(worker("z0", "a", "z", 1), worker("z1", "b", "z", 1));
    List<Worker> far = List.of(worker("f0", "c", "y", 1), worker("f1", "d", "y", 1));
    Picker picker = picker(policy, new LocalitySettings("me", "z", 0));

    assertThat(chosen(picker)).containsExactlyInAnyOrder("n0", "n1");
    node.forEach(fleet::lease);
    assertThat(chosen(picker)).containsExactlyInAnyOrder("z0", "z1");
    zone.forEach(fleet::kill);
    assertThat(chosen(picker)).containsExactlyInAnyOrder("f0", "f1");
    far.forEach(fleet::lease);
    assertThat(chosen(picker)).containsExactly("nobody");
  }

  @ParameterizedTest
  @MethodSource("policies")
  void triedWorkersAreNotChosenAgain(String policy) {
    worker("n0", "me", "z", 0);
    worker("z0", "a", "z", 0);
    worker("f0", "b", "y", 0);
    Picker picker = picker(policy, new LocalitySettings("me", "z", 0));
    RoutingRequest request = Requests.session("s");

    for (String expected : List.of("n0", "z0", "f0")) {
      Worker worker = pick(picker, request);
      assertThat(worker).isNotNull().extracting(Worker::id).isEqualTo(expected);
      if (worker != null) {
        request.exclude(worker);
      }
    }
    assertThat(pick(picker, request)).isNull();
  }

  @Test
  void aMuchBusierTierIsSkipped() {
    Worker near = worker("n0", "me", "z", 0);
    Worker far = worker("f0", "a", "y", 0);
    Picker picker = picker("least_load", new LocalitySettings("me", "z", 4));

    fleet.load(near, 4);
    assertThat(pick(picker, Requests.bare())).isSameAs(near);
    fleet.load(near, 1);
    assertThat(pick(picker, Requests.bare())).isSameAs(far);
    fleet.load(far, 1);
    assertThat(pick(picker, Requests.bare())).isSameAs(near);
  }

  @Test
  void aBusyNearWorkerServesIfNoOtherCan() {
    Worker near = worker("n0", "me", "z", 0);
    Worker far = worker("f0", "a", "y", 0);
    Picker picker = picker("least_load", new LocalitySettings("me", "", 1));
    fleet.load(near, 9);
    RoutingRequest request = Requests.bare();
    request.exclude(far);

    assertThat(pick(picker, request)).isSameAs(near);
  }

  @Test
  void aSingleTierUsesThePolicyOnly() {
    worker("a", "x", "y", 0);
    worker("b", "x", "y", 0);

    assertThat(chosen(picker("round_robin", new LocalitySettings("me", "z", 0))))
        .containsExactlyInAnyOrder("a", "b");
  }

  @Test
  void keysStayWithTheirWorkerWithinTheTier() {
    for (int i = 0; i < 4; i++) {
      worker("n" + i, "me", "z", 0);
      worker("f" + i, "x", "y", 0);
    }
    Picker picker = picker("consistent_hash", new LocalitySettings("me", "z", 0));
    Worker first = pick(picker, Requests.session("s1"));

    for (int i = 0; i < REQUESTS; i++) {
      assertThat(pick(picker, Requests.session("s1"))).isSameAs(first);
    }
  }
}
