package io.pointsman.config.key;

import static io.pointsman.config.value.ValueTypes.bool;
import static io.pointsman.config.value.ValueTypes.constant;
import static io.pointsman.config.value.ValueTypes.integer;
import static io.pointsman.config.value.ValueTypes.texts;

import io.pointsman.config.ConfigValues;
import io.pointsman.config.settings.KubernetesSettings;
import io.pointsman.config.settings.KubernetesSettings.Find;
import io.pointsman.config.settings.LabelSyntax;
import io.pointsman.config.settings.PodSelector;
import io.pointsman.config.value.CheckedText;
import io.pointsman.config.value.SelectorType;
import java.util.List;

/** Keys of the discovery of Kubernetes pods as workers. */
public final class KubernetesKeys {
  private static final KubernetesSettings DEFAULTS = KubernetesSettings.DEFAULTS;
  private static final CheckedText KEY =
      new CheckedText(
          "<name>", "the key of an annotation or a label, or empty", LabelSyntax::isKey);

  public static final Key<PodSelector> SELECTOR =
      Key.of(
          "kubernetes.selector",
          new SelectorType(),
          DEFAULTS.selector(),
          "Labels of the pods that are workers while they are ready. A pod must have all labels,"
              + " each with its value or one of its values.",
          "An empty list: Kubernetes is not used. If other pods have the same labels, they become"
              + " workers too.");

  public static final Key<PodSelector> PREFILL_SELECTOR =
      Key.of(
          "kubernetes.prefill-selector",
          new SelectorType(),
          DEFAULTS.prefillSelector(),
          "Labels of the pods that are prefill workers. The annotation `vllm.ai/bootstrap-port` is"
              + " the port of a pod's bootstrap server.",
          "If several selectors match a pod, its role is the first of prefill, decode, regular."
              + " This needs `disaggregation.protocol`.");

  public static final Key<PodSelector> DECODE_SELECTOR =
      Key.of(
          "kubernetes.decode-selector",
          new SelectorType(),
          DEFAULTS.decodeSelector(),
          "Labels of the pods that are decode workers.",
          "This needs `disaggregation.protocol`.");

  public static final Key<Find> FIND =
      Key.of(
          "kubernetes.find",
          constant(Find.class),
          DEFAULTS.find(),
          "`pods`: each ready pod with the labels is a worker. `services`: each Service with the"
              + " labels is a worker, at its DNS name and `kubernetes.port`. `endpointslices`: each"
              + " ready endpoint of the EndpointSlices with the labels is a worker. A slice has the"
              + " labels of its Service, and `kubernetes.io/service-name`.",
          "`services` is for Services with one pod. Behind a Service with several pods, the router"
              + " cannot choose the pod, so caches and loads are unknown.");

  public static final Key<String> NAMESPACE =
      Key.of(
          "kubernetes.namespace",
          new CheckedText(
              "<name>",
              "a namespace: lower-case letters, digits and hyphens; or empty",
              LabelSyntax::isNamespace),
          DEFAULTS.namespace(),
          "Namespace of the pods.",
          "Empty: all namespaces; the router then needs rights in the whole cluster.");

  public static final Key<Integer> PORT =
      Key.of(
          "kubernetes.port",
          integer(1, 65_535),
          DEFAULTS.port(),
          "Port of the engine in each pod.",
          "If the port is wrong, no pod gets requests.");

  public static final Key<List<String>> PORTS =
      Key.of(
          "kubernetes.ports",
          texts("<port>", "numbers or names of ports"),
          DEFAULTS.ports(),
          "Ports of several engines in each pod, by number or name. Each port is a worker. The"
              + " worker's id then ends in the port.",
          "An empty list: `kubernetes.port`; with `endpointslices` the only port of a slice. A pod"
              + " without a port of this name has no worker there.");

  public static final Key<String> MODEL_LABEL =
      Key.of(
          "kubernetes.model-label",
          KEY,
          DEFAULTS.modelKey(),
          "Annotation or label of a pod with the models that it serves, separated by commas. An"
              + " annotation wins.",
          "Without the annotation or label, the router asks the engine.");

  public static final Key<String> ALIASES_LABEL =
      Key.of(
          "kubernetes.aliases-label",
          KEY,
          DEFAULTS.aliasesKey(),
          "Annotation or label of a pod with further names of its first model, separated by commas."
              + " Needs the annotation or label of `kubernetes.model-label` beside it.",
          "Empty: none. `model-aliases` wins over an alias of a pod.");

  public static final Key<Boolean> EXPECT_MODELS =
      Key.of(
          "kubernetes.expect-models",
          bool(),
          DEFAULTS.expectModels(),
          "Deployments and StatefulSets with the labels of the selectors name models, by"
              + " `kubernetes.model-label`. Without a pod, requests for such a model are answered"
              + " as those for `expected-models`.",
          "`true`: the router needs the right to list and watch both kinds.");

  public static final Key<Integer> DATA_PARALLEL_SIZE =
      Key.of(
          "kubernetes.data-parallel-size",
          integer(1, 1024),
          DEFAULTS.dataParallelSize(),
          "Number of data-parallel ranks of the engine in each pod.",
          "`2` or more: each rank is a worker. The router selects the rank with the header"
              + " `X-data-parallel-rank`.");

  public static final Key<String> URL =
      Key.of(
          "kubernetes.url",
          new CheckedText(
              "<url>", "a URL such as https://10.0.0.1:6443, or empty", KubernetesSettings::isUrl),
          DEFAULTS.url(),
          "Base URL of the Kubernetes API.",
          "Empty: the cluster in KUBECONFIG or `~/.kube/config`; if there is none, the cluster in"
              + " which the router runs.");

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
        SELECTOR,
        PREFILL_SELECTOR,
        DECODE_SELECTOR,
        FIND,
        NAMESPACE,
        PORT,
        PORTS,
        MODEL_LABEL,
        ALIASES_LABEL,
        EXPECT_MODELS,
        DATA_PARALLEL_SIZE,
        URL);
  }
}
