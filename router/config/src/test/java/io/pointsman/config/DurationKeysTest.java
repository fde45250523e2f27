package io.pointsman.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.key.ConfigKeys;
import io.pointsman.config.key.ForwardKeys;
import io.pointsman.config.key.Key;
import io.pointsman.config.key.QueueKeys;
import io.pointsman.config.value.RawValue;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class DurationKeysTest {
  static List<Key<?>> durations() {
    return ConfigKeys.all().stream().filter(key -> key.defaultValue() instanceof Duration).toList();
  }

  static List<Key<?>> switches() {
    return durations().stream().filter(key -> key.type().expected().contains("off")).toList();
  }

  /** The value read for a key, or the error message. */
  private static String read(Key<?> key, String written) {
    try {
      return String.valueOf(key.type().read(new RawValue.Scalar(written, "test")));
    } catch (IllegalArgumentException e) {
      return String.valueOf(e.getMessage()).replaceFirst("^" + written + " ", "");
    }
  }

  @ParameterizedTest
  @MethodSource("durations")
  void zeroNeedsNoUnit(Key<?> key) {
    assertThat(read(key, "0")).isEqualTo(read(key, "0s")).isEqualTo(read(key, "0ms"));
  }

  @ParameterizedTest
  @MethodSource("switches")
  void zeroIsOff(Key<?> key) {
    assertThat(read(key, "0")).isEqualTo(read(key, "off")).isEqualTo("PT0S");
  }

  @ParameterizedTest
  @MethodSource("durations")
  void otherDurationsNeedAUnit(Key<?> key) {
    assertThat(read(key, "30")).contains("(expected: ");
  }

  @Test
  void zeroIsReadAndPrintedInAFile() {
    ConfigValues values =
        YamlConfig.parse(
            "router.yaml",
            "queue: {defer-beyond: 0}\nretry: {initial-backoff: 0}\ntimeouts: {idle: 0}\n");
    assertThat(values.get(QueueKeys.DEFER_BEYOND)).isZero();
    assertThat(values.get(ForwardKeys.RETRY_INITIAL_BACKOFF)).isZero();
    assertThat(values.get(ForwardKeys.IDLE_TIMEOUT)).isZero();
    assertThat(ConfigText.of(values)).contains("defer-beyond: 0\n").contains("idle: \"off\"\n");
  }

  @Test
  void aForbiddenZeroIsRefusedWithTheRange() {
    assertThatThrownBy(() -> YamlConfig.parse("router.yaml", "queue: {defer-at-most: 0}\n"))
        .hasMessage(
            "router.yaml:1: queue.defer-at-most: 0 (expected: a duration such as 250ms, 30s, 2m or"
                + " 1h, 1ms to 1h)");
  }
}
