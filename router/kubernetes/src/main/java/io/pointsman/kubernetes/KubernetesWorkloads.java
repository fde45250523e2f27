package io.pointsman.kubernetes;

import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.PodTemplateSpec;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.apps.StatefulSet;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import io.pointsman.kubernetes.DeclaredModels.Declared;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The Deployments and StatefulSets with the labels of workers. They name models that have no pod at
 * present.
 */
final class KubernetesWorkloads {
  private final List<SharedIndexInformer<Deployment>> deployments = new ArrayList<>();
  private final List<SharedIndexInformer<StatefulSet>> statefulSets = new ArrayList<>();

  void add(
      SharedIndexInformer<Deployment> ofDeployments,
      SharedIndexInformer<StatefulSet> ofStatefulSets) {
    deployments.add(ofDeployments);
    statefulSets.add(ofStatefulSets);
  }

  List<SharedIndexInformer<? extends HasMetadata>> informers() {
    List<SharedIndexInformer<? extends HasMetadata>> all = new ArrayList<>(deployments);
    all.addAll(statefulSets);
    return all;
  }

  /** The names of all workloads. */
  List<Declared> declared(DeclaredModels names) {
    List<Declared> all = new ArrayList<>();
    for (SharedIndexInformer<Deployment> each : deployments) {
      for (Deployment one : each.getStore().list()) {
        PodTemplateSpec pods = one.getSpec() == null ? null : one.getSpec().getTemplate();
        all.add(names.of(one.getMetadata(), template(pods)));
      }
    }
    for (SharedIndexInformer<StatefulSet> each : statefulSets) {
      for (StatefulSet one : each.getStore().list()) {
        PodTemplateSpec pods = one.getSpec() == null ? null : one.getSpec().getTemplate();
        all.add(names.of(one.getMetadata(), template(pods)));
      }
    }
    return all;
  }

  private static @Nullable ObjectMeta template(@Nullable PodTemplateSpec pods) {
    return pods == null ? null : pods.getMetadata();
  }
}
