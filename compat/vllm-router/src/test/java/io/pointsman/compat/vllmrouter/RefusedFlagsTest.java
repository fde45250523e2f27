package io.pointsman.compat.vllmrouter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigValues;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class RefusedFlagsTest {
  private static ConfigValues translated(String line) {
    return VllmRouterLauncher.translate(List.of(line.split(" ", -1)), Map.of());
  }

  private static List<String> refused(String line) {
    return assertThatExceptionOfType(ConfigException.class)
        .isThrownBy(() -> translated(line))
        .actual()
        .problems();
  }

  @Test
  void anAmbiguousPrefixIsRefusedWithItsMeanings() {
    assertThat(refused("--retry 3"))
        .first()
        .asString()
        .startsWith("--retry: ambiguous (expected: one of --retry-backoff-multiplier, ");
  }

  @Test
  void hostAndPortTakeNoPrefix() {
    assertThat(refused("--router-port 1"))
        .singleElement()
        .asString()
        .startsWith("--router-port: unknown flag");
  }

  @Test
  void aMisspeltFlagIsRefusedWithTheNearestName() {
    assertThat(refused("--polcy random"))
        .containsExactly("--polcy: unknown flag (did you mean --policy?)");
  }

  @Test
  void allProblemsAreReportedTogether() {
    assertThat(refused("--port x --cache-threshold 2 --worker-urls ftp://a"))
        .hasSize(3)
        .anyMatch(p -> p.startsWith("--port: x (expected: "))
        .anyMatch(p -> p.startsWith("--cache-threshold: 2 (expected: "))
        .anyMatch(p -> p.startsWith("--worker-urls: ftp://a (expected: "));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--queue-timeout-secs 0",
        "--worker-startup-timeout-secs 0",
        "--retry-max-retries 0",
        "--balance-rel-threshold 0.5",
        "--port 70000",
        "--log-level loud",
        "--backend sglang",
        "--backend openai",
        "--backend openai --worker-urls http://a http://b",
        "--backend openai --worker-urls http://a --intra-node-data-parallel-size 2",
        "--policy",
        "--disable-retries=yes",
        "stray",
        "--max-tree-size 0",
        "--pool-idle-timeout-secs -1"
      })
  void aWrongValueIsRefused(String line) {
    assertThat(refused(line)).hasSize(1);
  }

  static Stream<Flag> later() {
    return VllmRouterLauncher.FLAGS.flags().stream()
        .filter(f -> f.effect() instanceof Effect.Later);
  }

  @ParameterizedTest
  @MethodSource("later")
  void unsupportedFeaturesAreRefusedByName(Flag flag) {
    String line = flag.shape() == Flag.Shape.SWITCH ? flag.name() : flag.name() + " 7";
    assertThat(refused(line))
        .singleElement()
        .asString()
        .startsWith(flag.name() + ": is not supported yet: ");
  }

  static Stream<Flag> withDefault() {
    return later().filter(flag -> !flag.standard().isEmpty());
  }

  @ParameterizedTest
  @MethodSource("withDefault")
  void unsupportedFeaturesAreAcceptedAtTheirDefault(Flag flag) {
    assertThat(translated(flag.name() + " " + flag.standard())).isNotNull();
  }

  @Test
  void numbersThatEqualTheDefaultAreTheDefault() {
    Flag size = Flag.flag("--size", "a size").standard("16").later("sizes");
    FlagTable table = new FlagTable(true, "In", List.of(List.of(size)));
    Translation same = new Translation();
    table.apply(List.of("--size", "16.0"), same);
    assertThat(same.problems()).isEmpty();
    Translation other = new Translation();
    table.apply(List.of("--size", "32"), other);
    assertThat(other.problems()).containsExactly("--size: is not supported yet: sizes");
  }

  @Test
  void anUnknownPolicyIsRefused() {
    assertThat(refused("--policy cash_aware")).singleElement().asString().contains("cache_aware");
  }

  @Test
  void enginesBehindGrpcAreRefused() {
    assertThat(refused("--worker-urls grpc://a:1"))
        .containsExactly("--worker-urls: grpc://a:1 is not supported yet: engines behind gRPC");
  }
}
