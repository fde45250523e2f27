package io.pointsman.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.pointsman.config.value.Resolve;
import java.util.List;
import org.junit.jupiter.api.Test;

class ResolveTest {
  private static List<String> expanded(String yaml) {
    return PointsmanConfig.from(YamlConfig.parse("test", yaml)).workers().stream()
        .filter(worker -> "all".equals(worker.labels().get(Resolve.LABEL)))
        .map(worker -> worker.id())
        .toList();
  }

  @Test
  void onlyWorkersThatAskForItStandForSeveral() {
    String yaml =
        "workers: ['http://a:1', {url: 'http://b:1', resolve: all}, {url: 'http://c:1', resolve:"
            + " one}]\n";
    assertThat(expanded(yaml)).containsExactly("b:1");
    assertThat(expanded(yaml + "pool: {resolve: one}\n")).containsExactly("b:1");
    assertThat(expanded(yaml + "pool: {resolve: all}\n")).containsExactly("a:1", "b:1");
  }

  /** Keys are found by URLs, and each address has another URL. */
  @Test
  void aWorkerWithAKeyOfItsOwnIsOne() {
    String keys = "api-key: k0\nworker-api-keys: {'http://b:1': k1}\n";
    assertThat(expanded(keys + "workers: ['http://a:1', 'http://b:1']\npool: {resolve: all}\n"))
        .containsExactly("a:1");
    assertThatExceptionOfType(ConfigException.class)
        .isThrownBy(() -> expanded(keys + "workers: [{url: 'http://b:1', resolve: all}]\n"))
        .withMessageContaining("worker-api-keys");
  }

  @Test
  void addressesAndEncryptedWorkersAreOne() {
    assertThat(
            expanded(
                """
                workers: ['http://10.0.0.1:1', 'http://[::1]:1', 'https://e:1', 'http://n:1']
                pool: {resolve: all}
                """))
        .containsExactly("n:1");
    assertThatExceptionOfType(ConfigException.class)
        .isThrownBy(() -> expanded("workers: [{url: 'https://e:1', resolve: all}]\n"))
        .withMessageContaining("resolve: all (expected: one");
    assertThatExceptionOfType(ConfigException.class)
        .isThrownBy(() -> expanded("workers: [{url: 'http://e:1', resolve: both}]\n"))
        .withMessageContaining("resolve: both");
  }
}
