package io.pointsman.server.wiring;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import io.pointsman.engine.fleet.Role;
import java.util.List;
import org.junit.jupiter.api.Test;

class ConfiguredPoliciesTest {
  private static List<Boolean> asks(String yaml) {
    PointsmanConfig config = PointsmanConfig.from(YamlConfig.parse("router.yaml", yaml));
    return List.of(Role.REGULAR, Role.PREFILL, Role.DECODE).stream()
        .map(role -> ConfiguredPolicies.needKvCapacity(config, role))
        .toList();
  }

  @Test
  void workersAreQueriedForTheirMemoryWheneverCostIsUsed() {
    assertThat(asks("policy: least_load")).containsExactly(false, false, false);
    assertThat(asks("policy: cost")).containsExactly(true, true, true);
    assertThat(asks("policy: least_load\nmodel-policies: [m=cost]"))
        .as("a model's own")
        .containsExactly(true, true, true);
    assertThat(asks("policy: least_load\nshadow-policy: cache_aware"))
        .as("a shadow is measured by its model")
        .containsExactly(true, true, true);
    String split =
        "policy: least_load\ndisaggregation: {protocol: nixl, prefill-policy: cost,"
            + " decode-policy: least_load}";
    assertThat(asks(split)).as("a stage's").containsExactly(false, true, false);
  }
}
