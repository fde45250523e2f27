package io.pointsman.compat.productionstack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.pointsman.compat.vllmrouter.Launch;
import io.pointsman.config.ConfigException;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.upstream.EngineKeys;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ExternalProvidersTest {
  private static final String GOOD =
      """
      external_providers:
        - name: openai
          type: openai
          api_base: https://api.example/
          timeout: 30.0
          models:
            - id: gpt-4o
              type: chat
              aliases: [gpt4o, four]
        - {name: other, type: openai, api_base: "http://other:1/v1", api_key_env_var: OTHER, models: [{id: m2}]}
      """;
  private static final String LOCAL =
      "--service-discovery static --static-backends http://e:1 --static-models m1"
          + " --static-aliases one:m1 ";
  private static final Map<String, String> KEYS =
      Map.of("OPENAI_API_KEY", "k1", "OTHER", "k2", "VLLM_API_KEY", "own");

  @TempDir Path directory;

  private Launch launch(String text, String flags) throws IOException {
    Path file = Files.writeString(directory.resolve("providers.yaml"), text);
    List<String> args = new ArrayList<>(List.of(flags.split(" +", -1)));
    args.removeIf(String::isEmpty);
    if (!flags.contains("--routing-logic")) {
      args.addAll(List.of("--routing-logic", "roundrobin"));
    }
    args.addAll(List.of("--external-providers-config", file.toString()));
    return ProductionStackLauncher.launch(args, KEYS);
  }

  private List<String> problems(String text, String flags) {
    return assertThatExceptionOfType(ConfigException.class)
        .isThrownBy(() -> launch(text, flags))
        .actual()
        .problems();
  }

  @Test
  void aProviderIsAWorkerWithItsKeyModelsAndAliases() throws IOException {
    Launch launch = launch(GOOD, LOCAL);
    PointsmanConfig config = PointsmanConfig.from(launch.values());

    assertThat(config.workers())
        .extracting(WorkerSpec::url)
        .containsExactly("http://e:1", "https://api.example", "http://other:1/v1");
    assertThat(config.workers().get(1).models()).containsExactly("gpt-4o");
    assertThat(config.access().allowedPaths()).containsExactly("api");
    assertThat(launch.values().get(RoutingKeys.MODEL_ALIASES))
        .containsEntry("one", "m1")
        .containsEntry("gpt4o", "gpt-4o")
        .containsEntry("four", "gpt-4o");
    for (EngineKeys keys : List.of(config.proxy().upstream().keys(), config.controlKeys())) {
      assertThat(keys.of(config.workers().get(1))).isEqualTo("k1");
      assertThat(keys.of(config.workers().get(2))).isEqualTo("k2");
      assertThat(keys.dropsClients(config.workers().get(1))).isTrue();
      assertThat(keys.dropsClients(config.workers().get(0))).isFalse();
    }
    assertThat(config.proxy().upstream().keys().of(config.workers().get(0))).isNull();
    assertThat(config.controlKeys().of(config.workers().get(0))).isEqualTo("own");
    assertThat(launch.notes()).anyMatch(note -> note.contains("openai: timeout has no effect"));
  }

  @Test
  void providersAloneAreEnough() throws IOException {
    for (String flags : List.of("", "--service-discovery external-only")) {
      PointsmanConfig config = PointsmanConfig.from(launch(GOOD, flags).values());
      assertThat(config.workers()).hasSize(2);
      assertThat(config.probes().good(404)).isTrue();
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "type: openai|type: bedrock|type: bedrock (expected: openai)",
        "api_base: https://api.example/|api_base: ftp://x|api_base: ftp://x",
        "name: openai|nam: openai|nam: unknown key",
        "id: gpt-4o|id: m2|m2: of openai and other",
        "id: gpt-4o|id: m1|m1: of --static-models and openai",
        "timeout: 30.0|custom_headers: {x-a: b}|custom_headers: not supported",
        "timeout: 30.0|api_key_env_var: NONE|NONE is not set",
        "[gpt4o, four]|[one]|one: an alias of m1 and gpt-4o",
        "external_providers|providers|no external_providers"
      })
  void aWrongFileIsRefused(String from, String to, String problem) {
    assertThat(problems(GOOD.replace(from, to), LOCAL)).anyMatch(each -> each.contains(problem));
  }

  @Test
  void splitLogicsHaveNoProviders() {
    assertThat(
            problems(
                GOOD,
                "--service-discovery static --static-backends http://p:1,http://d:1"
                    + " --static-models m1,m1 --static-model-labels pre,dec"
                    + " --prefill-model-labels pre --decode-model-labels dec"
                    + " --routing-logic disaggregated_prefill"))
        .anyMatch(each -> each.contains("providers do not split requests"));
  }
}
