package io.pointsman.server.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import io.pointsman.config.key.DisaggKeys;
import io.pointsman.config.key.ForwardKeys;
import io.pointsman.config.key.Key;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LiveKeysTest {
  private static final String NIXL = "disaggregation: {protocol: nixl}";

  private static boolean canChange(Key<?> key, String before, String next) {
    ConfigValues present = YamlConfig.parse("test", before);
    return LiveKeys.canChange(
        PointsmanConfig.from(present), present, key, YamlConfig.parse("test", next));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "disaggregation: {protocol: lmcache, notification-address: 'h:1'}",
        "disaggregation: {protocol: moriio, registration-address: 'h:1'}"
      })
  void aProtocolWithAnotherListenerNeedsARestart(String other) {
    assertThat(canChange(DisaggKeys.PROTOCOL, NIXL, other)).isFalse();
  }

  @Test
  void aProtocolWithTheSameListenersChanges() {
    assertThat(canChange(DisaggKeys.PROTOCOL, NIXL, "disaggregation: {protocol: mooncake}"))
        .isTrue();
  }

  @Test
  void aLiveKeyThatIsInvalidWithoutOthersChanges() {
    String next = "retry: {initial-backoff: 10ms, max-backoff: 50ms}";
    assertThat(canChange(ForwardKeys.RETRY_MAX_BACKOFF, "", next)).isTrue();
  }
}
