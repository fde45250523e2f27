package io.pointsman.kubernetes;

import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodStatus;
import io.fabric8.kubernetes.api.model.Service;
import io.pointsman.config.settings.KubernetesSettings;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.pd.peer.PeerLabels;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The workers of a pod, ready or not. A pod has none unless it is running, has an address and is
 * not being deleted. The labels of its workers contain its unique id. A new pod of the same name
 * therefore has other workers.
 */
final class PodWorkers {
  /** Annotation of a prefill pod with the port of its engine's bootstrap server. */
  static final String BOOTSTRAP_PORT = "vllm.ai/bootstrap-port";

  /** Label of a pod with its zone. Kubernetes 1.35 and later copy it from the node. */
  static final String ZONE = "topology.kubernetes.io/zone";

  private static final Pattern ADDRESS = Pattern.compile("[0-9A-Fa-f.:]{2,45}");

  private final int port;
  private final int dataParallelSize;

  PodWorkers(KubernetesSettings settings) {
    port = settings.port();
    dataParallelSize = settings.dataParallelSize();
  }

  /** The workers of a pod that serves complete requests. */
  List<WorkerSpec> of(Pod pod) {
    return of(pod, Role.REGULAR);
  }

  /** The workers of a pod, one per rank of its engine. Their models are unknown. */
  List<WorkerSpec> of(Pod pod, Role role) {
    if (!runs(pod)) {
      return List.of();
    }
    String namespace = orEmpty(pod.getMetadata().getNamespace());
    String name = orEmpty(pod.getMetadata().getName());
    Map<String, String> labels = new HashMap<>();
    labels.put("namespace", namespace);
    labels.put("pod", name);
    labels.put("uid", orEmpty(pod.getMetadata().getUid()));
    if (pod.getSpec() != null && pod.getSpec().getNodeName() != null) {
      labels.put(WorkerSpec.NODE_LABEL, pod.getSpec().getNodeName());
    }
    String zone = label(pod, ZONE);
    if (!zone.isEmpty()) {
      labels.put(WorkerSpec.ZONE_LABEL, zone);
    }
    String bootstrap = annotation(pod, BOOTSTRAP_PORT);
    if (role == Role.PREFILL && !bootstrap.isEmpty()) {
      labels.put(PeerLabels.BOOTSTRAP_PORT, bootstrap);
    }
    WorkerSpec whole =
        new WorkerSpec(
            namespace + "/" + name,
            url(pod.getStatus().getPodIP()),
            role,
            Set.of(),
            WorkerSpec.NO_RANK,
            0,
            labels);
    return ranks(whole);
  }

  /** The workers of a Service, one per rank, at its DNS name. None while it is deleted. */
  List<WorkerSpec> of(Service service, Role role) {
    ObjectMeta meta = service.getMetadata();
    if (meta.getDeletionTimestamp() != null) {
      return List.of();
    }
    String namespace = orEmpty(meta.getNamespace());
    String name = orEmpty(meta.getName());
    Map<String, String> labels =
        Map.of("namespace", namespace, "service", name, "uid", orEmpty(meta.getUid()));
    WorkerSpec whole =
        new WorkerSpec(
            namespace + "/" + name,
            "http://" + name + "." + namespace + ".svc:" + port,
            role,
            Set.of(),
            WorkerSpec.NO_RANK,
            0,
            labels);
    return ranks(whole);
  }

  private List<WorkerSpec> ranks(WorkerSpec whole) {
    return dataParallelSize == 1
        ? List.of(whole)
        : IntStream.range(0, dataParallelSize).mapToObj(whole::withRank).toList();
  }

  private static String annotation(Pod pod, String name) {
    Map<String, String> annotations = pod.getMetadata().getAnnotations();
    return annotations == null ? "" : annotations.getOrDefault(name, "");
  }

  private static String label(Pod pod, String name) {
    Map<String, String> labels = pod.getMetadata().getLabels();
    return labels == null ? "" : labels.getOrDefault(name, "");
  }

  private static boolean runs(Pod pod) {
    PodStatus status = pod.getStatus();
    return pod.getMetadata().getDeletionTimestamp() == null
        && status != null
        && "Running".equals(status.getPhase())
        && ADDRESS.matcher(orEmpty(status.getPodIP())).matches();
  }

  /** True if the pod's workers may get new requests. */
  static boolean ready(Pod pod) {
    PodStatus status = pod.getStatus();
    return status != null
        && status.getConditions().stream()
            .anyMatch(each -> "Ready".equals(each.getType()) && "True".equals(each.getStatus()));
  }

  private String url(String address) {
    return "http://" + (address.contains(":") ? "[" + address + "]" : address) + ":" + port;
  }

  private static String orEmpty(@Nullable String text) {
    return text == null ? "" : text;
  }
}
