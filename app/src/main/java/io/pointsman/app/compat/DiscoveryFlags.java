package io.pointsman.app.compat;

import static io.pointsman.app.compat.Flag.flag;
import static io.pointsman.app.compat.Translation.as;
import static io.pointsman.app.compat.Translation.list;

import io.pointsman.app.compat.Flag.Shape;
import io.pointsman.app.config.ConfigValues;
import io.pointsman.app.config.key.KubernetesKeys;
import java.util.List;

/** Flags of vllm-router 0.1.17 for discovery of engines in Kubernetes. */
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
        flag("--prefill-selector", "labels of prefill pods, each as label=value")
            .shape(Shape.GROUPS)
            .honoured(
                "with --service-discovery and --vllm-pd-disaggregation",
                list(KubernetesKeys.PREFILL_SELECTOR)),
        flag("--decode-selector", "labels of decode pods, each as label=value")
            .shape(Shape.GROUPS)
            .honoured(
                "with --service-discovery and --vllm-pd-disaggregation",
                list(KubernetesKeys.DECODE_SELECTOR)),
        flag("--service-discovery-port", "port of the engines in the pods")
            .standard("80")
            .honoured(as(KubernetesKeys.PORT)),
        flag("--service-discovery-namespace", "namespace of the pods; none means all")
            .honoured(as(KubernetesKeys.NAMESPACE)));
  }

  /** Combines the flags; called after all flags are read. */
  static void finish(Translation into) {
    ConfigValues values = into.values();
    if (!into.discovers()) {
      KubernetesKeys.findNone(values, KubernetesKeys.SELECTOR);
      KubernetesKeys.findNone(values, KubernetesKeys.PREFILL_SELECTOR);
      KubernetesKeys.findNone(values, KubernetesKeys.DECODE_SELECTOR);
      return;
    }
    if (into.backend() == Backend.OPENAI) {
      into.problems().add("--service-discovery: not with --backend openai, which is one server");
    }
    boolean parts =
        KubernetesKeys.finds(values, KubernetesKeys.PREFILL_SELECTOR)
            || KubernetesKeys.finds(values, KubernetesKeys.DECODE_SELECTOR);
    if (into.pd().on()) {
      KubernetesKeys.findNone(values, KubernetesKeys.SELECTOR);
      need(
          parts,
          "--service-discovery: no --prefill-selector and no --decode-selector (expected: one of"
              + " them at least, with labels such as role=prefill)",
          into);
    } else {
      if (parts) {
        into.problems()
            .add(
                "--prefill-selector, --decode-selector: without --vllm-pd-disaggregation"
                    + " (expected: both or neither)");
      }
      need(
          KubernetesKeys.finds(values, KubernetesKeys.SELECTOR),
          "--service-discovery: no --selector (expected: labels such as app=vllm)",
          into);
    }
  }

  private static void need(boolean given, String problem, Translation into) {
    if (!given && into.problems().isEmpty()) {
      into.problems().add(problem);
    }
  }
}
