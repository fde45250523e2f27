package io.pointsman.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.discovery.v1.EndpointSlice;
import io.fabric8.kubernetes.api.model.discovery.v1.EndpointSliceBuilder;
import io.pointsman.config.settings.KubernetesSettings;
import io.pointsman.config.settings.PodSelector;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PodWorkersTest {
  private static List<WorkerSpec> workers(Pod pod) {
    return workers(pod, 1);
  }

  private static List<WorkerSpec> workers(Pod pod, int ranks) {
    return new PodWorkers(
            new KubernetesSettings(PodSelector.of(Map.of("app", "vllm")), "", 8000, ranks, ""))
        .of(pod);
  }

  @Test
  void aReadyPodIsOneWorkerWithUnknownModels() {
    assertThat(workers(Pods.ready("p", "10.0.0.7")))
        .containsExactly(
            new WorkerSpec(
                "a/p",
                "http://10.0.0.7:8000",
                Role.REGULAR,
                Set.of(),
                WorkerSpec.NO_RANK,
                0,
                Map.of("namespace", "a", "pod", "p", "uid", "uid-of-p")));
  }

  @Test
  void anAddressOfVersionSixIsPutInBrackets() {
    assertThat(workers(Pods.ready("p", "fd00::7")))
        .extracting(WorkerSpec::url)
        .containsExactly("http://[fd00::7]:8000");
  }

  @Test
  void theBootstrapPortOfAPrefillPodIsInItsAnnotation() {
    Pod pod = Pods.annotated(Pods.ready("p", "10.0.0.7"), "vllm.ai/bootstrap-port", "8999");
    PodWorkers workers = new PodWorkers(KubernetesSettings.DEFAULTS);
    assertThat(workers.of(pod, Role.PREFILL).getFirst())
        .returns(Role.PREFILL, WorkerSpec::role)
        .returns("8999", spec -> spec.labels().get("bootstrap-port"));
    assertThat(workers.of(pod, Role.DECODE).getFirst())
        .returns(Role.DECODE, WorkerSpec::role)
        .returns(null, spec -> spec.labels().get("bootstrap-port"));
  }

  @Test
  void nodeAndZoneOfAPodBecomeLabels() {
    Pod labelled = Pods.labelled(Pods.ready("p", "10.0.0.7"), "topology.kubernetes.io/zone", "z1");
    Pod pod = new PodBuilder(labelled).withNewSpec().withNodeName("node-7").endSpec().build();

    assertThat(workers(pod).getFirst().labels())
        .containsEntry(WorkerSpec.NODE_LABEL, "node-7")
        .containsEntry(WorkerSpec.ZONE_LABEL, "z1");
  }

  @Test
  void everyRankOfAnEngineIsAWorker() {
    assertThat(workers(Pods.ready("p", "10.0.0.7"), 3))
        .extracting(WorkerSpec::id)
        .containsExactly("a/p@0", "a/p@1", "a/p@2");
    assertThat(workers(Pods.ready("p", "10.0.0.7"), 3))
        .extracting(WorkerSpec::url)
        .containsOnly("http://10.0.0.7:8000");
  }

  @Test
  void aReplacementPodOfTheSameNameIsAnotherWorker() {
    Pod pod = Pods.ready("p", "10.0.0.7");
    WorkerSpec before = workers(pod).getFirst();
    WorkerSpec after = workers(Pods.reborn(pod)).getFirst();
    assertThat(after.id()).isEqualTo(before.id());
    assertThat(after).isNotEqualTo(before);
  }

  @Test
  void aPodBeforeItRunsIsNoWorker() {
    assertThat(workers(Pods.pending("p"))).isEmpty();
    assertThat(workers(new PodBuilder(Pods.pending("p")).withStatus(null).build())).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"False", "Unknown", ""})
  void aPodThatIsNotReadyIsTheSameWorker(String ready) {
    Pod pod = Pods.ready(Pods.pending("p"), "10.0.0.7", ready);
    assertThat(PodWorkers.ready(pod)).isFalse();
    assertThat(workers(pod)).isEqualTo(workers(Pods.ready("p", "10.0.0.7")));
  }

  @Test
  void aPodWithoutTheConditionIsNotReady() {
    Pod pod = Pods.ready("p", "10.0.0.7");
    assertThat(PodWorkers.ready(pod)).isTrue();
    pod.getStatus().getConditions().removeIf(each -> each.getType().equals("Ready"));
    assertThat(PodWorkers.ready(pod)).isFalse();
    assertThat(PodWorkers.ready(new PodBuilder(pod).withStatus(null).build())).isFalse();
  }

  @Test
  void aPodDuringItsDeletionIsNoWorker() {
    assertThat(workers(Pods.terminating(Pods.ready("p", "10.0.0.7")))).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"Pending", "Succeeded", "Failed", "Unknown"})
  void aPodOfAnotherPhaseIsNoWorker(String phase) {
    Pod pod = Pods.ready("p", "10.0.0.7");
    pod.getStatus().setPhase(phase);
    assertThat(workers(pod)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "host.example", "10.0.0.7/x", "1@2"})
  void aPodWithoutAnAddressIsNoWorker(String address) {
    assertThat(workers(Pods.ready("p", address))).isEmpty();
  }

  private static PodWorkers ofPorts(String... ports) {
    return new PodWorkers(KubernetesSettings.DEFAULTS.withPorts(List.of(ports)));
  }

  private static Pod withPorts() {
    return new PodBuilder(Pods.ready("p", "10.0.0.7"))
        .withNewSpec()
        .addNewContainer()
        .addNewPort()
        .withName("first")
        .withContainerPort(8000)
        .endPort()
        .addNewPort()
        .withName("second")
        .withContainerPort(8001)
        .endPort()
        .endContainer()
        .endSpec()
        .build();
  }

  @Test
  void eachPortOfAPodIsAWorker() {
    assertThat(ofPorts("first", "8001", "second", "none").of(withPorts()))
        .extracting(spec -> spec.id() + " " + spec.url())
        .containsExactly("a/p:8000 http://10.0.0.7:8000", "a/p:8001 http://10.0.0.7:8001");
    assertThat(ofPorts("second").of(withPorts()))
        .extracting(spec -> spec.id() + " " + spec.url())
        .containsExactly("a/p http://10.0.0.7:8001");
    assertThat(ofPorts("none").of(withPorts())).isEmpty();
  }

  @Test
  void aPodNamesItsModels() {
    Pod pod = Pods.annotated(Pods.ready("p", "10.0.0.7"), "pointsman.io/model", "org/m, n");
    assertThat(workers(pod).getFirst().models()).containsExactlyInAnyOrder("org/m", "n");
  }

  @Test
  void eachEndpointOfASliceIsAWorkerAtItsPort() {
    EndpointSlice slice = Slices.empty("s", "IPv4");
    slice = Slices.with(slice, "one", "10.0.0.1", true);
    slice = Slices.with(slice, "two", "10.0.0.2", false);
    slice = Slices.with(slice, "three", "10.0.0.3", null);
    List<PodWorkers.OfSlice> found =
        new PodWorkers(KubernetesSettings.DEFAULTS).of(slice, Role.DECODE);
    assertThat(found)
        .extracting(each -> each.spec().id() + " " + each.spec().url() + " " + each.ready())
        .containsExactly(
            "a/one http://10.0.0.1:9000 true",
            "a/two http://10.0.0.2:9000 false",
            "a/three http://10.0.0.3:9000 true");
    assertThat(found.getFirst().spec().role()).isEqualTo(Role.DECODE);
    assertThat(found.getFirst().spec().labels())
        .isEqualTo(
            Map.of(
                "namespace", "a",
                "pod", "one",
                "uid", "uid-of-one",
                "service", "vllm",
                "node", "node-1",
                "zone", "z1"));
  }

  /** The API sends null for an empty list of endpoints, and for all ports. */
  @Test
  void listsOfASliceCanBeNull() {
    EndpointSlice slice = Slices.empty("s", "IPv4");
    slice.setEndpoints(null);
    slice.setPorts(null);
    PodWorkers workers = new PodWorkers(KubernetesSettings.DEFAULTS);
    assertThat(workers.of(slice, Role.REGULAR)).isEmpty();

    EndpointSlice one = Slices.with(Slices.empty("s", "IPv4"), "one", "10.0.0.1", true);
    one.setPorts(null);
    assertThat(workers.of(one, Role.REGULAR))
        .extracting(each -> each.spec().url())
        .containsExactly("http://10.0.0.1:8000");
    assertThat(ofPorts("http").of(one, Role.REGULAR)).isEmpty();
  }

  @Test
  void theUsualPortOrWantedPortsOfASliceCount() {
    EndpointSlice two =
        Slices.port(
            Slices.with(Slices.empty("s", "IPv4"), "one", "10.0.0.1", true), "metrics", 9001);
    assertThat(new PodWorkers(KubernetesSettings.DEFAULTS).of(two, Role.REGULAR)).isEmpty();
    assertThat(ofPorts("http", "metrics").of(two, Role.REGULAR))
        .extracting(each -> each.spec().id())
        .containsExactly("a/one:9000", "a/one:9001");
    EndpointSlice usual = Slices.port(two, "http2", 8000);
    assertThat(new PodWorkers(KubernetesSettings.DEFAULTS).of(usual, Role.REGULAR))
        .extracting(each -> each.spec().url())
        .containsExactly("http://10.0.0.1:8000");
  }

  @Test
  void anEndpointOutsideOfTheClusterIsAWorkerToo() {
    EndpointSlice slice =
        new EndpointSliceBuilder(Slices.empty("s", "FQDN"))
            .addNewEndpoint()
            .withAddresses("gpu.example")
            .endEndpoint()
            .addNewEndpoint()
            .withAddresses("not a host")
            .endEndpoint()
            .build();
    assertThat(new PodWorkers(KubernetesSettings.DEFAULTS).of(slice, Role.REGULAR))
        .extracting(each -> each.spec().id() + " " + each.spec().url())
        .containsExactly("a/gpu.example http://gpu.example:9000");
  }
}
