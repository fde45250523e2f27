package io.pointsman.server.cli;

import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigText;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ParseResult;

/**
 * {@code pointsman check-config}: prints the effective configuration without starting the router.
 */
final class CheckConfigCommand implements Callable<Integer> {
  private final CommandSpec spec = CommandSpec.wrapWithoutInspection(this);

  private CheckConfigCommand() {}

  static CommandLine commandLine() {
    CommandSpec spec = new CheckConfigCommand().spec;
    spec.name("check-config").mixinStandardHelpOptions(true);
    spec.usageMessage()
        .sortOptions(false)
        .abbreviateSynopsis(true)
        .description(
            "Check a configuration and print the value of every key. The flags are those of"
                + " 'serve'. The exit code is 2 if the configuration is invalid.");
    spec.addPositional(
        PositionalParamSpec.builder()
            .paramLabel("<file>")
            .arity("0..1")
            .index("0")
            .type(String.class)
            .description("Configuration file, as with --config.")
            .build());
    ConfigFlags.addTo(spec);
    return new CommandLine(spec);
  }

  @Override
  public Integer call() {
    ParseResult given = spec.commandLine().getParseResult();
    String file = given.matchedPositionalValue(0, "");
    if (!file.isEmpty() && given.hasMatchedOption("--config")) {
      throw new ConfigException("--config: given twice (expected: one file)");
    }
    ConfigValues values =
        file.isEmpty() ? new ConfigValues() : YamlConfig.read(Path.of(file), System.getenv());
    values.setAll(ConfigFlags.read(given));
    PointsmanConfig.from(values);
    spec.commandLine().getOut().print(ConfigText.of(values));
    spec.commandLine().getOut().flush();
    return 0;
  }
}
