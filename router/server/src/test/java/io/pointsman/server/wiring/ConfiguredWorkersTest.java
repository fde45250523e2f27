package io.pointsman.server.wiring;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
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
}
