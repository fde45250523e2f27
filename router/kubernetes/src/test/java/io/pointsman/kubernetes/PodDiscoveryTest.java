package io.pointsman.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.apps.DeploymentBuilder;
import io.fabric8.kubernetes.api.model.apps.StatefulSet;
import io.fabric8.kubernetes.api.model.apps.StatefulSetBuilder;
import io.fabric8.kubernetes.api.model.discovery.v1.EndpointSlice;
import io.pointsman.config.settings.KubernetesSettings;
import io.pointsman.config.settings.PodSelector;
import io.pointsman.engine.fleet.Fleet;
import io.pointsman.engine.fleet.FleetSettings;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.fleet.WorkerSources;
import io.pointsman.testkit.Await;
import io.pointsman.testkit.FakeClock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Discovery against an API over real sockets. */
@Timeout(180)
class PodDiscoveryTest {
  private final FakeClock clock = new FakeClock();
  private final Fleet fleet = new Fleet(FleetSettings.DEFAULTS, clock::nanos);
  private final List<PodDiscovery> started = new ArrayList<>();
  private final RecordedPods recorded = new RecordedPods();
  private FakeCluster cluster;

  /** The newest reports. */
  private static final class RecordedPods implements PodDiscovery.Listener {
    private volatile Set<String> models = Set.of();
    private volatile Map<String, String> aliases = Map.of();
    private volatile boolean away;

    @Override
    public void models(Set<String> all) {
      models = all;
    }

    @Override
    public void aliases(Map<String, String> all) {
      aliases = all;
    }

    @Override
    public void away(boolean now) {
      away = now;
    }
  }

  @BeforeEach
  void build() throws Exception {
    cluster = new FakeCluster();
  }

  @AfterEach
  void closeAll() throws Exception {
    started.forEach(PodDiscovery::close);
    cluster.close();
  }

  private PodDiscovery discover(String namespace) {
    return discover(namespace, fleet);
  }

  private PodDiscovery discover(String namespace, Fleet fleet) {
    KubernetesSettings settings =
        new KubernetesSettings(
            PodSelector.of(Map.of("app", "vllm")), namespace, 8000, 1, cluster.url());
    PodDiscovery discovery = start(settings, fleet);
    started.add(discovery);
    return discovery;
  }

  private PodDiscovery start(KubernetesSettings settings, Fleet fleet) {
    return PodDiscovery.open(settings, fleet, new WorkerSources(fleet), clock::nanos, recorded)
        .begin();
  }

  /** Opens the cluster and waits until its pods are watched. */
  private PodDiscovery watched(String namespace) {
    cluster.open();
    PodDiscovery discovery = discover(namespace);
    await("one watch", () -> cluster.openWatches() == 1);
    return discovery;
  }

  /** Waits while the clock stands still, so the wait cannot become an outage. */
  private static void await(String what, BooleanSupplier condition) {
    Await.until(what, condition);
  }

  /** Advances the clock and waits until the outage is reported. */
  private void awaitAway(PodDiscovery discovery) {
    await(
        "the API is away",
        () -> {
          clock.advance(Duration.ofSeconds(1));
          return discovery.away();
        });
  }

  private List<String> ids() {
    return ids(fleet);
  }

  private static List<String> ids(Fleet fleet) {
    return fleet.snapshot().workers().stream().map(Worker::id).sorted().toList();
  }

  private void awaitWorkers(String... ids) {
    await("workers: " + List.of(ids), () -> ids().equals(List.of(ids)));
  }

  private static Pod labelled(Pod pod, String label) {
    return new PodBuilder(pod).editMetadata().addToLabels("app", label).endMetadata().build();
  }

  @Test
  void eachRoleHasASelectorOfItsOwn() {
    cluster.open();
    cluster.put(Pods.labelled(Pods.ready("p", "10.0.0.1"), "role", "prefill"));
    cluster.put(Pods.labelled(Pods.ready("d", "10.0.0.2"), "role", "decode"));
    cluster.put(Pods.ready("other", "10.0.0.3"));
    KubernetesSettings settings =
        new KubernetesSettings(
            PodSelector.NONE,
            PodSelector.of(Map.of("role", "prefill")),
            PodSelector.of(Map.of("role", "decode")),
            "a",
            8000,
            1,
            cluster.url());
    started.add(start(settings, fleet));
    await("both", () -> fleet.snapshot().workers().size() == 2);
    assertThat(fleet.snapshot().workers())
        .extracting(worker -> worker.id() + " " + worker.spec().role())
        .containsExactlyInAnyOrder("a/p PREFILL", "a/d DECODE");
    await("two watches", () -> cluster.openWatches() == 2);
    cluster.put(Pods.labelled(Pods.ready("p", "10.0.0.1"), "role", "decode"));
    await(
        "p as decode",
        () ->
            fleet.snapshot().workers().stream()
                    .filter(worker -> worker.spec().role() == Role.DECODE)
                    .count()
                == 2);
  }

