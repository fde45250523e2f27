package io.pointsman.compat.vllmrouter;

import static io.pointsman.compat.vllmrouter.Flag.flag;
import static io.pointsman.compat.vllmrouter.Translation.as;
import static io.pointsman.compat.vllmrouter.Translation.list;

import io.pointsman.compat.vllmrouter.Flag.Shape;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.key.KubernetesKeys;
import java.util.List;

/** Flags of vllm-router 0.1.17 for discovery of engines in Kubernetes. */
final class DiscoveryFlags {
  private DiscoveryFlags() {}

  static List<Flag> all() {
    return List.of(
        flag("--service-discovery", "find engines in Kubernetes")
            .shape(Shape.SWITCH)
            .honoured("a pod gets requests only while it is ready", (_, into) -> into.discovery()),
        flag("--selector", "pod labels, each label=value")
            .shape(Shape.GROUPS)
            .honoured(
                "no effect without --service-discovery, as in vllm-router",
                list(KubernetesKeys.SELECTOR)),
        flag("--prefill-selector", "labels of prefill pods, each label=value")
            .shape(Shape.GROUPS)
            .honoured(
                "needs --service-discovery and --vllm-pd-disaggregation",
                list(KubernetesKeys.PREFILL_SELECTOR)),
        flag("--decode-selector", "labels of decode pods, each label=value")
            .shape(Shape.GROUPS)
            .honoured(
                "needs --service-discovery and --vllm-pd-disaggregation",
                list(KubernetesKeys.DECODE_SELECTOR)),
        flag("--service-discovery-port", "engine port in the pods")
            .standard("80")
            .honoured(as(KubernetesKeys.PORT)),
        flag("--service-discovery-namespace", "namespace of the pods; unset means all")
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
      into.problems()
          .add("--service-discovery: given with --backend openai (expected: one of them)");
    }
    boolean parts =
        KubernetesKeys.finds(values, KubernetesKeys.PREFILL_SELECTOR)
            || KubernetesKeys.finds(values, KubernetesKeys.DECODE_SELECTOR);
    if (into.pd().on()) {
      KubernetesKeys.findNone(values, KubernetesKeys.SELECTOR);
      need(
          parts,
          "--service-discovery: no --prefill-selector and no --decode-selector (expected: at least"
              + " one of them, for example role=prefill)",
          into);
    } else {
      if (parts) {
        into.problems()
            .add(
                "--prefill-selector, --decode-selector: given without --vllm-pd-disaggregation"
                    + " (expected: both or neither)");
      }
      need(
          KubernetesKeys.finds(values, KubernetesKeys.SELECTOR),
          "--service-discovery: no --selector (expected: labels, for example app=vllm)",
          into);
    }
  }

  private static void need(boolean given, String problem, Translation into) {
    if (!given && into.problems().isEmpty()) {
      into.problems().add(problem);
    }
  }
}
