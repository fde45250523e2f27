package io.pointsman.compat.rayserve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.ConfigValues;
import io.pointsman.config.key.AdminKeys;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.ForwardKeys;
import io.pointsman.config.key.HeaderKeys;
import io.pointsman.config.key.RoutingKeys;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Environment variables that Ray reads; the file can set them too. */
class RayEnvironmentTest {
  private static final String APPLICATION =
      """
      applications:
      - import_path: ray.serve.llm:build_openai_app
        args:
          llm_configs:
          - model_loading_config: {model_id: m}
            workers: ["http://a:1"]
      """;

  private static ConfigValues translate(
      String further, Map<String, String> environment, ConfigValues flags) {
    return RayServeFile.translate(Path.of("serve.yaml"), APPLICATION + further, environment, flags)
        .values();
  }

  private static String variable(String name, String value) {
    return "  runtime_env: {env_vars: {%s: %s}}\n".formatted(name, value);
  }

  @Test
  void aClientKeyIsRefusedRatherThanAdmittingEveryClient() {
    Map<String, String> inherited = Map.of("VLLM_API_KEY", "secret");
    assertThatThrownBy(() -> translate("", inherited, new ConfigValues()))
        .hasMessageContaining("VLLM_API_KEY: is not supported")
        .hasMessageContaining("--auth-validation-urls")
        .hasMessageNotContaining("secret");
    assertThatThrownBy(
            () -> translate(variable("VLLM_API_KEY", "secret"), Map.of(), new ConfigValues()))
        .hasMessageContaining("runtime_env.env_vars.VLLM_API_KEY: is not supported");
  }

  @Test
  void aClientKeyIsAcceptedWithValidationServers() {
    ConfigValues flags =
        new ConfigValues().set(AdminKeys.VALIDATION_URLS, List.of("http://keys:1/check"));
    translate("", Map.of("VLLM_API_KEY", "secret"), flags);
    translate("", Map.of("VLLM_API_KEY", " "), new ConfigValues());
  }

  @Test
  void variablesInTheFileWinOverTheEnvironment() {
    Map<String, String> inherited =
        Map.of("RAY_SERVE_SESSION_ID_HEADER_KEY", "x-a", "RAY_SERVE_LLM_ROUTER_HTTP_TIMEOUT", "7");
    ConfigValues values =
        translate(
            variable("RAY_SERVE_SESSION_ID_HEADER_KEY", "x-b"), inherited, new ConfigValues());
    assertThat(values.get(HeaderKeys.SESSION_HEADER)).isEqualTo("x-b");
    assertThat(values.get(ForwardKeys.FIRST_BYTE_TIMEOUT)).isEqualTo(Duration.ofSeconds(7));
  }

  @Test
  void referencesInTheFileAreReplaced() {
    Map<String, String> inherited = Map.of("APP", "chat");
    ConfigValues values = translate("  name: ${APP}\n", inherited, new ConfigValues());
    assertThat(values.get(AdminKeys.RAY_APPLICATION)).isEqualTo("chat");
    assertThatThrownBy(() -> translate("  name: ${APP}\n", Map.of(), new ConfigValues()))
        .hasMessage("serve.yaml:7: ${APP}: not set in the environment (expected: a value)");
  }

  @Test
  void anUnsetReferenceInAVariableOfTheApplicationIsEmptyAsForRay() {
    ConfigValues values =
        translate(
            variable("RAY_SERVE_SESSION_ID_HEADER_KEY", "'${NONE}x-a'"),
            Map.of(),
            new ConfigValues());
    assertThat(values.get(HeaderKeys.SESSION_HEADER)).isEqualTo("x-a");
  }

  @Test
  void mergeKeysAreRead() {
    String models =
        """
        applications:
        - import_path: ray.serve.llm:build_openai_app
          args:
            llm_configs:
            - model_loading_config: {model_id: a}
              deployment_config: &dep {max_ongoing_requests: 64, health_check_period_s: 3}
              workers: ["http://a:1"]
            - model_loading_config: {model_id: b}
              deployment_config:
                <<: *dep
                max_ongoing_requests: 8
              workers: ["http://b:1"]
        """;
    ConfigValues values =
        RayServeFile.translate(Path.of("serve.yaml"), models, Map.of(), new ConfigValues())
            .values();
    assertThat(values.get(FleetKeys.HEALTH_INTERVAL)).isEqualTo(Duration.ofSeconds(3));
    assertThat(values.get(RoutingKeys.WORKERS)).hasSize(2);
  }

  @Test
  void engineControlPathsAreNotForwarded() {
    assertThat(translate("", Map.of(), new ConfigValues()).get(AdminKeys.REFUSED_PATHS))
        .contains("/sleep", "/pause", "/collective_rpc", "/v1/unload_lora_adapter")
        .doesNotContain("/v1/models");
  }
}
