package io.pointsman.kubernetes;

import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;

/** Pods as a cluster would show them. */
final class Pods {
  private Pods() {}

  /** A pod of namespace {@code a} with the label {@code app=vllm} that has been created only. */
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

  /** The same, running and ready. */
  static Pod ready(String name, String address) {
    return ready(pending(name), address, "True");
  }

  /** The pod, running at an address. */
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

  /** The pod, being deleted. */
  static Pod terminating(Pod pod) {
    return new PodBuilder(pod)
        .editMetadata()
        .withDeletionTimestamp("2026-01-01T00:00:00Z")
        .endMetadata()
        .build();
  }

  /** The pod with another unique id: the next one of the same name. */
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
