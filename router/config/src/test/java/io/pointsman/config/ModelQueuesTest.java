package io.pointsman.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.key.QueueKeys;
import io.pointsman.config.value.ModelQueue;
import io.pointsman.proxy.admission.ModelLimit;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code limits.models}. */
class ModelQueuesTest {
  private static PointsmanConfig config(String yaml) {
    return PointsmanConfig.from(YamlConfig.parse("router.yaml", yaml));
  }

  @Test
  void missingValuesOfAModelAreThoseForAllModels() {
    PointsmanConfig config =
        config(
            """
            limits:
              queue-size: 7
              queue-full-status: 503
              models:
                - {model: a/b, max-concurrent-requests: 5}
                - {model: b, max-concurrent-requests: 6, queue-size: 0, queue-full-status: 429}
                - c=8
            """);

    assertThat(config.proxy().admission().models())
        .containsExactly(
            new ModelLimit("a/b", 5, 7, 503),
            new ModelLimit("b", 6, 0, 429),
            new ModelLimit("c", 8, 7, 503));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\0',
      value = {
        "[{max-concurrent-requests: 1}]|model: missing (expected: a model's name)",
        "[{model: a}]|max-concurrent-requests: missing (expected: a whole number, 1 to",
        "[{model: a, max-concurrent-requests: 0}]|max-concurrent-requests: 0 (expected:",
        "[{model: a, max-concurrent-requests: 1, queue-size: -1}]|queue-size: -1 (expected:",
        "[{model: a, queue-sizes: 1}]|queue-sizes: unknown key (did you mean queue-size?)",
        "[a]|a (expected: a group with model, max-concurrent-requests",
        "[a=x]|max-concurrent-requests: x (expected:",
        "[a=1, a=2]|models: one appears twice (expected: each model once)"
      })
  void invalidValuesAreRefused(String written, String problem) {
    assertThatThrownBy(() -> config("limits: {models: " + written + "}"))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining(problem);
  }

  @Test
  void modelQueuesArePrintedAsRead() {
    List<ModelQueue> queues =
        List.of(new ModelQueue("a/b:c", 1, 0, 503), new ModelQueue("d", 9, null, null));
    String written = QueueKeys.MODEL_QUEUES.type().format(queues);

    ConfigValues values = YamlConfig.parse("router.yaml", "limits: {models: " + written + "}");

    assertThat(values.get(QueueKeys.MODEL_QUEUES)).isEqualTo(queues);
  }
}
