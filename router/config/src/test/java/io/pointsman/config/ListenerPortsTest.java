package io.pointsman.config;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Listeners that would have the same port. */
class ListenerPortsTest {
  private static PointsmanConfig config(String yaml) {
    return PointsmanConfig.from(YamlConfig.parse("test", yaml));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{listen: {port: 80}, admin: {port: 80}}"
            + "|admin.port: 80 is listen.port too (expected: another port)",
        "{listen: {port: 80}, metrics: {port: 80}}"
            + "|metrics.port: 80 is listen.port too (expected: another port)",
        "{admin: {port: 80}, metrics: {port: 80, host: 0.0.0.0}}"
            + "|metrics.port: 80 is admin.port too (expected: another port)",
        "{listen: {port: 80, host: localhost}, metrics: {port: 80, host: 127.0.0.1}}"
            + "|metrics.port: 80 is listen.port too (expected: another port)",
        "{listen: {port: 80, host: \"::\"}, admin: {port: 80}}"
            + "|admin.port: 80 is listen.port too (expected: another port)"
      })
  void theSamePortTwiceIsRefused(String yaml, String problem) {
    assertThatThrownBy(() -> config(yaml)).isInstanceOf(ConfigException.class).hasMessage(problem);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "listen: {port: 0}\nadmin: {port: 0}\nmetrics: {port: 0}",
        "listen: {port: 80, host: 127.0.0.2}\nmetrics: {port: 80, host: 127.0.0.1}",
        "listen: {port: 80}\nmetrics: {port: 80, enabled: false}",
        "listen: {port: 80}\nadmin: {port: 81}\nmetrics: {port: 82}"
      })
  void otherPortsAddressesAndClosedListenersArePossible(String yaml) {
    assertThatCode(() -> config(yaml)).doesNotThrowAnyException();
  }

  /** Without a port of its own the admin listener takes any free one. */
  @ParameterizedTest
  @ValueSource(ints = 29_001)
  void theStandardPortOfTheAdminListenerGivesWay(int port) {
    assertThatCode(() -> config("listen: {port: " + port + "}")).doesNotThrowAnyException();
  }
}