  /** The API selects the pods. The API of this test does not support sets of values. */
  @Test
  void theApiSelectsPodsByOneOfSeveralValuesOfALabel() {
    cluster.open();
    KubernetesSettings settings =
        new KubernetesSettings(
            PodSelector.NONE,
            new PodSelector(Map.of("model", Set.of("pre-2", "pre"), "app", Set.of("vllm"))),
            new PodSelector(Map.of("model", Set.of("dec"))),
            "a",
            8000,
            1,
            cluster.url());
    started.add(start(settings, fleet));
    await("two watches", () -> cluster.openWatches() == 2);
    assertThat(cluster.asked())
        .containsExactlyInAnyOrder(
            "list app=vllm,model in (pre,pre-2)",
            "watch app=vllm,model in (pre,pre-2)",
            "list model=dec",
            "watch model=dec");
  }

  @Test
  void existingReadyPodsAreWorkers() {
    cluster.put(Pods.ready("one", "10.0.0.1"));
    cluster.put(Pods.pending("two"));
    cluster.put(labelled(Pods.ready("three", "10.0.0.3"), "other"));
    cluster.open();
    discover("");
    awaitWorkers("a/one");
  }

  @Test
  void aPodIsAWorkerFromReadyToItsEnd() {
    watched("a");
    cluster.put(Pods.pending("one"));
    cluster.put(Pods.ready("two", "10.0.0.2"));
    awaitWorkers("a/two");
    cluster.put(Pods.ready("one", "10.0.0.1"));
    awaitWorkers("a/one", "a/two");
    cluster.put(Pods.ready(Pods.pending("one"), "10.0.0.1", "False"));
    awaitWorkers("a/two");
    cluster.put(Pods.ready("one", "10.0.0.1"));
    awaitWorkers("a/one", "a/two");
    cluster.delete("two");
    awaitWorkers("a/one");
  }

  @Test
  void aPodWithAnotherLabelLeavesAndReturnsWithTheLabel() {
    watched("a");
    cluster.put(Pods.ready("one", "10.0.0.1"));
    awaitWorkers("a/one");
    cluster.put(labelled(Pods.ready("one", "10.0.0.1"), "other"));
    awaitWorkers();
    cluster.put(Pods.ready("one", "10.0.0.1"));
    awaitWorkers("a/one");
  }

  @Test
  void aPodAtANewAddressIsANewWorkerAndTheOldOneDrains() {
    watched("a");
    cluster.put(Pods.ready("one", "10.0.0.1"));
    awaitWorkers("a/one");
    Worker before = fleet.snapshot().workers().getFirst();
    cluster.put(Pods.ready("one", "10.0.0.9"));
    await(
        "the new address",
        () ->
            fleet.snapshot().workers().stream()
                .anyMatch(worker -> worker.spec().url().equals("http://10.0.0.9:8000")));
    assertThat(before.draining()).isTrue();
    assertThat(ids()).containsExactly("a/one");
  }

  @Test
  void onlyTheNamespaceCounts() {
    watched("b");
    cluster.put(Pods.ready("one", "10.0.0.1"));
    Pod other =
        new PodBuilder(Pods.ready("two", "10.0.0.2"))
            .editMetadata()
            .withNamespace("b")
            .endMetadata()
            .build();
    cluster.put(other);
    awaitWorkers("b/two");
  }

  @Test
  void anOutageAtTheStartIsReportedAndPodsAppearAfterIt() {
    cluster.put(Pods.ready("one", "10.0.0.1"));
    PodDiscovery discovery = discover("a");
    awaitAway(discovery);
    assertThat(ids()).isEmpty();
    cluster.open();
    awaitWorkers("a/one");
    await("the API is back", () -> !discovery.away());
  }

  @Test
  void workersStayDuringAnOutageAndAreUpdatedAfterIt() {
    PodDiscovery discovery = watched("a");
    cluster.put(Pods.ready("one", "10.0.0.1"));
    cluster.put(Pods.ready("two", "10.0.0.2"));
    awaitWorkers("a/one", "a/two");
    cluster.shut();
    cluster.delete("one");
    cluster.put(Pods.ready("three", "10.0.0.3"));
    awaitAway(discovery);
    assertThat(ids()).containsExactly("a/one", "a/two");
    cluster.open();
    awaitWorkers("a/three", "a/two");
    await("the API is back", () -> !discovery.away());
  }

