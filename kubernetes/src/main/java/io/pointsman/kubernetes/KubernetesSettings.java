package io.pointsman.kubernetes;

import io.pointsman.engine.fleet.Role;
import java.net.URI;

/**
 * Which pods are workers.
 *
 * @param selector labels that a pod must carry to serve whole requests
 * @param prefillSelector labels that a pod must carry to serve prompts; comes before the others
 * @param decodeSelector labels that a pod must carry to go on from there; comes before {@code
 *     selector}
 * @param namespace where they are; empty means in all namespaces
 * @param port port of the engine in each pod
 * @param dataParallelSize data-parallel ranks of each engine: so many workers for each pod; 1 makes
 *     a pod a single worker without a rank
 * @param url base URL of the cluster's API; empty means the cluster that {@code KUBECONFIG} or
 *     {@code ~/.kube/config} names, else the one that the router runs in
 */
public record KubernetesSettings(
    PodSelector selector,
    PodSelector prefillSelector,
    PodSelector decodeSelector,
    String namespace,
    int port,
    int dataParallelSize,
    String url) {
  public static final KubernetesSettings DEFAULTS =
      new KubernetesSettings(PodSelector.NONE, "", 8000, 1, "");

  /** For pods that serve whole requests only. */
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
    check(port >= 1 && port <= 65_535, "port", "" + port, "1 to 65535");
    check(dataParallelSize >= 1, "dataParallelSize", "" + dataParallelSize, ">= 1");
    check(url.isEmpty() || isUrl(url), "url", url, "https://host:port");
  }

  /** Whether it may be the base URL of an API. */
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

  /** The labels by which pods of a role are found; empty if none are looked for. */
  public PodSelector selector(Role role) {
    return switch (role) {
      case REGULAR -> selector;
      case PREFILL -> prefillSelector;
      case DECODE -> decodeSelector;
    };
  }

  /** Whether pods are looked for that have a role. */
  public boolean finds(Role role) {
    return !selector(role).isEmpty();
  }

  /** Whether pods are looked for at all. */
  public boolean enabled() {
    return finds(Role.REGULAR) || finds(Role.PREFILL) || finds(Role.DECODE);
  }
}
