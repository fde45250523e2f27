package io.pointsman.kubernetes;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.ServiceBuilder;
import io.fabric8.kubernetes.api.model.discovery.v1.EndpointSlice;
import io.pointsman.config.settings.KubernetesSettings;
import io.pointsman.config.settings.PodSelector;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Lease;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSource;
import io.pointsman.engine.fleet.WorkerSources;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.testkit.FakeClock;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class PodFleetTest {
  private static final KubernetesSettings SETTINGS =
      new KubernetesSettings(PodSelector.of(Map.of("app", "vllm")), "", 8000, 1, "");

  private final FakeClock clock = new FakeClock();
  private final Fleet fleet = fleet(8);
  private final PodFleet pods = new PodFleet(fleet, new PodWorkers(SETTINGS));

  private Fleet fleet(int maxWorkers) {
    FleetSettings standard = FleetSettings.DEFAULTS;
    return new Fleet(
        new FleetSettings(maxWorkers, standard.health(), standard.breaker(), standard.stall()),
        clock::nanos);
  }

  private static List<String> ids(Fleet fleet) {
    return fleet.snapshot().workers().stream().map(Worker::id).toList();
  }

  private Worker worker(String id) {
    return requireNonNull(fleet.snapshot().worker(id), id);
  }

  @Test
  void theFleetFollowsThePods() {
    Pod one = Pods.ready("one", "10.0.0.1");
    Pod two = Pods.ready("two", "10.0.0.2");
    pods.follow(List.of(two, Pods.pending("three"), one));
    assertThat(ids(fleet)).containsExactly("a/one", "a/two");
    pods.follow(List.of(Pods.ready("three", "10.0.0.3"), Pods.terminating(two), one));
    assertThat(ids(fleet)).containsExactly("a/one", "a/three");
    pods.follow(List.of());
    assertThat(ids(fleet)).isEmpty();
  }

  @Test
  void aPodHasTheFirstOfPrefillDecodeAndRegular() {
    Pod one = Pods.ready("one", "10.0.0.1");
    Pod two = Pods.ready("two", "10.0.0.2");
    Pod three = Pods.ready("three", "10.0.0.3");
    pods.follow(
        Map.of(
            Role.REGULAR, List.of(one, two, three),
            Role.DECODE, List.of(one, two),
            Role.PREFILL, List.of(one)));
    assertThat(fleet.snapshot().workers())
        .extracting(worker -> worker.spec().role())
        .containsExactly(Role.PREFILL, Role.REGULAR, Role.DECODE);
  }

  @Test
  void aPodWithANewRoleIsANewWorker() {
    Pod one = Pods.ready("one", "10.0.0.1");
    pods.follow(Map.of(Role.PREFILL, List.of(one), Role.DECODE, List.of()));
    Worker before = worker("a/one");
    pods.follow(Map.of(Role.PREFILL, List.of(), Role.DECODE, List.of(one)));
    assertThat(before.left()).isTrue();
    assertThat(worker("a/one").spec().role()).isEqualTo(Role.DECODE);
  }

  @Test
  void unchangedPodsAreNotTouched() {
    pods.follow(List.of(Pods.ready("one", "10.0.0.1")));
    Worker worker = worker("a/one");
    long version = fleet.snapshot().version();
    pods.follow(List.of(Pods.ready("one", "10.0.0.1")));
    assertThat(fleet.snapshot().version()).isEqualTo(version);
    assertThat(worker("a/one")).isSameAs(worker);
  }

  @Test
  void aPodThatComesBackAtAnotherAddressOrUnderAnotherIdIsANewWorker() {
    Pod pod = Pods.ready("one", "10.0.0.1");
    pods.follow(List.of(pod));
    Worker first = worker("a/one");
    pods.follow(List.of(Pods.ready("one", "10.0.0.9")));
    Worker second = worker("a/one");
    pods.follow(List.of(Pods.reborn(Pods.ready("one", "10.0.0.9"))));
    Worker third = worker("a/one");

    assertThat(second).isNotSameAs(first);
    assertThat(third).isNotSameAs(second);
    assertThat(third.spec().url()).isEqualTo("http://10.0.0.9:8000");
    assertThat(List.of(first.draining(), second.draining(), third.draining()))
        .containsExactly(true, true, false);
  }

  private Lease lease(Worker worker) {
    worker.probed(true);
    return requireNonNull(worker.tryLease(clock.nanos(), 0, 0, (_, _) -> {}), "lease");
  }

  @Test
  void aPodThatIsBrieflyUnreadyKeepsItsWorkerAndItsLoad() {
    Pod ready = Pods.ready("one", "10.0.0.1");
    pods.follow(List.of(ready));
    Worker worker = worker("a/one");
    Lease lease = lease(worker);
    pods.follow(List.of(Pods.ready(ready, "10.0.0.1", "False")));
    assertThat(worker.eligible(clock.nanos())).isFalse();
    pods.follow(List.of(ready));
    assertThat(worker("a/one")).isSameAs(worker);
    assertThat(worker.inFlight()).isEqualTo(1);
    assertThat(worker.eligible(clock.nanos())).isTrue();
    lease.ignored();
  }

  @Test
  void aPodThatIsNotReadyLeavesWhenItsRequestsHaveEnded() {
    Pod ready = Pods.ready("one", "10.0.0.1");
    Pod unready = Pods.ready(ready, "10.0.0.1", "False");
    pods.follow(List.of(ready));
    Lease lease = lease(worker("a/one"));
    pods.follow(List.of(unready));
    assertThat(ids(fleet)).containsExactly("a/one");
    lease.ignored();
    pods.follow(List.of(unready));
    assertThat(ids(fleet)).isEmpty();
    pods.follow(List.of(ready));
    assertThat(worker("a/one").draining()).isFalse();
  }

  @Test
  void aDeletedPodLeavesEvenWithRequestsInFlight() {
    Pod ready = Pods.ready("one", "10.0.0.1");
    pods.follow(List.of(ready));
    Lease lease = lease(worker("a/one"));
    pods.follow(List.of(Pods.terminating(Pods.ready(ready, "10.0.0.1", "False"))));
    assertThat(ids(fleet)).isEmpty();
    lease.ignored();
  }

  /** The informer of another role may have older pods than the informer of the pod's own role. */
  @Test
  void anUnreadyPodDoesNotGetAnotherRole() {
    Pod ready = Pods.ready("one", "10.0.0.1");
    pods.follow(Map.of(Role.PREFILL, List.of(ready), Role.REGULAR, List.of(ready)));
    Pod unready = Pods.ready(ready, "10.0.0.1", "False");
    pods.follow(Map.of(Role.PREFILL, List.of(unready), Role.REGULAR, List.of(ready)));
    assertThat(ids(fleet)).isEmpty();
  }

  @Test
  void workersOfOtherSourcesAreNotChanged() {
    fleet.add(WorkerSpec.of("http://10.0.0.5:8000"));
    fleet.add(WorkerSpec.of("http://10.0.0.6:8000"));
    pods.follow(List.of(Pods.ready("one", "10.0.0.1")));
    pods.follow(List.of());
    assertThat(ids(fleet)).containsExactly("10.0.0.5:8000", "10.0.0.6:8000");
  }

  @Test
  void anEngineOfAnotherSourceIsNotAddedAgain() {
    fleet.add(WorkerSpec.of("http://10.0.0.5:8000"));
    Pod same = Pods.ready("same", "10.0.0.5");
    pods.follow(List.of(same));
    assertThat(ids(fleet)).containsExactly("10.0.0.5:8000");
    assertThat(pods.leftOut()).isZero();
    assertThat(pods.knownOtherwise()).containsExactly("a/same");
    fleet.remove("10.0.0.5:8000");
    pods.follow(List.of(same));
    assertThat(ids(fleet)).containsExactly("a/same");
    assertThat(pods.knownOtherwise()).isEmpty();
  }

  @Test
  void aWorkerThatIsRemovedByHandStaysOutWhileItsPodStaysTheSame() {
    Pod pod = Pods.ready("one", "10.0.0.1");
    pods.follow(List.of(pod));
    fleet.remove("a/one");
    pods.follow(List.of(pod));
    assertThat(ids(fleet)).isEmpty();
    pods.follow(List.of(Pods.reborn(pod)));
    assertThat(ids(fleet)).containsExactly("a/one");
  }

  @Test
  void aWorkerThatReplacedAPodsWorkerIsNotRemovedWithThePod() {
    Pod pod = Pods.ready("one", "10.0.0.1");
    pods.follow(List.of(pod));
    fleet.remove("a/one");
    Worker others = fleet.add(WorkerSpec.of("http://a/one"));
    assertThat(others.id()).isEqualTo("a/one");
    pods.follow(List.of());
    assertThat(ids(fleet)).containsExactly("a/one");
  }

  @Test
  void aFullFleetAddsTheRemainingPodsWhenThereIsRoom() {
    Fleet small = fleet(2);
    PodFleet follower = new PodFleet(small, new PodWorkers(SETTINGS));
    List<Pod> three =
        List.of(
            Pods.ready("one", "10.0.0.1"),
            Pods.ready("two", "10.0.0.2"),
            Pods.ready("three", "10.0.0.3"));
    follower.follow(three);
    assertThat(ids(small)).containsExactly("a/one", "a/three");
    assertThat(follower.leftOut()).isEqualTo(1);
    follower.follow(three);
    assertThat(follower.leftOut()).isEqualTo(1);
    follower.follow(three.subList(1, 3));
    assertThat(ids(small)).containsExactlyInAnyOrder("a/two", "a/three");
    assertThat(follower.leftOut()).isZero();
  }

  @Test
  void aNameInUseStaysWithItsOwner() {
    fleet.add(WorkerSpec.of("http://a/one"));
    pods.follow(List.of(Pods.ready("one", "10.0.0.1")));
    assertThat(pods.leftOut()).isEqualTo(1);
    pods.follow(List.of());
    assertThat(ids(fleet)).containsExactly("a/one");
    assertThat(pods.leftOut()).isZero();
  }

  private static Service service(String name) {
    return new ServiceBuilder()
        .withNewMetadata()
        .withNamespace("a")
        .withName(name)
        .withUid("uid-of-" + name)
        .endMetadata()
        .build();
  }

  @Test
  void aServiceIsAWorkerAtItsName() {
    pods.follow(Map.of(), Map.of(Role.REGULAR, List.of(service("llm-1"), service("llm-2"))));
    assertThat(ids(fleet)).containsExactly("a/llm-1", "a/llm-2");
    assertThat(worker("a/llm-1").spec().url()).isEqualTo("http://llm-1.a.svc:8000");
    pods.follow(Map.of(), Map.of(Role.REGULAR, List.of(service("llm-2"))));
    assertThat(ids(fleet)).containsExactly("a/llm-2");
  }

  @Test
  void aPodWithTwoFamiliesOfAddressesIsOneWorker() {
    EndpointSlice six = Slices.with(Slices.empty("six", "IPv6"), "one", "fd00::1", true);
    EndpointSlice four = Slices.with(Slices.empty("four", "IPv4"), "one", "10.0.0.1", true);
    pods.follow(Map.of(), Map.of(), Map.of(Role.REGULAR, List.of(six, four)));
    assertThat(fleet.snapshot().workers())
        .extracting(worker -> worker.spec().url())
        .containsExactly("http://10.0.0.1:9000");
  }

  @Test
  void anEndpointThatIsNotReadyGetsNothingNew() {
    EndpointSlice empty = Slices.empty("four", "IPv4");
    pods.follow(
        Map.of(),
        Map.of(),
        Map.of(Role.REGULAR, List.of(Slices.with(empty, "one", "10.0.0.1", true))));
    Worker worker = worker("a/one");
    Lease lease = lease(worker);
    pods.follow(
        Map.of(),
        Map.of(),
        Map.of(Role.REGULAR, List.of(Slices.with(empty, "one", "10.0.0.1", false))));
    assertThat(worker.eligible(clock.nanos())).isFalse();
    lease.ignored();
  }

  @Test
  void aWorkerOfThePodAndOfAnotherSourceLeavesWithTheLast() {
    WorkerSources sources = new WorkerSources(fleet);
    PodFleet follower = new PodFleet(fleet, sources, new PodWorkers(SETTINGS));
    Pod pod = Pods.ready("one", "10.0.0.1");
    sources.add(WorkerSource.CONFIGURATION, List.of(WorkerSpec.of("http://10.0.0.1:8000")));
    follower.follow(List.of(pod));
    sources.release(WorkerSource.CONFIGURATION, "10.0.0.1:8000");
    assertThat(ids(fleet)).containsExactly("10.0.0.1:8000");
    follower.follow(List.of());
    assertThat(ids(fleet)).isEmpty();
    follower.follow(List.of(pod));
    sources.hold(
        WorkerSource.CONFIGURATION, worker("a/one"), WorkerSpec.of("http://10.0.0.1:8000"));
    follower.follow(List.of());
    assertThat(ids(fleet)).containsExactly("a/one");
    sources.release(WorkerSource.CONFIGURATION, "a/one");
    assertThat(ids(fleet)).isEmpty();
  }

  @Test
  void workersStayUnderOtherSettingsThatFindThemToo() {
    WorkerSources sources = new WorkerSources(fleet);
    PodFleet before = new PodFleet(fleet, sources, new PodWorkers(SETTINGS));
    Pod one = Pods.ready("one", "10.0.0.1");
    Pod two = Pods.ready("two", "10.0.0.2");
    before.follow(List.of(one, two));
    Worker kept = worker("a/one");

    PodFleet next = new PodFleet(fleet, sources, new PodWorkers(SETTINGS));
    next.after(before);
    assertThat(ids(fleet)).containsExactly("a/one", "a/two");
    next.follow(List.of(one));

    assertThat(ids(fleet)).containsExactly("a/one");
    assertThat(worker("a/one")).isSameAs(kept);
  }

  @Test
  void aWorkerStaysWhenItsPodGetsASecondPort() {
    WorkerSources sources = new WorkerSources(fleet);
    PodFleet before = new PodFleet(fleet, sources, new PodWorkers(SETTINGS));
    Pod one = Pods.ready("one", "10.0.0.1");
    before.follow(List.of(one));
    Worker kept = worker("a/one");

    PodFleet next =
        new PodFleet(fleet, sources, new PodWorkers(SETTINGS.withPorts(List.of("8000", "8001"))));
    next.after(before);
    next.follow(List.of(one));
    assertThat(ids(fleet)).containsExactly("a/one", "a/one:8001");
    assertThat(worker("a/one")).isSameAs(kept);

    next.follow(List.of());
    assertThat(ids(fleet)).isEmpty();
  }
}
