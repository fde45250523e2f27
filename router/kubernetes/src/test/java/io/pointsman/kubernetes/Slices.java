package io.pointsman.kubernetes;

import io.fabric8.kubernetes.api.model.discovery.v1.EndpointSlice;
import io.fabric8.kubernetes.api.model.discovery.v1.EndpointSliceBuilder;
import org.jspecify.annotations.Nullable;

/** EndpointSlices as a cluster shows them. */
final class Slices {
  private Slices() {}

  /** A slice of the Service {@code vllm} in the namespace {@code a}, with one port and no pod. */
  static EndpointSlice empty(String name, String type) {
    return new EndpointSliceBuilder()
        .withNewMetadata()
        .withNamespace("a")
        .withName(name)
        .addToLabels("app", "vllm")
        .addToLabels("kubernetes.io/service-name", "vllm")
        .endMetadata()
        .withAddressType(type)
        .addNewPort()
        .withName("http")
        .withPort(9000)
        .withProtocol("TCP")
        .endPort()
        .build();
  }

  /** The slice with a pod in addition. */
  static EndpointSlice with(
      EndpointSlice slice, String pod, String address, @Nullable Boolean ready) {
    return new EndpointSliceBuilder(slice)
        .addNewEndpoint()
        .withAddresses(address)
        .withNewConditions()
        .withReady(ready)
        .endConditions()
        .withNodeName("node-1")
        .withZone("z1")
        .withNewTargetRef()
        .withKind("Pod")
        .withName(pod)
        .withUid("uid-of-" + pod)
        .endTargetRef()
        .endEndpoint()
        .build();
  }

  /** The slice with one more port. */
  static EndpointSlice port(EndpointSlice slice, String name, int port) {
    return new EndpointSliceBuilder(slice)
        .addNewPort()
        .withName(name)
        .withPort(port)
        .endPort()
        .build();
  }
}
