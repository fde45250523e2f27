package io.pointsman.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.key.DisaggKeys;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.ForwardKeys;
import io.pointsman.config.key.FrontKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.engine.fleet.WorkerSpec;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Merge keys of YAML, and references to environment variables. */
class MergeAndVariablesTest {
  private static final Map<String, String> ENVIRONMENT =
      Map.of("KEY", "sk-1", "PORT", "8123", "HOST", "10.0.0.1", "NESTED", "${KEY}", "EMPTY", "");

  private static ConfigValues parse(String yaml) {
    return YamlConfig.parse("router.yaml", yaml, ENVIRONMENT);
  }

  private static List<WorkerSpec> workers(String yaml) {
    return parse(yaml).get(RoutingKeys.WORKERS);
  }

  @Test
  void aMergedGroupGivesTheKeysThatAreNotWritten() {
    List<WorkerSpec> workers =
        workers(
            """
            workers:
              - &w {url: "http://a:1", max-in-flight: 64}
              - {url: "http://b:1", <<: *w}
              - {<<: *w, url: "http://c:1", max-in-flight: 8}
            """);
    assertThat(workers)
        .extracting(WorkerSpec::url)
        .containsExactly("http://a:1", "http://b:1", "http://c:1");
    assertThat(workers).extracting(WorkerSpec::maxInFlight).containsExactly(64, 64, 8);
  }

  @Test
  void ofSeveralMergedGroupsTheFirstWins() {
    List<WorkerSpec> workers =
        workers(
            """
            workers:
              - &a {url: "http://a:1", max-in-flight: 64}
              - &b {url: "http://b:1", max-in-flight: 8, zone: z}
              - {<<: [*a, *b], url: "http://c:1"}
              - {<<: {<<: *b, max-in-flight: 3}, url: "http://d:1"}
            """);
    assertThat(workers.get(2).maxInFlight()).isEqualTo(64);
    assertThat(workers.get(2).labels()).containsEntry("zone", "z");
    assertThat(workers.get(3).maxInFlight()).isEqualTo(3);
    assertThat(workers.get(3).labels()).containsEntry("zone", "z");
  }

