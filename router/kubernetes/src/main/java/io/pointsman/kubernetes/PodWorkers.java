package io.pointsman.kubernetes;

import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.ObjectReference;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodStatus;
import io.fabric8.kubernetes.api.model.Service;
import io.fabric8.kubernetes.api.model.discovery.v1.Endpoint;
import io.fabric8.kubernetes.api.model.discovery.v1.EndpointConditions;
import io.fabric8.kubernetes.api.model.discovery.v1.EndpointSlice;
import io.pointsman.config.settings.KubernetesSettings;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.pd.peer.PeerLabels;
import java.util.ArrayList;
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

  /** Label of a slice with the name of its Service. */
  private static final String SERVICE_NAME = "kubernetes.io/service-name";

  /** Type of a slice with host names. */
  private static final String FQDN = "FQDN";

  private static final Pattern HOST = Pattern.compile("[0-9A-Za-z.-]{1,253}");

  private static final Pattern ADDRESS = Pattern.compile("[0-9A-Fa-f.:]{2,45}");

  private final PodPorts ports;
  private final DeclaredModels names;
  private final int dataParallelSize;

  PodWorkers(KubernetesSettings settings) {
    ports = new PodPorts(settings);
    names = new DeclaredModels(settings);
    dataParallelSize = settings.dataParallelSize();
  }

  /** The workers of a pod that serves complete requests. */
  List<WorkerSpec> of(Pod pod) {
    return of(pod, Role.REGULAR);
  }

  /**
   * The workers of a pod, one per port and rank of its engines. Their models are unknown if the pod
   * does not name them.
   */
  List<WorkerSpec> of(Pod pod, Role role) {
    if (!runs(pod)) {
      return List.of();
    }
    Map<String, String> labels = labels(pod.getMetadata(), "pod");
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
    return at(
        id(pod.getMetadata()),
        host(pod.getStatus().getPodIP()),
        ports.of(pod),
        role,
        names.models(pod.getMetadata()),
        labels);
  }

  /** The workers of a Service, one per port and rank, at its DNS name. None while it is deleted. */
  List<WorkerSpec> of(Service service, Role role) {
    ObjectMeta meta = service.getMetadata();
    if (meta.getDeletionTimestamp() != null) {
      return List.of();
    }
    return at(
        id(meta),
        orEmpty(meta.getName()) + "." + orEmpty(meta.getNamespace()) + ".svc",
        ports.of(service),
        role,
        names.models(meta),
        labels(meta, "service"));
  }

  /** A worker of a slice, and if it may get new requests. */
  record OfSlice(WorkerSpec spec, boolean ready) {}

  /** The workers of an EndpointSlice, ready or not. None while it is deleted. */
  List<OfSlice> of(EndpointSlice slice, Role role) {
    ObjectMeta meta = slice.getMetadata();
    // The API sends null for the list of a Service without pods.
    if (slice.getEndpoints() == null || meta.getDeletionTimestamp() != null) {
      return List.of();
    }
    List<Integer> numbers = ports.of(slice);
    List<OfSlice> workers = new ArrayList<>();
    for (Endpoint endpoint : slice.getEndpoints()) {
      // All addresses of an endpoint mean the same; the API asks to use the first.
      String address = endpoint.getAddresses().isEmpty() ? "" : endpoint.getAddresses().getFirst();
      boolean named = FQDN.equals(slice.getAddressType());
      if ((named ? HOST : ADDRESS).matcher(address).matches()) {
        boolean ready = ready(endpoint);
        at(
                idOf(meta, endpoint, address),
                host(address),
                numbers,
                role,
                names.models(meta),
                labels(meta, endpoint))
            .forEach(spec -> workers.add(new OfSlice(spec, ready)));
      }
    }
    return workers;
  }

  /** Unknown counts as ready, as the API asks. */
  private static boolean ready(Endpoint endpoint) {
    EndpointConditions conditions = endpoint.getConditions();
    return conditions == null || !Boolean.FALSE.equals(conditions.getReady());
  }

  private static @Nullable ObjectReference podOf(Endpoint endpoint) {
    ObjectReference target = endpoint.getTargetRef();
    return target != null && "Pod".equals(target.getKind()) ? target : null;
  }

  /** The pod's id, or the address if there is no pod, for example outside of the cluster. */
  private static String idOf(ObjectMeta slice, Endpoint endpoint, String address) {
    ObjectReference pod = podOf(endpoint);
    return orEmpty(slice.getNamespace()) + "/" + (pod == null ? address : orEmpty(pod.getName()));
  }

  private static Map<String, String> labels(ObjectMeta slice, Endpoint endpoint) {
    Map<String, String> labels = new HashMap<>();
    labels.put("namespace", orEmpty(slice.getNamespace()));
    String service = slice.getLabels() == null ? null : slice.getLabels().get(SERVICE_NAME);
    if (service != null) {
      labels.put("service", service);
    }
    ObjectReference pod = podOf(endpoint);
    if (pod != null) {
      labels.put("pod", orEmpty(pod.getName()));
      labels.put("uid", orEmpty(pod.getUid()));
    }
    if (endpoint.getNodeName() != null) {
      labels.put(WorkerSpec.NODE_LABEL, endpoint.getNodeName());
    }
    if (endpoint.getZone() != null && !endpoint.getZone().isEmpty()) {
      labels.put(WorkerSpec.ZONE_LABEL, endpoint.getZone());
    }
    return labels;
  }

  private static Map<String, String> labels(ObjectMeta meta, String kind) {
    Map<String, String> labels = new HashMap<>();
    labels.put("namespace", orEmpty(meta.getNamespace()));
    labels.put(kind, orEmpty(meta.getName()));
    labels.put("uid", orEmpty(meta.getUid()));
    return labels;
  }

  private static String id(ObjectMeta meta) {
    return orEmpty(meta.getNamespace()) + "/" + orEmpty(meta.getName());
  }

  private List<WorkerSpec> at(
      String id,
      String host,
      List<Integer> numbers,
      Role role,
      Set<String> models,
      Map<String, String> labels) {
    List<WorkerSpec> workers = new ArrayList<>();
    for (int port : numbers) {
      WorkerSpec whole =
          new WorkerSpec(
              ports.several() ? id + ":" + port : id,
              "http://" + host + ":" + port,
              role,
              models,
              WorkerSpec.NO_RANK,
              0,
              labels);
      workers.addAll(ranks(whole));
    }
    return workers;
  }

  private List<WorkerSpec> ranks(WorkerSpec whole) {
    return dataParallelSize == 1
        ? List.of(whole)
        : IntStream.range(0, dataParallelSize).mapToObj(whole::atRank).toList();
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

  private static String host(String address) {
    return address.contains(":") ? "[" + address + "]" : address;
  }

  private static String orEmpty(@Nullable String text) {
    return text == null ? "" : text;
  }
}
