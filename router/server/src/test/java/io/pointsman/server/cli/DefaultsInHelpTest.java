package io.pointsman.server.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.compat.productionstack.ProductionStackLauncher;
import io.pointsman.compat.rayserve.RayServeFile;
import io.pointsman.compat.vllmrouter.VllmRouterLauncher;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.key.ConfigKeys;
import io.pointsman.config.key.Key;
import io.pointsman.config.key.RoutingKeys;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine.Model.CommandSpec;

/** The defaults in the help of each launcher are the ones that it applies. */
class DefaultsInHelpTest {
  private static final List<String> STACK =
      List.of(
          "--service-discovery=static",
          "--static-backends=http://a:1",
          "--static-models=m",
          "--routing-logic=roundrobin");

  private static <T> String format(Key<T> key, ConfigValues values) {
    return key.type().format(values.get(key)).replace("\"", "");
  }

  @Test
  void raysAreThoseOfAFileWithoutSettings(@TempDir Path directory) throws IOException {
    Path file =
        Files.writeString(
            directory.resolve("serve.yaml"),
            """
            applications:
            - import_path: ray.serve.llm:build_openai_app
              args:
                llm_configs:
                - model_loading_config: {model_id: m}
                  workers: ["http://a:1"]
            """);
    ConfigValues applied = RayServeFile.read(file, Map.of(), new ConfigValues()).values();
    CommandSpec command = RayServeCommand.commandLine().getCommandSpec();
    for (Key<?> key : ConfigKeys.all()) {
      String value = format(key, applied);
      String shown = String.join(" ", command.findOption(key.flag()).description());
      if (!key.equals(RoutingKeys.WORKERS) && !value.isEmpty() && !value.equals("[]")) {
        assertThat(shown).endsWith(" Default: " + value.replace("%", "%%") + ".");
      }
    }
    assertThat(command.findOption("--host").description()[0]).endsWith(" Default: 0.0.0.0.");
    assertThat(command.findOption("--port").description()[0]).endsWith(" Default: 8000.");
  }

  /** The flags at the end of a help, each with its value. */
  private static List<String> shownFlags(String help) {
    List<String> flags = new ArrayList<>();
    String own = help.substring(help.indexOf("Their defaults are those of 'serve', except:"));
    own.lines()
        .filter(line -> line.startsWith("  --"))
        .map(String::strip)
        .forEach(line -> flags.addAll(List.of(line.split(" ", 2))));
    return flags;
  }

  private static void compare(
      String help, List<String> example, Function<List<String>, ConfigValues> translate) {
    List<String> args = new ArrayList<>(example);
    args.addAll(shownFlags(help));
    ConfigValues applied = translate.apply(example);
    ConfigValues shown = translate.apply(args);
    for (Key<?> key : ConfigKeys.all()) {
      assertThat(format(key, shown)).as(key.path()).isEqualTo(format(key, applied));
    }
  }

  @Test
  void vllmRoutersAreApplied() {
    String help = VllmRouterLauncher.help();
    compare(
        help,
        List.of("--worker-urls", "http://a:1"),
        args -> VllmRouterLauncher.translate(args, Map.of()));
    assertThat(help).contains("\n  --queue-timeout-status 408\n", "\n  --health-answer all\n");
    assertThat(help).doesNotContain("\n  --workers ", "\n  --log-level info\n");
  }

  @Test
  void productionStacksAreApplied() {
    String help = ProductionStackLauncher.help();
    compare(help, STACK, args -> ProductionStackLauncher.translate(args, Map.of()));
    assertThat(help).contains("\n  --metrics-port 0\n", "\n  --admin-enabled false\n");
  }
}
