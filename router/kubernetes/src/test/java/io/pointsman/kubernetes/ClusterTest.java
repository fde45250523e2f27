package io.pointsman.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.client.Config;
import io.pointsman.config.settings.KubernetesSettings;
import io.pointsman.config.settings.PodSelector;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The cluster that the client uses. System properties replace the environment. */
class ClusterTest {
  private static final String KUBECONFIG =
      """
      apiVersion: v1
      kind: Config
      current-context: named
      contexts: [{name: named, context: {cluster: named, user: me}}]
      clusters: [{name: named, cluster: {server: "https://named.example:6443"}}]
      users: [{name: me, user: {token: secret}}]
      """;

  private final Map<String, @Nullable String> before = new HashMap<>();

  @TempDir
  @SuppressWarnings("NullAway.Init")
  Path directory;

  @BeforeEach
  void runsInACluster() {
    set(Config.KUBERNETES_SERVICE_HOST_PROPERTY, "10.96.0.1");
    set(Config.KUBERNETES_SERVICE_PORT_PROPERTY, "443");
    set(Config.KUBERNETES_KUBECONFIG_FILE, directory.resolve("kubeconfig").toString());
  }

  @AfterEach
  void restore() {
    before.forEach(
        (name, value) -> {
          if (value == null) {
            System.clearProperty(name);
          } else {
            System.setProperty(name, value);
          }
        });
  }

  private void set(String name, String value) {
    before.put(name, System.setProperty(name, value));
  }

  private static String asked(String url) {
    return PodDiscovery.config(new KubernetesSettings(PodSelector.NONE, "", 8000, 1, url))
        .getMasterUrl();
  }

  @Test
  void theDefaultIsTheClusterOfTheRouter() {
    assertThat(asked("")).isEqualTo("https://10.96.0.1:443/");
  }

  @Test
  void aKubeconfigPrecedesTheClusterOfTheRouter() throws IOException {
    Files.writeString(directory.resolve("kubeconfig"), KUBECONFIG);
    assertThat(asked("")).isEqualTo("https://named.example:6443/");
  }

  @Test
  void aConfiguredUrlPrecedesBoth() throws IOException {
    Files.writeString(directory.resolve("kubeconfig"), KUBECONFIG);
    assertThat(asked("https://kube.example:1")).startsWith("https://kube.example:1");
  }
}
