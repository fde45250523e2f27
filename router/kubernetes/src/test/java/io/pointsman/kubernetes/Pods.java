package io.pointsman.kubernetes;

import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;

/** Pods as a cluster shows them. */
final class Pods {
  private Pods() {}

  /** A pod of namespace {@code a} with the label {@code app=vllm}, before it runs. */
  static Pod pending(String name) {
    return new PodBuilder()
        .withNewMetadata()
        .withNamespace("a")
        .withName(name)
        .withUid("uid-of-" + name)
        .addToLabels("app", "vllm")
        .endMetadata()
        .withNewStatus()
        .withPhase("Pending")
        .endStatus()
        .build();
  }

  /** A running and ready pod of the same kind. */
  static Pod ready(String name, String address) {
    return ready(pending(name), address, "True");
  }

  /**
   * The pod, running at an address.
   *
   * @param ready status of the condition {@code Ready}
   */
  static Pod ready(Pod pod, String address, String ready) {
    return new PodBuilder(pod)
        .withNewStatus()
        .withPhase("Running")
        .withPodIP(address)
        .addNewCondition()
        .withType("Initialized")
        .withStatus("True")
        .endCondition()
        .addNewCondition()
        .withType("Ready")
        .withStatus(ready)
        .endCondition()
        .endStatus()
        .build();
  }

  /** The pod during its deletion. */
  static Pod terminating(Pod pod) {
    return new PodBuilder(pod)
        .editMetadata()
        .withDeletionTimestamp("2026-01-01T00:00:00Z")
        .endMetadata()
        .build();
  }

  /** The pod with another unique id, as a later pod of the same name. */
  static Pod reborn(Pod pod) {
    return new PodBuilder(pod).editMetadata().withUid("another").endMetadata().build();
  }

  /** The pod with one more annotation. */
  static Pod annotated(Pod pod, String name, String value) {
    return new PodBuilder(pod).editMetadata().addToAnnotations(name, value).endMetadata().build();
  }

  /** The pod with one more label. */
  static Pod labelled(Pod pod, String name, String value) {
    return new PodBuilder(pod).editMetadata().addToLabels(name, value).endMetadata().build();
  }
}
