package io.pointsman.compat.rayserve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.type;

import io.pointsman.compat.rayserve.RayServeFile.Translated;
import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.settings.KvEventSettings.Mode;
import io.pointsman.engine.policy.kv.KvAwareSettings;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Ray's {@code KVAwareRouter}: engines, weights and arguments. */
class RayKvAwareTest {
  private static final String ROUTER =
      "request_router_config: {request_router_class: ray.serve.llm.request_router.KVAwareRouter%s}";

  private static final String HEAD =
      """
      applications:
      - import_path: ray.serve.llm:build_openai_app
        args:
          llm_configs:
      """;

  /**
   * A model with {@code deployment} in its {@code deployment_config}, and {@code more} beside it.
   */
  private static String model(String name, String deployment, String more) {
    return """
        - model_loading_config: {model_id: %1$s}
          workers: ["http://%1$s:1", {url: "http://%1$s:2", labels: {kv-events: "tcp://e:5557"}}]
          deployment_config: {%2$s}
    """
            .formatted(name, deployment)
        + (more.isEmpty() ? "" : "      " + more + "\n");
  }

  private static String kvAware(String more) {
    return HEAD + model("m", ROUTER.formatted(""), more);
  }

  private static Translated translate(String yaml) {
    return RayServeFile.translate(Path.of("serve.yaml"), yaml, Map.of(), new ConfigValues());
  }

  private static PointsmanConfig config(String yaml) {
    return PointsmanConfig.from(translate(yaml).values());
  }

  private static void refused(String yaml, String... problems) {
    assertThatThrownBy(() -> translate(yaml))
        .asInstanceOf(type(ConfigException.class))
        .satisfies(e -> assertThat(String.join("\n", e.problems())).contains(problems));
  }

  @Test
  void enginesWithoutALabelAreQueriedForTheirPublishers() {
    PointsmanConfig config = config(kvAware(""));

    assertThat(config.policy()).isEqualTo("kv_aware");
    assertThat(config.policies().kvAware()).isEqualTo(KvAwareSettings.DEFAULTS);
    assertThat(config.kvEvents().mode()).isEqualTo(Mode.AUTO);
    assertThat(config.workers().get(1).labels()).containsEntry("kv-events", "tcp://e:5557");
  }

  @Test
  void otherRoutersDoNotSubscribe() {
    assertThat(config(HEAD + model("m", "", "")).kvEvents().mode()).isEqualTo(Mode.OFF);
  }

  @Test
  void aLaterModelAloneCanUseIt() {
    PointsmanConfig config =
        config(HEAD + model("m", "", "") + model("n", ROUTER.formatted(""), ""));

    assertThat(config.policy()).isEqualTo("power_of_two");
    assertThat(config.models()).extracting(model -> model.policy()).isEqualTo(List.of("kv_aware"));
    assertThat(config.kvEvents().mode()).isEqualTo(Mode.AUTO);
  }

  @Test
  void itTakesNoArgumentsAsInRay() {
    String kwargs = ROUTER.formatted(", request_router_kwargs: {%s}");

    assertThat(config(HEAD + model("m", kwargs.formatted(""), "")).policy()).isEqualTo("kv_aware");
    refused(
        HEAD + model("m", kwargs.formatted("indexer_threads: 4"), ""),
        "request_router_kwargs.indexer_threads: unknown key");
    refused(
        HEAD + model("m", "", "") + model("n", kwargs.formatted("overlap_score_credit: 2"), ""),
        "request_router_kwargs.overlap_score_credit: unknown key");
  }

  @Test
  void engineAndClusterSettingsAreReportedWithoutEffect() {
    String yaml =
        kvAware(
            "experimental_configs: {KV_INDEXER_THREADS: 8, KV_EVENTS_PORT_BASE: 6000}\n"
                + "      engine_kwargs: {kv_events_config: {publisher: zmq}}");

    assertThat(String.join("\n", translate(yaml).notes()))
        .contains("experimental_configs: no effect here", "engine_kwargs: no effect here");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "DYN_ROUTER_PREFILL_LOAD_SCALE: \"2.0\"|2.0 is not supported|(expected: 1.0 or unset)",
        "DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT: 0.0|0.0 is not supported|(expected: 1.0 or unset)",
        "DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT_DECAY: x|x is not supported|(expected: 0.0 or",
        "DYN_ROUTER_DECODE_ACTIVE_REQUEST_WEIGHT: 1|1 is not supported|(expected: 0.0 or unset)",
        "DYN_ROUTER_TEMPERATURE: 0.5|0.5 is not supported|(expected: unset)"
      })
  void otherWeightsThanRaysOwnAreErrors(String variable, String problem, String expected) {
    String name = variable.substring(0, variable.indexOf(':'));

    refused(
        kvAware("runtime_env: {env_vars: {" + variable + "}}"),
        "runtime_env.env_vars." + name + ": " + problem,
        expected);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "DYN_ROUTER_PREFILL_LOAD_SCALE: \"1.0\"",
        "DYN_ROUTER_KV_OVERLAP_SCORE_CREDIT: 1",
        "DYN_ROUTER_DECODE_ACTIVE_REQUEST_WEIGHT: 0",
        "HF_TOKEN: secret"
      })
  void raysOwnWeightsAndOtherVariablesAreFine(String variable) {
    assertThat(config(kvAware("runtime_env: {env_vars: {" + variable + "}}")).policy())
        .isEqualTo("kv_aware");
  }

  @Test
  void weightsMatterOnlyToThatRouter() {
    String weights = "runtime_env: {env_vars: {DYN_ROUTER_PREFILL_LOAD_SCALE: 2}}";

    assertThat(config(HEAD + model("m", "", weights)).policy()).isEqualTo("power_of_two");
  }
}
