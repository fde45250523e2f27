package io.pointsman.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.settings.KubernetesSettings;
import io.pointsman.config.settings.LabelSyntax;
import io.pointsman.config.settings.PodSelector;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class KubernetesSettingsTest {
  private static KubernetesSettings settings(String key, String value, String namespace) {
    return new KubernetesSettings(PodSelector.of(Map.of(key, value)), namespace, 8000, 1, "");
  }

  @Test
  void withoutASelectorDiscoveryIsDisabled() {
    assertThat(KubernetesSettings.DEFAULTS.enabled()).isFalse();
    assertThat(settings("app", "vllm", "").enabled()).isTrue();
  }

  @ParameterizedTest
  @CsvSource({"app,vllm", "app.kubernetes.io/name,vllm-0.1_x", "A,''", "a/b,1"})
  void validLabelsAreAccepted(String key, String value) {
    assertThat(settings(key, value, "team-1").selector()).hasToString(key + "=" + value);
  }

  @ParameterizedTest
  @CsvSource({"'',x", "a b,x", "-a,x", "app,-x", "app,x y", "A.b/c,x", "a/b/c,x", "/a,x"})
  void invalidLabelsAreRefused(String key, String value) {
    assertThatThrownBy(() -> settings(key, value, ""))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(key + "=" + value + " (expected: label=value or label in (a, b))");
  }

  @Test
  void aLabelMayHaveSeveralValues() {
    PodSelector selector = new PodSelector(Map.of("role", Set.of("b", "a"), "app", Set.of("vllm")));
    assertThat(selector).hasToString("app=vllm,role in (a,b)");
    assertThat(new PodSelector(Map.of("app", Set.of("")))).hasToString("app=");
    assertThat(PodSelector.NONE.isEmpty()).isTrue();
  }

  @Test
  void aLabelWithoutValuesOrWithAnEmptyValueAmongOthersIsRefused() {
    assertThatThrownBy(() -> new PodSelector(Map.of("role", Set.of())))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("role in () (expected: ");
    assertThatThrownBy(() -> new PodSelector(Map.of("role", Set.of("", "a"))))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("role in (,a) (expected: ");
  }

  @Test
  void aLabelThatIsTooLongIsRefused() {
    String longest = "a".repeat(63);
    assertThat(LabelSyntax.isKey(longest) && LabelSyntax.isValue(longest)).isTrue();
    assertThat(LabelSyntax.isKey(longest + "a") || LabelSyntax.isValue(longest + "a")).isFalse();
    assertThat(LabelSyntax.isKey("d".repeat(253) + "/a")).isTrue();
    assertThat(LabelSyntax.isKey("d".repeat(254) + "/a")).isFalse();
  }

  @ParameterizedTest
  @ValueSource(strings = {"Team", "a.b", "-a", "a b", "a/b"})
  void invalidNamespacesAreRefused(String namespace) {
    assertThatThrownBy(() -> settings("app", "vllm", namespace))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("namespace: " + namespace + " (expected: ");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"cluster", "ftp://a", "https://", "http://a b", "http://u@a", "http://a?b"})
  void invalidUrlsAreRefused(String url) {
    assertThatThrownBy(() -> new KubernetesSettings(PodSelector.NONE, "", 8000, 1, url))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("url: ");
  }

  @ParameterizedTest
  @ValueSource(strings = {"0", "65536", "Http", "a_b", "-a", "abcdefghijklmnop", "123456"})
  void invalidPortsAreRefused(String port) {
    assertThatThrownBy(() -> KubernetesSettings.DEFAULTS.withPorts(List.of(port)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("ports: " + port + " (expected: 1 to 65535, or the name of a port)");
  }

  @Test
  void portsAreNumbersOrNames() {
    assertThat(KubernetesSettings.DEFAULTS.withPorts(List.of("8000", "http-2", "1a")).ports())
        .containsExactly("8000", "http-2", "1a");
  }
}
