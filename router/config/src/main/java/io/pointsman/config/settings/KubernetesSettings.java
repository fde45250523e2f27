package io.pointsman.config.settings;

import io.pointsman.engine.fleet.Role;
import io.soabase.recordbuilder.core.RecordBuilder;
import java.net.URI;
import java.util.List;
import java.util.regex.Pattern;

/**
 * Settings of the discovery of workers as pods.
 *
 * @param selector labels of pods that serve complete requests
 * @param prefillSelector labels of prefill pods; precedes the other selectors
 * @param decodeSelector labels of decode pods; precedes {@code selector}
 * @param namespace namespace of the pods; empty means all namespaces
 * @param port port of the engine in each pod
 * @param dataParallelSize number of data-parallel ranks of each engine; each rank is a worker. 1
 *     makes each pod one worker without a rank
 * @param url base URL of the cluster's API. Empty means the cluster in {@code KUBECONFIG} or {@code
 *     ~/.kube/config}, else the router's own cluster
 * @param find kind of the objects that are workers
 * @param ports numbers or names of the engines' ports in each object, each a worker; empty: {@code
 *     port} alone
 * @param modelKey annotation or label with the models of an object; empty: none
 * @param aliasesKey annotation or label with further names of its first model; empty: none
 * @param expectModels true if Deployments and StatefulSets name models that may have no pod
 */
@RecordBuilder
public record KubernetesSettings(
    PodSelector selector,
    PodSelector prefillSelector,
    PodSelector decodeSelector,
    String namespace,
    int port,
    int dataParallelSize,
    String url,
    Find find,
    List<String> ports,
    String modelKey,
    String aliasesKey,
    boolean expectModels)
    implements KubernetesSettingsBuilder.With {
  /** Kind of the objects that are workers. */
  public enum Find {
    PODS,
    SERVICES,
    ENDPOINTSLICES
  }

  private static final Pattern PORT_NAME =
      Pattern.compile("(?=.*[a-z])[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?");
  private static final int LARGEST_PORT = 65_535;
  private static final String KEY = "the key of an annotation or a label";
  private static final String MODEL = "pointsman.io/model";
  private static final String ALIASES = "pointsman.io/model-aliases";

  public static final KubernetesSettings DEFAULTS =
      new KubernetesSettings(PodSelector.NONE, "", 8000, 1, "");

  /** Settings for pods. */
  public KubernetesSettings(
      PodSelector selector,
      PodSelector prefillSelector,
      PodSelector decodeSelector,
      String namespace,
      int port,
      int dataParallelSize,
      String url) {
    this(
        selector,
        prefillSelector,
        decodeSelector,
        namespace,
        port,
        dataParallelSize,
        url,
        Find.PODS,
        List.of(),
        MODEL,
        ALIASES,
        false);
  }

  /** Settings for pods that serve complete requests only. */
  public KubernetesSettings(
      PodSelector selector, String namespace, int port, int dataParallelSize, String url) {
    this(selector, PodSelector.NONE, PodSelector.NONE, namespace, port, dataParallelSize, url);
  }

  public KubernetesSettings {
    check(
        namespace.isEmpty() || LabelSyntax.isNamespace(namespace),
        "namespace",
        namespace,
        "lower-case letters, digits and hyphens");
    check(port >= 1 && port <= LARGEST_PORT, "port", "" + port, "1 to 65535");
    ports = List.copyOf(ports);
    for (String each : ports) {
      boolean valid =
          each.matches("\\d{1,5}")
              ? Integer.parseInt(each) >= 1 && Integer.parseInt(each) <= LARGEST_PORT
              : PORT_NAME.matcher(each).matches();
      check(valid, "ports", each, "1 to 65535, or the name of a port");
    }
    check(modelKey.isEmpty() || LabelSyntax.isKey(modelKey), "modelLabel", modelKey, KEY);
    check(aliasesKey.isEmpty() || LabelSyntax.isKey(aliasesKey), "aliasesLabel", aliasesKey, KEY);
    check(dataParallelSize >= 1, "dataParallelSize", "" + dataParallelSize, ">= 1");
    check(url.isEmpty() || isUrl(url), "url", url, "https://host:port");
  }

  /** True if the text can be the base URL of an API. */
  public static boolean isUrl(String text) {
    try {
      URI uri = URI.create(text);
      boolean http = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
      return http && uri.getHost() != null && uri.getQuery() == null && uri.getUserInfo() == null;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private static void check(boolean valid, String name, String value, String expected) {
    if (!valid) {
      throw new IllegalArgumentException(name + ": " + value + " (expected: " + expected + ")");
    }
  }

  /** The labels of pods of a role; empty if the role is not discovered. */
  public PodSelector selector(Role role) {
    return switch (role) {
      case REGULAR -> selector;
      case PREFILL -> prefillSelector;
      case DECODE -> decodeSelector;
    };
  }

  /** True if pods of this role are discovered. */
  public boolean finds(Role role) {
    return !selector(role).isEmpty();
  }

  /** True if pods of at least one role are discovered. */
  public boolean enabled() {
    return finds(Role.REGULAR) || finds(Role.PREFILL) || finds(Role.DECODE);
  }
}
