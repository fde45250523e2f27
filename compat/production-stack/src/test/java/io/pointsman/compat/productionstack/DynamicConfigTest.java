package io.pointsman.compat.productionstack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.groups.Tuple.tuple;

import io.pointsman.compat.vllmrouter.Launch;
import io.pointsman.config.ConfigException;
import io.pointsman.config.key.HeaderKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.engine.fleet.WorkerSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DynamicConfigTest {
  @TempDir Path directory;

  private Launch launch(String text, String... args) throws IOException {
    Path file = Files.writeString(directory.resolve("dynamic.yaml"), text);
    List<String> all = new ArrayList<>(List.of("--dynamic-config-yaml", file.toString()));
    all.addAll(List.of(args));
    return ProductionStackLauncher.launch(all, Map.of());
  }

  private List<String> refused(String text, String... args) {
    return assertThatExceptionOfType(ConfigException.class)
        .isThrownBy(() -> launch(text, args))
        .actual()
        .problems();
  }

  private static final String FLAT =
      """
      service_discovery: static
      routing_logic: session
      session_key: x-user
      static_backends: http://a:1,http://b:2
      static_models: m,n
      static_aliases: gpt-4:m
      """;

  @Test
  void valuesOfTheFileMayBeVariables() throws IOException {
    Path file =
        Files.writeString(
            directory.resolve("variables.yaml"),
            """
            service_discovery: static
            routing_logic: ${LOGIC}
            static_models:
              m: {static_backends: ['http://${HOST}:1']}
            """);
    List<String> args = List.of("--dynamic-config-yaml", file.toString());

    Launch launch =
        ProductionStackLauncher.launch(args, Map.of("LOGIC", "roundrobin", "HOST", "a"));
    assertThat(launch.values().get(RoutingKeys.WORKERS))
        .extracting(WorkerSpec::url)
        .containsExactly("http://a:1");
    assertThat(launch.values().get(RoutingKeys.POLICY)).isEqualTo("round_robin");

    assertThatExceptionOfType(ConfigException.class)
        .isThrownBy(() -> ProductionStackLauncher.launch(args, Map.of("LOGIC", "roundrobin")))
        .withMessageContaining("${HOST}: not set in the environment");
  }

  @Test
  void keysOfTheFileAreFlags() throws IOException {
    Launch launch = launch(FLAT);
    assertThat(launch.values().get(RoutingKeys.WORKERS))
        .extracting(WorkerSpec::url, WorkerSpec::models)
        .containsExactly(tuple("http://a:1", Set.of("m")), tuple("http://b:2", Set.of("n")));
    assertThat(launch.values().get(RoutingKeys.POLICY)).isEqualTo("md5_ring");
    assertThat(launch.values().get(HeaderKeys.SESSION_HEADER)).isEqualTo("x-user");
    assertThat(launch.values().get(RoutingKeys.MODEL_ALIASES)).isEqualTo(Map.of("gpt-4", "m"));
    assertThat(launch.file()).isEqualTo(directory.resolve("dynamic.yaml"));
  }

  @Test
  void flagsOfTheCommandLineWin() throws IOException {
    Launch launch = launch(FLAT, "--static-models", "x,y", "--routing-logic", "roundrobin");
    assertThat(launch.values().get(RoutingKeys.POLICY)).isEqualTo("round_robin");
    assertThat(launch.shown())
        .containsEntry("static_models", "x,y")
        .containsEntry("static_aliases", "gpt-4:m")
        .containsEntry("static_backend_health_checks", "false")
        .containsEntry("k8s_port", "8000");
  }

  @Test
  void modelsAndAliasesMayBeGroups() throws IOException {
    Launch launch =
        launch(
            """
            service_discovery: static
            routing_logic: roundrobin
            static_models:
              facebook/opt-125m:
                static_backends: [http://localhost:9001, http://localhost:9003]
                static_model_type: completion
              other:
                static_backends:
                  - http://localhost:9002
                static_model_type: chat
            static_aliases:
              my-alias: facebook/opt-125m
            """);
    assertThat(launch.values().get(RoutingKeys.WORKERS))
        .extracting(WorkerSpec::url, WorkerSpec::models)
        .containsExactly(
            tuple("http://localhost:9001", Set.of("facebook/opt-125m")),
            tuple("http://localhost:9003", Set.of("facebook/opt-125m")),
            tuple("http://localhost:9002", Set.of("other")));
    assertThat(launch.values().get(RoutingKeys.MODEL_ALIASES))
        .isEqualTo(Map.of("my-alias", "facebook/opt-125m"));
    assertThat(launch.shown()).containsEntry("static_model_types", "completion,completion,chat");
  }

  @Test
  void jsonIsReadToo() throws IOException {
    Path file =
        Files.writeString(
            directory.resolve("dynamic.json"),
            "{\"service_discovery\": \"static\", \"routing_logic\": \"roundrobin\","
                + " \"static_backends\": \"http://a:1\", \"static_models\": \"m\","
                + " \"static_backend_health_checks\": false, \"callbacks\": null}");
    Launch launch =
        ProductionStackLauncher.launch(List.of("--dynamic-config-json=" + file), Map.of());
    assertThat(launch.values().get(RoutingKeys.WORKERS)).hasSize(1);
  }

  @Test
  void aBrokenFileIsRefusedWithItsLine() {
    assertThat(refused(FLAT + "static_modells: x\n"))
        .singleElement()
        .asString()
        .contains("dynamic.yaml:7: static_modells: unknown key (did you mean static_models?)");
    assertThat(refused("a: [b\n")).singleElement().asString().contains("not YAML");
    assertThat(refused("static_models: {m: {backends: x}}\n"))
        .singleElement()
        .asString()
        .contains("m: no static_backends");
    assertThat(refused(FLAT + "static_backend_health_checks: often\n"))
        .singleElement()
        .asString()
        .contains("often (expected: true or false)");
    assertThat(refused("")).singleElement().asString().contains("no keys");
  }

  @Test
  void aFileThatIsMissingIsRefused() {
    assertThatExceptionOfType(ConfigException.class)
        .isThrownBy(
            () ->
                ProductionStackLauncher.launch(
                    List.of("--dynamic-config-yaml", directory.resolve("none").toString()),
                    Map.of()))
        .withMessageContaining("no such file");
  }

  @Test
  void withoutAFileNothingIsShown() {
    Launch launch =
        ProductionStackLauncher.launch(
            List.of(
                "--service-discovery=static",
                "--routing-logic=roundrobin",
                "--static-backends=http://a:1",
                "--static-models=m"),
            Map.of());
    assertThat(launch.file()).isNull();
    assertThat(launch.shown()).isEmpty();
  }
}
