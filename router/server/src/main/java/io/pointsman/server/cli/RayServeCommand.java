package io.pointsman.server.cli;

import io.pointsman.compat.rayserve.RayServeFile;
import io.pointsman.compat.vllmrouter.Launch;
import io.pointsman.config.ConfigValues;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ParseResult;

/** {@code pointsman ray-serve}: starts the router with a configuration file of Ray Serve. */
final class RayServeCommand implements Callable<Integer> {
  private final CommandSpec spec = CommandSpec.wrapWithoutInspection(this);

  private RayServeCommand() {}

  static CommandLine commandLine() {
    CommandSpec spec = new RayServeCommand().spec;
    spec.name("ray-serve").mixinStandardHelpOptions(true);
    spec.usageMessage()
        .sortOptions(false)
        .abbreviateSynopsis(true)
        .description(
            "Run the router with Ray Serve's YAML for LLM applications (2.60), in front of the"
                + " workers in the file. See docs/migrate/ray-serve.md. Flags override the file.",
            "",
            "  pointsman ray-serve serve.yaml",
            "  pointsman ray-serve serve.yaml --host 0.0.0.0 --port 8000",
            "",
            "At the start, the router lists the settings of the file that have no effect.");
    spec.addPositional(
        PositionalParamSpec.builder()
            .paramLabel("<file>")
            .arity("1")
            .required(true)
            .index("0")
            .type(String.class)
            .description("Ray Serve configuration file.")
            .build());
    ConfigFlags.addKeysTo(spec, RayServeFile.defaults());
    return new CommandLine(spec);
  }

  @Override
  public Integer call() throws InterruptedException {
    ParseResult given = spec.commandLine().getParseResult();
    Launch launch = launch(given);
    return ServeRun.until(launch, () -> launch(given), spec.commandLine().getOut());
  }

  private static Launch launch(ParseResult given) {
    Path file = Path.of(given.matchedPositionalValue(0, ""));
    ConfigValues flags = ConfigFlags.readKeys(given);
    RayServeFile.Translated translated = RayServeFile.read(file, System.getenv(), flags);
    List<String> notes = translated.notes().stream().map(note -> file + ": " + note).toList();
    return new Launch(translated.values().setAll(flags), notes, file, Map.of());
  }
}
