package io.pointsman.server.cli;

import static picocli.CommandLine.Model.UsageMessageSpec.SECTION_KEY_OPTION_LIST;

import io.pointsman.config.ConfigException;
import io.pointsman.config.ConfigValues;
import io.pointsman.config.Secrets;
import io.pointsman.config.YamlConfig;
import io.pointsman.config.key.ConfigKeys;
import io.pointsman.config.key.FormerKeys;
import io.pointsman.config.key.Key;
import io.pointsman.config.value.Nearest;
import io.pointsman.config.value.RawValue;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Help;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParseResult;

/** Command-line flags for all configuration keys. */
final class ConfigFlags {
  private ConfigFlags() {}

  /** Adds {@code --config} and one flag per key, grouped by the sections of the registry. */
  static void addTo(CommandSpec command) {
    command.addOption(
        OptionSpec.builder("-c", "--config")
            .paramLabel("<file>")
            .type(String.class)
            .description("Configuration file (YAML). Flags override it.")
            .build());
    addKeysTo(command, new ConfigValues());
  }

  /**
   * Adds one flag per key, without {@code --config}.
   *
   * @param defaults values of the command without flags, which the help shows
   */
  static void addKeysTo(CommandSpec command, ConfigValues defaults) {
    int order = 0;
    for (Key<?> key : ConfigKeys.all()) {
      command.addOption(option(key, defaults, order++));
      if (Secrets.hasFileFlag(key)) {
        command.addOption(fileOption(key, order++));
      }
    }
    command.usageMessage().sectionMap().put(SECTION_KEY_OPTION_LIST, ConfigFlags::listed);
  }

  /**
   * The help's list of flags, with a heading for each section of keys. Groups of picocli print the
   * same, but lay out all texts at each start, which takes a tenth of it.
   */
  private static String listed(Help help) {
    Map<String, OptionSpec> flags = new LinkedHashMap<>();
    help.commandSpec().options().forEach(option -> flags.put(option.longestName(), option));
    StringBuilder keys = new StringBuilder();
    for (ConfigKeys.Section section : ConfigKeys.sections()) {
      List<OptionSpec> ofSection = new ArrayList<>();
      for (Key<?> key : section.keys()) {
        ofSection.add(flags.remove(key.flag()));
        if (Secrets.hasFileFlag(key)) {
          ofSection.add(flags.remove(key.flag() + Secrets.FILE_SUFFIX));
        }
      }
      keys.append(String.format("%n%s:%n", section.title())).append(laidOut(ofSection, help));
    }
    return laidOut(List.copyOf(flags.values()), help) + keys;
  }

  private static String laidOut(List<OptionSpec> options, Help help) {
    Help.Layout layout =
        help.createDefaultLayout(help.commandSpec().options(), List.of(), help.colorScheme());
    layout.addAllOptions(options, help.parameterLabelRenderer());
    return layout.toString();
  }

  private static <T> OptionSpec option(Key<T> key, ConfigValues defaults, int order) {
    String standard = key.type().format(defaults.get(key)).replace("\"", "");
    String shown = standard.isEmpty() || standard.equals("[]") ? "" : " Default: " + standard + ".";
    OptionSpec.Builder option =
        OptionSpec.builder(key.flag())
            .paramLabel(key.type().label())
            .order(order)
            .required(false)
            .description((key.meaning() + shown).replace("%", "%%"));
    if (key.type().repeatable()) {
      return option.type(List.class).auxiliaryTypes(String.class).arity("1..*").build();
    }
    option.type(String.class);
    return key.type().alone().isEmpty()
        ? option.arity("1").build()
        : option.arity("0..1").fallbackValue(key.type().alone()).build();
  }

  private static OptionSpec fileOption(Key<?> key, int order) {
    return OptionSpec.builder(key.flag() + Secrets.FILE_SUFFIX)
        .paramLabel("<file>")
        .order(order)
        .required(false)
        .type(String.class)
        .arity("1")
        .description(
            "File with the value of " + key.flag() + ", which stays out of the list of processes.")
        .build();
  }

  /**
   * The values from the file and the flags; flags win.
   *
   * @throws ConfigException with the problems, if a value is invalid
   */
  static ConfigValues read(ParseResult given) {
    String file = given.matchedOptionValue("--config", "");
    ConfigValues values =
        file.isEmpty() ? new ConfigValues() : YamlConfig.read(Path.of(file), System.getenv());
    return values.setAll(readKeys(given));
  }

  /**
   * The values from the flags alone.
   *
   * @throws ConfigException with the problems, if a value is invalid
   */
  static ConfigValues readKeys(ParseResult given) {
    ConfigValues values = new ConfigValues();
    List<String> problems = new ArrayList<>();
    for (Key<?> key : ConfigKeys.all()) {
      OptionSpec option = given.matchedOption(key.flag());
      if (option != null) {
        try {
          refuseFlags(option, given);
          values.read(key, raw(key, option.stringValues()));
        } catch (ConfigException e) {
          problems.addAll(e.problems());
        }
      }
      if (Secrets.hasFileFlag(key)) {
        readFile(key, given, option != null, values, problems);
      }
    }
    if (!problems.isEmpty()) {
      throw new ConfigException(problems);
    }
    return values;
  }

  /**
   * Refuses unknown and former flags behind a list: the parser takes them for values of the list,
   * because no flag has their name.
   */
  private static void refuseFlags(OptionSpec list, ParseResult given) {
    for (String value : list.stringValues().stream().skip(1).toList()) {
      if (value.startsWith("--")) {
        String flag = value.contains("=") ? value.substring(0, value.indexOf('=')) : value;
        throw new ConfigException(
            FormerKeys.problemOfFlag(flag)
                .orElseGet(
                    () ->
                        flag
                            + ": unknown flag"
                            + Nearest.hint(flag, given.commandSpec().optionsMap().keySet())));
      }
    }
  }

  private static void readFile(
      Key<?> key, ParseResult given, boolean beside, ConfigValues into, List<String> problems) {
    String name = key.flag() + Secrets.FILE_SUFFIX;
    String file = given.matchedOptionValue(name, "");
    if (file.isEmpty()) {
      return;
    }
    if (beside) {
      problems.add(name + ": given beside " + key.flag() + " (expected: one of them)");
      return;
    }
    try {
      into.read(key, new RawValue.Scalar(Secrets.ofFile(name, file), name));
    } catch (ConfigException e) {
      problems.addAll(e.problems());
    }
  }

  private static RawValue raw(Key<?> key, List<String> given) {
    String text =
        key.type().repeatable() ? String.join(",", given) : given.isEmpty() ? "" : given.getLast();
    return new RawValue.Scalar(text, key.flag());
  }
}