  @Test
  void missingPermissionsAreAnOutageUntilTheyAreGranted() {
    cluster.put(Pods.ready("one", "10.0.0.1"));
    cluster.refuse(403);
    cluster.open();
    PodDiscovery discovery = discover("a");
    awaitAway(discovery);
    cluster.refuse(0);
    awaitWorkers("a/one");
    await("the API is back", () -> !discovery.away());
  }

  @Test
  void anExpiredWatchListsAgainAndMissesNoChange() {
    watched("a");
    cluster.put(Pods.ready("one", "10.0.0.1"));
    cluster.put(Pods.ready("two", "10.0.0.2"));
    awaitWorkers("a/one", "a/two");
    int lists = cluster.lists();
    cluster.refuse(503);
    cluster.reportWatchesGone();
    cluster.delete("one");
    cluster.put(Pods.ready("three", "10.0.0.3"));
    cluster.refuse(0);
    awaitWorkers("a/three", "a/two");
    assertThat(cluster.lists()).isGreaterThan(lists);
  }

  @Test
  void aWatchThatEndsNormallyRestarts() {
    PodDiscovery discovery = watched("a");
    cluster.put(Pods.ready("one", "10.0.0.1"));
    awaitWorkers("a/one");
    cluster.endWatches();
    clock.advance(ApiOutage.PATIENCE.minusMillis(1));
    await("one watch", () -> cluster.openWatches() == 1);
    cluster.put(Pods.ready("two", "10.0.0.2"));
    awaitWorkers("a/one", "a/two");
    assertThat(discovery.away()).isFalse();
  }

  @Test
  void whenItIsClosedWorkersStay() {
    PodDiscovery discovery = watched("a");
    cluster.put(Pods.ready("one", "10.0.0.1"));
    awaitWorkers("a/one");
    discovery.close();
    await("no watch", () -> cluster.openWatches() == 0);
    Fleet witness = new Fleet(FleetSettings.DEFAULTS, clock::nanos);
    discover("a", witness);
    await("the witness follows", () -> cluster.openWatches() == 1);
    cluster.delete("one");
    cluster.put(Pods.ready("two", "10.0.0.2"));
    await("the witness saw both", () -> ids(witness).equals(List.of("a/two")));
    assertThat(cluster.openWatches()).isEqualTo(1);
    assertThat(ids()).containsExactly("a/one");
  }

  private KubernetesSettings settings(KubernetesSettings.Find find, boolean expects) {
    return new KubernetesSettings(
            PodSelector.of(Map.of("app", "vllm")), "a", 8000, 1, cluster.url())
        .withFind(find)
        .withExpectModels(expects);
  }

  private static Deployment deployment(String name, String model, int replicas) {
    return new DeploymentBuilder()
        .withNewMetadata()
        .withNamespace("a")
        .withName(name)
        .addToLabels("app", "vllm")
        .addToAnnotations("pointsman.io/model", model)
        .endMetadata()
        .withNewSpec()
        .withReplicas(replicas)
        .endSpec()
        .build();
  }

  private static StatefulSet statefulSet(String name, String model) {
    return new StatefulSetBuilder()
        .withNewMetadata()
        .withNamespace("a")
        .withName(name)
        .addToLabels("app", "vllm")
        .endMetadata()
        .withNewSpec()
        .withReplicas(0)
        .withNewTemplate()
        .withNewMetadata()
        .addToAnnotations("pointsman.io/model", model)
        .addToAnnotations("pointsman.io/model-aliases", "fast")
        .endMetadata()
        .endTemplate()
        .endSpec()
        .build();
  }

  @Test
  void endpointsOfSlicesAreWorkers() {
    cluster.open();
    EndpointSlice slice = Slices.with(Slices.empty("s", "IPv4"), "one", "10.0.0.1", true);
    cluster.put(slice);
    started.add(start(settings(KubernetesSettings.Find.ENDPOINTSLICES, false), fleet));
    awaitWorkers("a/one");
    cluster.put(Slices.with(slice, "two", "10.0.0.2", true));
    awaitWorkers("a/one", "a/two");
    cluster.delete(slice);
    awaitWorkers();
  }