  @Test
  void groupsOfKeysCanBeMerged() {
    ConfigValues values =
        parse("listen: &l {host: 127.0.0.2, port: 1}\nmetrics: {<<: *l, port: 2}\n");
    assertThat(values.get(FrontKeys.PORT)).isEqualTo(1);
    assertThat(PointsmanConfig.from(values).metrics().host()).isEqualTo("127.0.0.2");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "listen: {<<: 1}",
        "listen: {<<: }",
        "listen: {<<: [1]}",
        "listen: {<<: [[]]}",
        "listen: {'<<': {port: 1}}",
        "listen: {<<: {port: 1}, <<: {port: 2}}"
      })
  void anotherMergeIsRefusedWithItsLine(String yaml) {
    assertThatThrownBy(() -> parse(yaml))
        .isInstanceOf(ConfigException.class)
        .hasMessageStartingWith("router.yaml:1: ")
        .hasMessageContaining("<<");
  }

  @Test
  void aGroupThatContainsItselfIsRefused() {
    assertThatThrownBy(() -> parse("listen: &a {<<: *a}"))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("nested too deep");
  }

  @Test
  void manyAliasesAreReadAndALaughIsRefused() {
    StringBuilder many = new StringBuilder("workers:\n  - &w {url: 'http://a:1', zone: z}\n");
    for (int i = 0; i < 2_000; i++) {
      many.append("  - {<<: *w, url: 'http://b:").append(i + 1).append("'}\n");
    }
    assertThat(workers(many.toString())).hasSize(2_001);

    StringBuilder laugh = new StringBuilder("workers:\n  - &l0 [x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 7; i++) {
      laugh.append("  - &l").append(i).append(" [");
      laugh.append(("*l" + (i - 1) + ", ").repeat(20)).append("x]\n");
    }
    assertThatThrownBy(() -> parse(laugh.toString()))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("more than 500000 values");
  }

  @Test
  void variablesAreReplacedInEveryValue() {
    ConfigValues values =
        parse(
            """
            api-key: ${KEY}
            listen: {port: "${PORT}"}
            workers:
              - http://${HOST}:${PORT}/x
              - {url: 'http://b:1', labels: {a: "${EMPTY}-$HOME-$$-${KEY}$"}}
            """);
    assertThat(values.get(ForwardKeys.API_KEY)).isEqualTo("sk-1");
    assertThat(values.get(FrontKeys.PORT)).isEqualTo(8123);
    assertThat(values.get(RoutingKeys.WORKERS).getFirst().url())
        .isEqualTo("http://10.0.0.1:8123/x");
    assertThat(values.get(RoutingKeys.WORKERS).getLast().labels())
        .containsEntry("a", "-$HOME-$$-sk-1$");
  }

  @Test
  void anEscapedReferenceIsItsTextAndAValueIsNotSearchedAgain() {
    ConfigValues values =
        parse(
            "workers: [{url: 'http://a:1', labels: {a: '$${KEY}', b: '${NESTED}', c:"
                + " '$$${KEY}'}}]");
    Map<String, String> labels = values.get(RoutingKeys.WORKERS).getFirst().labels();
    assertThat(labels)
        .containsEntry("a", "${KEY}")
        .containsEntry("b", "${KEY}")
        .containsEntry("c", "$${KEY}");
    String printed = ConfigText.of(values);
    assertThat(YamlConfig.parse("printed", printed).get(RoutingKeys.WORKERS))
        .isEqualTo(values.get(RoutingKeys.WORKERS));
  }

  @Test
  void aVariableThatIsNotSetIsRefusedWithItsLine() {
    assertThatThrownBy(() -> parse("listen: {port: 1}\napi-key: a-${NONE}\n"))
        .hasMessage("router.yaml:2: ${NONE}: not set in the environment (expected: a value)");
  }

  @ParameterizedTest
  @ValueSource(strings = {"${", "a${}", "${1}", "${a-b}", "${A:-x}", "${ KEY}"})
  void anotherReferenceIsRefused(String text) {
    assertThatThrownBy(() -> parse("api-key: '" + text + "'"))
        .hasMessageContaining("router.yaml:1: ${ without a name (expected: ${NAME}");
  }

  @Test
  void aReferenceIsNeverAKey() {
    ConfigValues values = new ConfigValues().set(ForwardKeys.API_KEY, "${KEY}");
    assertThatThrownBy(() -> PointsmanConfig.from(values))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining("a reference to a variable");
  }

  @Test
  void aKeyCanComeFromAVariableOrAFile(@TempDir Path directory) throws Exception {
    Path file = Files.writeString(directory.resolve("key"), "  from-a-file\n");
    ConfigValues values =
        parse(
            "api-key: {env: KEY}\nhealth: {api-key: {file: '"
                + file
                + "'}}\ndisaggregation:\n  prefill-api-key:\n    file: "
                + file
                + "\n");
    assertThat(values.get(ForwardKeys.API_KEY)).isEqualTo(ENVIRONMENT.get("KEY"));
    assertThat(values.get(FleetKeys.HEALTH_API_KEY)).isEqualTo("from-a-file");
    assertThat(values.get(DisaggKeys.PREFILL_API_KEY)).isEqualTo("from-a-file");
    assertThat(values.exposedFlags()).isEmpty();
  }

  @Test
  void aSourceWithoutAKeyIsRefused(@TempDir Path directory) throws Exception {
    Path empty = Files.writeString(directory.resolve("empty"), "\n");
    Path reference = Files.writeString(directory.resolve("reference"), "${KEY}\n");
    assertThatThrownBy(() -> parse("api-key: {env: NONE}"))
        .hasMessage(
            "router.yaml:1: api-key: env: NONE: not set in the environment (expected: a value)");
    assertThatThrownBy(() -> parse("api-key: {file: /none/such}"))
        .hasMessageContaining("router.yaml:1: api-key: /none/such cannot be read");
    for (Path file : List.of(empty, reference)) {
      assertThatThrownBy(() -> parse("api-key: {file: '" + file + "'}"))
          .hasMessageContaining(": no secret (expected: 1 to 4096 characters");
    }
    for (String other : List.of("{vault: x}", "{env: KEY, file: x}", "{env: ''}", "{env: [KEY]}")) {
      assertThatThrownBy(() -> parse("api-key: " + other))
          .hasMessageContaining("(expected: a text, {env: NAME} or {file: PATH})");
    }
    assertThatThrownBy(() -> parse("policy: {env: KEY}")).isInstanceOf(ConfigException.class);
  }
}
