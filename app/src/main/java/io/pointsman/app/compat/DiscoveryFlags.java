package io.pointsman.app.compat;

import static io.pointsman.app.compat.Flag.flag;
import static io.pointsman.app.compat.Translation.as;
import static io.pointsman.app.compat.Translation.list;

import io.pointsman.app.compat.Flag.Shape;
import io.pointsman.app.config.key.KubernetesKeys;
import java.util.List;
import java.util.Map;

/** The flags of vllm-router 0.1.17 by which its regular mode finds engines in Kubernetes. */
final class DiscoveryFlags {
  private DiscoveryFlags() {}

  static List<Flag> all() {
    return List.of(
        flag("--service-discovery", "finds engines in Kubernetes")
            .shape(Shape.SWITCH)
            .honoured(
                "a pod serves while it is ready, and leaves when it is not or is gone",
                (_, into) -> into.discovery()),
        flag("--selector", "labels of the pods, each as label=value")
            .shape(Shape.GROUPS)
            .honoured(
                "without --service-discovery it has no effect, as there",
                list(KubernetesKeys.SELECTOR)),
        flag("--service-discovery-port", "port of the engines in the pods")
            .standard("80")
            .honoured(as(KubernetesKeys.PORT)),
        flag("--service-discovery-namespace", "namespace of the pods; none means all")
            .honoured(as(KubernetesKeys.NAMESPACE)));
  }

  /** Brings the flags together, when all have been read. */
  static void finish(Translation into) {
    if (!into.discovers()) {
      into.values().set(KubernetesKeys.SELECTOR, Map.of());
      return;
    }
    if (into.backend() == Backend.OPENAI) {
      into.problems().add("--service-discovery: not with --backend openai, which is one server");
    }
    if (into.values().get(KubernetesKeys.SELECTOR).isEmpty() && into.problems().isEmpty()) {
      into.problems().add("--service-discovery: no --selector (expected: labels such as app=vllm)");
    }
  }
}
