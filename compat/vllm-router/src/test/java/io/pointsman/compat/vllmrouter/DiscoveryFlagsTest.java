package io.pointsman.compat.vllmrouter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.pointsman.config.ConfigException;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.settings.KubernetesSettings;
import io.pointsman.config.settings.PodSelector;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DiscoveryFlagsTest {
  private static KubernetesSettings launched(String line) {
    return PointsmanConfig.from(
            VllmRouterLauncher.translate(List.of(line.split(" ", -1)), Map.of()))
        .kubernetes();
  }

  private static List<String> refused(String line) {
    return assertThatExceptionOfType(ConfigException.class)
        .isThrownBy(() -> launched(line))
        .actual()
        .problems();
  }

  @Test
  void discoveryIsOffAndItsPortIsEightyByDefault() {
    assertThat(launched("--policy random"))
        .isEqualTo(new KubernetesSettings(PodSelector.NONE, "", 80, 1, ""));
  }

  @Test
  void everyFlagIsTranslated() {
    assertThat(
            launched(
                "--service-discovery --selector app=vllm tier.example/x=a_b"
                    + " --service-discovery-port 8000 --service-discovery-namespace team-1"
                    + " --intra-node-data-parallel-size 2"))
        .isEqualTo(
            new KubernetesSettings(
                PodSelector.of(Map.of("app", "vllm", "tier.example/x", "a_b")),
                "team-1",
                8000,
                2,
                ""));
  }

  @Test
  void aSelectorWithoutDiscoveryHasNoEffect() {
    assertThat(launched("--selector app=vllm").enabled()).isFalse();
  }

  @Test
  void discoveryWithoutASelectorIsRefused() {
    assertThat(refused("--service-discovery"))
        .containsExactly(
            "--service-discovery: no --selector (expected: labels, for example app=vllm)");
  }

  @Test
  void discoveryWithAnOpenAiBackendIsRefused() {
    assertThat(
            refused("--backend openai --worker-urls http://a --service-discovery --selector a=b"))
        .containsExactly(
            "--service-discovery: given with --backend openai (expected: one of them)");
  }

  @ParameterizedTest
  @CsvSource({
    "--service-discovery --selector app, --selector: app (expected: label=value",
    "--service-discovery --selector =x, --selector: =x (expected: label=value",
    "--service-discovery --selector a=-, --selector: a=- (expected: label=value",
    "--service-discovery-namespace Team, --service-discovery-namespace: Team (expected: a name",
    "--service-discovery-port 0, --service-discovery-port: 0 (expected: ",
  })
  void invalidFlagsAreRefusedWithTheReason(String line, String reason) {
    assertThat(refused(line)).singleElement().asString().startsWith(reason);
  }

  @Test
  void prefillAndDecodeHaveSelectorsOfTheirOwn() {
    assertThat(
            launched(
                "--vllm-pd-disaggregation --service-discovery --selector x=y"
                    + " --prefill-selector app=vllm role=prefill --decode-selector role=decode"))
        .isEqualTo(
            new KubernetesSettings(
                PodSelector.NONE,
                PodSelector.of(Map.of("app", "vllm", "role", "prefill")),
                PodSelector.of(Map.of("role", "decode")),
                "",
                80,
                1,
                ""));
  }

  @Test
  void roleSelectorsWithoutDiscoveryHaveNoEffect() {
    assertThat(launched("--prefill-selector role=prefill").enabled()).isFalse();
  }

  @Test
  void splitDiscoveryWithoutASelectorIsRefused() {
    assertThat(refused("--vllm-pd-disaggregation --service-discovery --selector a=b"))
        .singleElement()
        .asString()
        .startsWith("--service-discovery: no --prefill-selector and no --decode-selector");
  }

  @Test
  void roleSelectorsAreRefusedWithoutDisaggregation() {
    assertThat(refused("--service-discovery --selector a=b --decode-selector c=d"))
        .singleElement()
        .asString()
        .startsWith(
            "--prefill-selector, --decode-selector: given without --vllm-pd-disaggregation");
  }
}
