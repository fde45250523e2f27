package io.pointsman.server.cli;

import io.pointsman.api.keys.KeyFile;
import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigText;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.PointsmanConfig;
import io.pointsman.config.YamlConfig;
import io.pointsman.config.settings.AuthSettings;
import io.pointsman.server.wiring.TlsFiles;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Model.PositionalParamSpec;
import picocli.CommandLine.ParseResult;

/**
 * {@code pointsman check-config}: checks a configuration without starting the router, and prints
 * the keys that differ from their defaults, or all.
 */
final class CheckConfigCommand implements Callable<Integer> {
  private static final String ALL = "--all";

  private final CommandSpec spec = CommandSpec.wrapWithoutInspection(this);

  private CheckConfigCommand() {}

  static CommandLine commandLine() {
    CommandSpec spec = new CheckConfigCommand().spec;
    spec.name("check-config").mixinStandardHelpOptions(true);
    spec.usageMessage()
        .sortOptions(false)
        .abbreviateSynopsis(true)
        .description(
            "Check a configuration, and print 'ok' and the keys that differ from their defaults."
                + " The flags are those of 'serve'. The exit code is 2 if the configuration is"
                + " invalid.");
    spec.addPositional(
        PositionalParamSpec.builder()
            .paramLabel("<file>")
            .arity("0..1")
            .index("0")
            .type(String.class)
            .description("Configuration file, as with --config.")
            .build());
    spec.addOption(
        OptionSpec.builder(ALL)
            .type(boolean.class)
            .arity("0")
            .description("Print every key with its value, as a configuration file.")
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
    PointsmanConfig config = PointsmanConfig.from(values);
    AuthSettings auth = config.auth();
    KeyFile.check(auth.keysFile(), auth.keysEnv(), System.getenv(auth.keysEnv()));
    TlsFiles.check(config);
    PrintWriter out = spec.commandLine().getOut();
    if (given.hasMatchedOption(ALL)) {
      out.print(ConfigText.of(values));
    } else {
      int changed = ConfigText.changed(values).size();
      out.println(
          switch (changed) {
            case 0 -> "# ok: every key has its default";
            case 1 -> "# ok: 1 key differs from its default";
            default -> "# ok: " + changed + " keys differ from their defaults";
          });
      ConfigNotes.of(values, config).forEach(note -> out.println("# note: " + note));
      out.print(ConfigText.differences(values));
      List<String> fixed = LiveKeys.needRestart(values);
      if (!fixed.isEmpty()) {
        out.println("# a reload changes all of these but: " + String.join(", ", fixed));
      }
    }
    out.flush();
    return 0;
  }
}
