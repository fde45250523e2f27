package io.pointsman.compat.rayserve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.proxy.admission.AdmissionSettings;
import io.pointsman.proxy.admission.ModelLimit;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** {@code max_queued_requests} of several models. */
class RayQueuesTest {
  private static final String HEAD =
      """
      applications:
      - import_path: ray.serve.llm:build_openai_app
        args:
          llm_configs:
      """;
  private static final String TWO_OF_EIGHT = "max_ongoing_requests: 8, ";

  /** A model with two workers. */
  private static String model(String name, String deployment) {
    return """
        - model_loading_config: {model_id: %1$s}
          workers: ["http://%1$s:1", "http://%1$s:2"]
          deployment_config: {%2$s}
    """
        .formatted(name, deployment);
  }

  private static RayServeFile.Translated translate(String... models) {
    return RayServeFile.translate(
        Path.of("serve.yaml"), HEAD + String.join("", models), Map.of(), new ConfigValues());
  }

  private static AdmissionSettings lines(String... models) {
    return PointsmanConfig.from(translate(models).values()).proxy().admission();
  }

  @Test
  void eachModelHasItsOwnQueue() {
    AdmissionSettings lines =
        lines(
            model("m", TWO_OF_EIGHT + "max_queued_requests: 3"),
            model(
                "n",
                "max_ongoing_requests: 1, max_queued_requests: 0,"
                    + " backpressure_config: {status_code: 429}"));

    assertThat(lines.models())
        .containsExactly(new ModelLimit("m", 16, 3, 503), new ModelLimit("n", 2, 0, 429));
    assertThat(lines.maxConcurrentRequests()).isZero();
    assertThat(lines.answersTooMany("m")).isFalse();
    assertThat(lines.answersTooMany("n")).isTrue();
    assertThat(lines.answersTooMany("n:adapter")).isTrue();
    assertThat(lines.answersTooMany("nn:adapter")).isFalse();
    assertThat(lines.answersTooMany(null)).isFalse();
  }

  @Test
  void aModelWithoutALimitHasNoQueue() {
    AdmissionSettings lines =
        lines(model("m", TWO_OF_EIGHT + "max_queued_requests: 3"), model("n", ""));

    assertThat(lines.models()).containsExactly(new ModelLimit("m", 16, 3, 503));
  }

  @Test
  void aQueueWithoutALimitIsReportedWithoutEffect() {
    RayServeFile.Translated translated =
        translate(
            model("m", TWO_OF_EIGHT + "max_queued_requests: 3"),
            model("n", "max_queued_requests: 3"));

    assertThat(String.join("\n", translated.notes()))
        .contains(
            "llm_configs[1].deployment_config.max_queued_requests: no effect here: requests wait"
                + " only if all workers of the model are listed");
  }

  @Test
  void unboundedIsAMillion() {
    assertThat(lines(model("m", TWO_OF_EIGHT), model("n", "")).models())
        .containsExactly(new ModelLimit("m", 16, 1_000_000, 503));
  }

  @Test
  void aSingleModelUsesTheCommonQueue() {
    AdmissionSettings lines = lines(model("m", TWO_OF_EIGHT + "max_queued_requests: 3"));

    assertThat(lines.models()).isEmpty();
    assertThat(lines.maxConcurrentRequests()).isEqualTo(16);
    assertThat(lines.queueSize()).isEqualTo(3);
  }

  @Test
  void anInvalidQueueOfALaterModelIsAnError() {
    assertThatThrownBy(
            () ->
                translate(
                    model("m", ""),
                    model("n", "max_queued_requests: -2, backpressure_config: {status_code: 500}")))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("max_queued_requests: -2 (expected: a number from -1 to 1000000)")
        .hasMessageContaining("status_code: 500 (expected: 503 or 429)");
  }
}
