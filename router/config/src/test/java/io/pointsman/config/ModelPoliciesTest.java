package io.pointsman.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import io.pointsman.config.PointsmanConfig.ModelRouting;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.value.ModelPolicy;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ModelPoliciesTest {
  private static PointsmanConfig config(String yaml) {
    return PointsmanConfig.from(YamlConfig.parse("router.yaml", yaml));
  }

  @Test
  void missingValuesOfAModelAreThoseForAllModels() {
    PointsmanConfig config =
        config(
            """
            policy: least_load
            cache: {threshold: 0.25}
            hash: {virtual-nodes: 7}
            model-policies:
              - {model: a, policy: cache_aware, hash.virtual-nodes: 9}
              - {model: b, hash: {virtual-nodes: 11}}
              - c=round_robin
            """);

    assertThat(config.models())
        .extracting(ModelRouting::model, ModelRouting::policy)
        .containsExactly(
            tuple("a", "cache_aware"), tuple("b", "least_load"), tuple("c", "round_robin"));
    assertThat(config.models())
        .extracting(each -> each.policies().virtualNodes())
        .containsExactly(9, 11, 7);
    assertThat(config.models())
        .allMatch(each -> each.policies().cacheAware().cacheThreshold() == 0.25);
    assertThat(config.policies().virtualNodes()).isEqualTo(7);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\0',
      value = {
        "[{policy: random}]|model: missing (expected: a model's name)",
        "[{model: a, policy: randon}]|policy: randon",
        "[{model: a, cache.treshold: 1}]|cache.treshold: unknown key (did you mean"
            + " cache.threshold?)",
        "[{model: a, cache.threshold: 7}]|cache.threshold: 7 (expected:",
        "[{model: a, workers: []}]|workers: unknown key",
        "[a]|a (expected: a group with model, policy",
        "[a=random, a=cost]|a (expected: each model once)"
      })
  void invalidValuesAreRefused(String written, String problem) {
    assertThatThrownBy(() -> config("model-policies: " + written))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining(problem);
  }

  @Test
  void modelPoliciesArePrintedAsRead() {
    List<ModelPolicy> policies =
        List.of(
            new ModelPolicy("a/b:c", Map.of("policy", "cost", "cost.price-floor", "0.5")),
            new ModelPolicy("d", Map.of()));
    String written = RoutingKeys.MODEL_POLICIES.type().format(policies);

    ConfigValues values = YamlConfig.parse("router.yaml", "model-policies: " + written);

    assertThat(values.get(RoutingKeys.MODEL_POLICIES)).isEqualTo(policies);
  }
}