  @Test
  void workloadsNameModelsThatHaveNoPod() {
    cluster.open();
    cluster.put(deployment("llama", "org/llama", 0));
    started.add(start(settings(KubernetesSettings.Find.PODS, true), fleet));
    await("llama", () -> recorded.models.equals(Set.of("org/llama")));
    await("three watches", () -> cluster.openWatches() == 3);
    cluster.put(statefulSet("qwen", "qwen"));
    await("both", () -> recorded.models.equals(Set.of("org/llama", "qwen")));
    await("an alias", () -> recorded.aliases.equals(Map.of("fast", "qwen")));
    cluster.delete(deployment("llama", "org/llama", 0));
    await("qwen", () -> recorded.models.equals(Set.of("qwen")));
    assertThat(ids()).isEmpty();
  }

  @Test
  void podsAreFoundAlthoughWorkloadsAreForbidden() {
    cluster.forbid("/apis/apps/");
    cluster.open();
    cluster.put(Pods.ready("one", "10.0.0.1"));
    cluster.put(deployment("llama", "llama", 0));
    started.add(start(settings(KubernetesSettings.Find.PODS, true), fleet));
    awaitWorkers("a/one");
    await(
        "the outage is reported",
        () -> {
          clock.advance(Duration.ofSeconds(1));
          return recorded.away;
        });
    cluster.put(Pods.ready("two", "10.0.0.2"));
    awaitWorkers("a/one", "a/two");
    cluster.forbid("");
    await("llama", () -> recorded.models.equals(Set.of("llama")));
    await("the API is back", () -> !recorded.away);
  }

  @Test
  void podsNameAliasesOfTheirModels() {
    watched("a");
    Pod pod = Pods.annotated(Pods.ready("one", "10.0.0.1"), "pointsman.io/model", "llama");
    cluster.put(Pods.annotated(pod, "pointsman.io/model-aliases", "gpt-4,fast"));
    await("aliases", () -> recorded.aliases.equals(Map.of("gpt-4", "llama", "fast", "llama")));
    cluster.delete("one");
    await("no alias", () -> recorded.aliases.isEmpty());
  }

  @Test
  void anotherDiscoveryKeepsTheWorkersOfTheFirst() {
    cluster.put(Pods.labelled(Pods.ready("one", "10.0.0.1"), "role", "serve"));
    cluster.put(Pods.ready("two", "10.0.0.2"));
    WorkerSources sources = new WorkerSources(fleet);
    cluster.open();
    PodDiscovery first = open(PodSelector.of(Map.of("app", "vllm")), sources).begin();
    started.add(first);
    awaitWorkers("a/one", "a/two");
    Worker kept = fleet.snapshot().worker("a/one");

    first.close();
    started.add(open(PodSelector.of(Map.of("role", "serve")), sources).after(first).begin());

    awaitWorkers("a/one");
    assertThat(fleet.snapshot().worker("a/one")).isSameAs(kept);
  }

  @Test
  void workersOfTheFirstStayUntilTheApiAnswersTheOther() {
    cluster.put(Pods.ready("one", "10.0.0.1"));
    WorkerSources sources = new WorkerSources(fleet);
    cluster.open();
    PodDiscovery first = open(PodSelector.of(Map.of("app", "vllm")), sources).begin();
    started.add(first);
    awaitWorkers("a/one");
    cluster.refuse(503);

    first.close();
    PodDiscovery second =
        open(PodSelector.of(Map.of("app", "other")), sources).after(first).begin();
    started.add(second);

    awaitAway(second);
    assertThat(ids()).containsExactly("a/one");
    cluster.refuse(0);
    awaitWorkers();
  }

  @Test
  void aClosedDiscoveryLeavesItsWorkersAndNames() {
    cluster.open();
    cluster.put(Pods.annotated(Pods.ready("one", "10.0.0.1"), "pointsman.io/model", "llama"));
    cluster.put(deployment("llama", "org/llama", 0));
    PodDiscovery first = start(settings(KubernetesSettings.Find.PODS, true), fleet);
    started.add(first);
    awaitWorkers("a/one");
    await("llama", () -> recorded.models.equals(Set.of("org/llama")));

    first.close();
    first.leave();

    assertThat(ids()).isEmpty();
    assertThat(recorded.models).isEmpty();
  }

  @Test
  void aDiscoveryThatNeverBeganCanBeClosed() {
    open(PodSelector.of(Map.of("app", "vllm")), new WorkerSources(fleet)).close();
    assertThat(cluster.openWatches()).isZero();
  }

  private PodDiscovery open(PodSelector selector, WorkerSources sources) {
    KubernetesSettings settings = new KubernetesSettings(selector, "a", 8000, 1, cluster.url());
    return PodDiscovery.open(settings, fleet, sources, clock::nanos, recorded);
  }
}
