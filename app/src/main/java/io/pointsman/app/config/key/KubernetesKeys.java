package io.pointsman.app.config.key;

import static io.pointsman.app.config.value.ValueTypes.integer;

import io.pointsman.app.config.ConfigValues;
import io.pointsman.app.config.value.CheckedText;
import io.pointsman.app.config.value.SelectorType;
import io.pointsman.kubernetes.KubernetesSettings;
import io.pointsman.kubernetes.LabelSyntax;
import io.pointsman.kubernetes.PodSelector;
import java.util.List;

/** Keys of the discovery of Kubernetes pods as workers. */
public final class KubernetesKeys {
  private static final KubernetesSettings DEFAULTS = KubernetesSettings.DEFAULTS;

  public static final Key<PodSelector> SELECTOR =
      Key.of(
          "kubernetes.selector",
          new SelectorType(),
          DEFAULTS.selector(),
          "Labels of the pods that are workers while they are ready; a pod must carry all of them,"
              + " each with its value, or one of its values.",
          "An empty list asks no cluster; labels that other pods carry too make workers of those.");

  public static final Key<PodSelector> PREFILL_SELECTOR =
      Key.of(
          "kubernetes.prefill-selector",
          new SelectorType(),
          DEFAULTS.prefillSelector(),
          "The same for pods that are prefill workers; the annotation vllm.ai/bootstrap-port tells"
              + " the port of a pod's bootstrap server.",
          "A pod that several selectors find has the first of prefill, decode, regular.");

  public static final Key<PodSelector> DECODE_SELECTOR =
      Key.of(
          "kubernetes.decode-selector",
          new SelectorType(),
          DEFAULTS.decodeSelector(),
          "The same for pods that are decode workers.",
          "Needs disaggregation.protocol, as kubernetes.prefill-selector does.");

  public static final Key<String> NAMESPACE =
      Key.of(
          "kubernetes.namespace",
          new CheckedText(
              "<name>",
              "a namespace: lower-case letters, digits and hyphens; or nothing",
              LabelSyntax::isNamespace),
          DEFAULTS.namespace(),
          "Namespace of the pods.",
          "Empty looks in all namespaces, for which the router needs rights in the whole cluster.");

  public static final Key<Integer> PORT =
      Key.of(
          "kubernetes.port",
          integer(1, 65_535),
          DEFAULTS.port(),
          "Port of the engine in each pod.",
          "A port on which nobody listens keeps every pod out.");

  public static final Key<Integer> DATA_PARALLEL_SIZE =
      Key.of(
          "kubernetes.data-parallel-size",
          integer(1, 1024),
          DEFAULTS.dataParallelSize(),
          "Data-parallel ranks of the engine in each pod.",
          "Above 1 a pod becomes as many workers, told apart by X-data-parallel-rank.");

  public static final Key<String> URL =
      Key.of(
          "kubernetes.url",
          new CheckedText(
              "<url>",
              "a URL such as https://10.0.0.1:6443, or nothing",
              KubernetesSettings::isUrl),
          DEFAULTS.url(),
          "Base URL of the cluster's API.",
          "Empty means the cluster that KUBECONFIG or ~/.kube/config names, else the one that the"
              + " router runs in.");

  private KubernetesKeys() {}

  /** True if the selector is set. */
  public static boolean finds(ConfigValues values, Key<PodSelector> selector) {
    return !values.get(selector).isEmpty();
  }

  /** Clears the selector. */
  public static void findNone(ConfigValues values, Key<PodSelector> selector) {
    values.set(selector, PodSelector.NONE);
  }

  static List<Key<?>> all() {
    return List.of(
        SELECTOR, PREFILL_SELECTOR, DECODE_SELECTOR, NAMESPACE, PORT, DATA_PARALLEL_SIZE, URL);
  }
}
