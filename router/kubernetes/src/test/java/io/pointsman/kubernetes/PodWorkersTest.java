package io.pointsman.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
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
}
