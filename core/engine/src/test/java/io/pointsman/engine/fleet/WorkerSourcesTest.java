package io.pointsman.engine.fleet;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.testkit.FakeClock;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class WorkerSourcesTest {
  private static final WorkerSpec A = WorkerSpec.of("http://a:1");
  private static final WorkerSpec B = WorkerSpec.of("http://b:1");

  private final Fleet fleet = fleet(4);
  private final WorkerSources sources = new WorkerSources(fleet);

  private static Fleet fleet(int most) {
    FleetSettings usual = FleetSettings.DEFAULTS;
    return new Fleet(
        new FleetSettings(most, usual.health(), usual.breaker(), usual.stall()),
        new FakeClock()::nanos);
  }

  private List<String> ids() {
    return fleet.snapshot().workers().stream().map(Worker::id).toList();
  }

  private Worker worker(String id) {
    return requireNonNull(fleet.snapshot().worker(id), id);
  }

  private static WorkerSpec named(String id, WorkerSpec spec) {
    return new WorkerSpec(id, spec.url(), Role.REGULAR, Set.of(), WorkerSpec.NO_RANK, 0, Map.of());
  }

  private void file(WorkerSpec... specs) {
    sources.follow(WorkerSource.FILE, List.of(specs), true);
  }

  private void dns(WorkerSpec... specs) {
    sources.follow(WorkerSource.DNS, List.of(specs), false);
  }

  @Test
  void aSourceAddsAndRemovesItsWorkers() {
    file(A, B);
    Worker kept = worker("b:1");
    file(B);
    assertThat(ids()).containsExactly("b:1");
    assertThat(worker("b:1")).isSameAs(kept);
    assertThat(sources.count(WorkerSource.FILE)).isEqualTo(1);
  }

  @Test
  void anEngineOfTwoSourcesIsOneWorkerUntilTheLastDropsIt() {
    file(A);
    Worker one = worker("a:1");
    dns(named("other", A));
    assertThat(ids()).containsExactly("a:1");
    file();
    assertThat(worker("a:1")).isSameAs(one);
    dns();
    assertThat(ids()).isEmpty();
  }

  @Test
  void theOrderOfTheSourcesDoesNotMatter() {
    file(A);
    dns(A);
    dns();
    assertThat(ids()).containsExactly("a:1");
    file();
    assertThat(ids()).isEmpty();
  }

  @Test
  void aWorkerGetsTheRoleOfTheSourceThatRemains() {
    file(A);
    dns(A.withRole(Role.DECODE));
    assertThat(worker("a:1").spec().role()).isEqualTo(Role.REGULAR);
    file();
    assertThat(worker("a:1").spec().role()).isEqualTo(Role.DECODE);
    dns();
    assertThat(ids()).isEmpty();
  }

  @Test
  void aChangedWorkerIsReplaced() {
    file(A);
    Worker before = worker("a:1");
    file(A.withMaxInFlight(3));
    assertThat(before.left()).isTrue();
    assertThat(worker("a:1").spec().maxInFlight()).isEqualTo(3);
    file();
    assertThat(ids()).isEmpty();
  }

  @Test
  void aWorkerThatSomethingElseHasAddedStays() {
    fleet.add(A);
    file(A);
    file();
    assertThat(ids()).containsExactly("a:1");
  }

  @Test
  void aWorkerThatSomethingElseHasRemovedReturnsOnlyIfItIsWanted() {
    dns(A);
    fleet.remove("a:1");
    dns(A);
    assertThat(ids()).isEmpty();
    file(A);
    assertThat(ids()).containsExactly("a:1");
    fleet.remove("a:1");
    file(A);
    assertThat(ids()).containsExactly("a:1");
    file();
    assertThat(ids()).containsExactly("a:1");
    dns();
    assertThat(ids()).isEmpty();
  }

  @Test
  void withoutRoomNothingChanges() {
    Fleet small = fleet(1);
    WorkerSources few = new WorkerSources(small);
    few.follow(WorkerSource.FILE, List.of(A), true);
    assertThatThrownBy(() -> few.follow(WorkerSource.FILE, List.of(A, B), true))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("at most 1");
    assertThat(small.snapshot().workers()).hasSize(1);
    few.follow(WorkerSource.FILE, List.of(B), true);
    assertThat(small.snapshot().worker("b:1")).isNotNull();
    assertThat(few.count(WorkerSource.FILE)).isEqualTo(1);
  }

  @Test
  void anIdOfAnotherEngineIsRefused() {
    fleet.add(A);
    assertThatThrownBy(() -> file(named("a:1", B)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "a:1 is the id of the worker at http://a:1 (expected: another id for the worker at"
                + " http://b:1, as in {url: http://b:1, id: NAME})");
    assertThat(ids()).containsExactly("a:1");
  }

  @Test
  void addedWorkersLeaveWhenTheyAreReleased() {
    sources.add(WorkerSource.KUBERNETES, List.of(A));
    sources.hold(WorkerSource.FILE, worker("a:1"), A);
    assertThat(sources.listedByOthers(WorkerSource.KUBERNETES, worker("a:1"))).isTrue();
    assertThat(sources.release(WorkerSource.KUBERNETES, "a:1")).isFalse();
    assertThat(sources.listedByOthers(WorkerSource.FILE, worker("a:1"))).isFalse();
    assertThat(sources.release(WorkerSource.FILE, "a:1")).isTrue();
    assertThat(ids()).isEmpty();
  }
}
