package io.pointsman.server.wiring;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.LeaseKind;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSource;
import io.pointsman.engine.fleet.WorkerSources;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.testkit.FakeClock;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ConfiguredWorkersTest {
  private static final WorkerSpec A = WorkerSpec.of("http://a:1");
  private static final WorkerSpec B = WorkerSpec.of("http://b:1");
  private static final WorkerSpec C = WorkerSpec.of("http://c:1");

  private final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, new FakeClock()::nanos);
  private final WorkerSources sources = new WorkerSources(fleet);
  private final ConfiguredWorkers configured = new ConfiguredWorkers(fleet, sources);

  private List<String> ids() {
    return fleet.snapshot().workers().stream().map(Worker::id).toList();
  }

  private Worker worker(WorkerSpec spec) {
    return requireNonNull(fleet.snapshot().worker(spec.id()), spec.id());
  }

  private static WorkerSpec named(String id, WorkerSpec spec) {
    return new WorkerSpec(id, spec.url(), Role.REGULAR, Set.of(), WorkerSpec.NO_RANK, 0, Map.of());
  }

  @Test
  void aWorkerRemovedByOthersIsAddedAgain() {
    fleet.addAll(List.of(A, B));
    Worker stays = worker(A);
    fleet.remove(B.id());
    configured.change(List.of(A, B), List.of(A, B, C));
    assertThat(ids()).containsExactly("a:1", "b:1", "c:1");
    assertThat(worker(A)).isSameAs(stays);
  }

  @Test
  void aFleetAsConfiguredIsNotChanged() {
    WorkerSpec prefill = C.withRole(Role.PREFILL);
    fleet.addAll(List.of(A, prefill));
    long version = fleet.snapshot().version();
    configured.change(List.of(A, prefill), List.of(A, prefill));
    assertThat(fleet.snapshot().version()).isEqualTo(version);
  }

  @Test
  void aWorkerWithOtherSettingsGetsTheConfiguredOnes() {
    WorkerSpec limited = A.withMaxInFlight(3);
    fleet.add(A);
    configured.change(List.of(), List.of(limited));
    assertThat(worker(A).spec()).isEqualTo(limited);
  }

  @Test
  void workersAddedByOthersStay() {
    fleet.addAll(List.of(A, B, C.withModels(Set.of("m"))));
    configured.change(List.of(A, C), List.of());
    assertThat(ids()).containsExactly("b:1", "c:1");
  }

  @Test
  void anEngineWithAnotherIdStaysThatWorker() {
    fleet.add(named("ns/pod", A));
    configured.change(List.of(), List.of(A, B));
    assertThat(ids()).containsExactly("ns/pod", "b:1");
  }

  @Test
  void aConfiguredWorkerCanGetANewId() {
    fleet.add(A);
    configured.change(List.of(A), List.of(named("big", A)));
    assertThat(ids()).containsExactly("big");
  }

  @Test
  void anEngineConfiguredTwiceIsTwoWorkers() {
    fleet.add(A);
    configured.change(List.of(A), List.of(A, named("twin", A)));
    assertThat(ids()).containsExactly("a:1", "twin");
  }

  @Test
  void aWorkerThatAnotherSourceNamesTooStays() {
    sources.add(WorkerSource.CONFIGURATION, List.of(A, B));
    Worker kept = worker(A);
    sources.hold(WorkerSource.FILE, kept, A);
    configured.change(List.of(A, B), List.of());
    assertThat(ids()).containsExactly("a:1");
    assertThat(worker(A)).isSameAs(kept);
    sources.release(WorkerSource.FILE, "a:1");
    assertThat(ids()).isEmpty();
  }

  @Test
  void aWorkerOfAnotherSourceStaysWhileItIsConfigured() {
    sources.add(WorkerSource.KUBERNETES, List.of(named("ns/pod", A)));
    configured.change(List.of(), List.of(A));
    sources.release(WorkerSource.KUBERNETES, "ns/pod");
    assertThat(ids()).containsExactly("ns/pod");
    configured.change(List.of(A), List.of());
    assertThat(ids()).isEmpty();
  }

  @Test
  void aReplacedWorkerKeepsItsOtherSources() {
    sources.add(WorkerSource.CONFIGURATION, List.of(A));
    sources.hold(WorkerSource.FILE, worker(A), A);
    configured.change(List.of(A), List.of(A.withMaxInFlight(3)));
    assertThat(worker(A).spec().maxInFlight()).isEqualTo(3);
    configured.change(List.of(A.withMaxInFlight(3)), List.of());
    assertThat(worker(A).spec()).isEqualTo(A);
    sources.release(WorkerSource.FILE, "a:1");
    assertThat(ids()).isEmpty();
  }

  @Test
  void anUndoLeavesAWorkerThatOthersHadAdded() {
    fleet.addAll(List.of(A, B));
    Worker ofOthers = worker(B);
    configured.change(List.of(A), List.of(A, B, C));
    configured.undo();
    assertThat(ids()).containsExactly("a:1", "b:1");
    assertThat(worker(B)).isSameAs(ofOthers);
    configured.undo();
    assertThat(ids()).containsExactly("a:1", "b:1");
  }

  @Test
  void anUndoBringsWorkersBackWithTheirState() {
    sources.add(WorkerSource.CONFIGURATION, List.of(A, B, C));
    worker(A).cordon(true);
    worker(B).probed(true);
    fleet.learnModels(worker(B), Set.of("m"));
    Worker busy = worker(C);
    busy.probed(true);
    requireNonNull(busy.tryLease(0, LeaseKind.WHOLE, 0, 0, (_, _) -> {}));
    configured.change(List.of(A, B, C), List.of(A.withMaxInFlight(3)));
    configured.undo();
    assertThat(ids()).containsExactlyInAnyOrder("a:1", "b:1", "c:1");
    assertThat(worker(A).spec()).isEqualTo(A);
    assertThat(worker(A).cordoned()).isTrue();
    assertThat(worker(B).health().healthy()).isTrue();
    assertThat(worker(C)).isSameAs(busy);
    assertThat(busy.left()).isFalse();
    configured.change(List.of(A, B, C), List.of());
    assertThat(ids()).isEmpty();
  }

  @Test
  void anUndoAfterARefusedChangeChangesNothing() {
    Fleet small = new Fleet(FleetSettings.DEFAULTS.withMaxWorkers(1), new FakeClock()::nanos);
    ConfiguredWorkers ofSmall = new ConfiguredWorkers(small, new WorkerSources(small));
    Worker only = small.add(A);
    assertThatThrownBy(() -> ofSmall.change(List.of(), List.of(A, B)))
        .isInstanceOf(IllegalStateException.class);
    ofSmall.undo();
    assertThat(small.snapshot().workers()).containsExactly(only);
  }

  /** The configuration must not keep the worker when discovery leaves it. */
  @Test
  void afterAnUndoDiscoveryAloneNamesItsWorkerAgain() {
    sources.add(WorkerSource.FILE, List.of(A, B));
    configured.change(List.of(), List.of(A.withMaxInFlight(3), B));
    assertThat(worker(A).maxInFlight()).isEqualTo(3);
    configured.undo();
    assertThat(worker(A).spec()).isEqualTo(A);
    sources.release(WorkerSource.FILE, "a:1");
    sources.release(WorkerSource.FILE, "b:1");
    assertThat(ids()).isEmpty();
  }

  @Test
  void afterAnUndoAWorkerOfTheApiStaysAsItWas() {
    fleet.add(A);
    configured.change(List.of(), List.of(A.withMaxInFlight(3)));
    configured.undo();
    assertThat(worker(A).spec()).isEqualTo(A);
    sources.add(WorkerSource.FILE, List.of(A));
    sources.release(WorkerSource.FILE, "a:1");
    assertThat(ids()).containsExactly("a:1");
  }

  @Test
  void afterAnUndoASharedWorkerHasTheSettingsOfTheConfiguration() {
    WorkerSpec limited = A.withMaxInFlight(3);
    sources.add(WorkerSource.CONFIGURATION, List.of(limited));
    sources.hold(WorkerSource.FILE, worker(A), A);
    Worker busy = worker(A);
    busy.probed(true);
    requireNonNull(busy.tryLease(0, LeaseKind.WHOLE, 0, 0, (_, _) -> {}));

    configured.change(List.of(limited), List.of());
    assertThat(worker(A).spec()).isEqualTo(A);
    configured.undo();

    assertThat(worker(A)).isSameAs(busy);
    assertThat(worker(A).maxInFlight()).isEqualTo(3);
    // The configuration is the first source again, so its settings end with it.
    configured.change(List.of(limited), List.of());
    assertThat(worker(A).spec()).isEqualTo(A);
    sources.release(WorkerSource.FILE, "a:1");
    assertThat(ids()).isEmpty();
  }
}
