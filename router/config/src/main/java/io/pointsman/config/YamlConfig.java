package io.pointsman.config;

import io.pointsman.config.key.ConfigKeys;
import io.pointsman.config.key.FormerKeys;
import io.pointsman.config.key.Key;
import io.pointsman.config.value.Nearest;
import io.pointsman.config.value.RawValue;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Reads the configuration file. Every key must be known and appear once, and every value must have
 * the key's type. All problems are reported together, with their lines.
 */
public final class YamlConfig {
  private static final int MAX_DEPTH = 8;

  private final ConfigValues values = new ConfigValues();
  private final List<String> problems = new ArrayList<>();
  private final Map<String, String> environment;

  private YamlConfig(Map<String, String> environment) {
    this.environment = environment;
  }

  /**
   * The values in a file.
   *
   * @param environment values of <code>${NAME}</code> in the file
   * @throws ConfigException if the file cannot be read or is invalid
   */
  public static ConfigValues read(Path file, Map<String, String> environment) {
    return parse(file.toString(), YamlTree.text(file), environment);
  }

  /**
   * The values in a text that refers to no variable.
   *
   * @param name name of the text in messages
   * @throws ConfigException if the text is invalid
   */
  public static ConfigValues parse(String name, String text) {
    return parse(name, text, Map.of());
  }

  /**
   * The values in a text.
   *
   * @param name name of the text in messages
   * @param environment values of <code>${NAME}</code> in the text
   * @throws ConfigException if the text is invalid
   */
  public static ConfigValues parse(String name, String text, Map<String, String> environment) {
    YamlConfig reader = new YamlConfig(environment);
    YamlTree.compose(name, text, MAX_DEPTH, environment, "", reader.problems)
        .ifPresent(root -> reader.group("", root));
    if (!reader.problems.isEmpty()) {
      throw new ConfigException(reader.problems);
    }
    return reader.values;
  }

  private void group(String path, RawValue raw) {
    switch (raw) {
      case RawValue.Entries(Map<String, RawValue> entries, _) ->
          entries.forEach((key, value) -> entry(path.isEmpty() ? key : path + "." + key, value));
      case RawValue.Scalar(String text, _) when text.isEmpty() -> {}
      case RawValue.Scalar _, RawValue.Items _ ->
          problems.add(
              raw.where()
                  + ": "
                  + (path.isEmpty() ? "" : path + ": ")
                  + "not a group of keys (expected: key: value)");
    }
  }

  private RawValue secret(Key<?> key, String path, RawValue value) {
    return key.defaultValue() instanceof Map
        ? Secrets.resolvedEach(path, value, environment)
        : Secrets.resolved(path, value, environment);
  }

  private void entry(String path, RawValue value) {
    Key<?> key = ConfigKeys.at(path);
    if (key != null) {
      try {
        values.read(key, key.isSecret() ? secret(key, path, value) : value);
      } catch (ConfigException e) {
        problems.addAll(e.problems());
      }
    } else if (ConfigKeys.isGroup(path)) {
      group(path, value);
    } else {
      String problem =
          FormerKeys.problemOfPath(path).orElseGet(() -> path + ": unknown key" + hint(path));
      problems.add(value.where() + ": " + problem);
    }
  }

  /**
   * The hint with the probable path. First choices are a path with this flag or last name, and a
   * path that continues this one with a hyphen. Otherwise it is the nearest path by edit distance;
   * below a known group, only paths of that group count.
   */
  private static String hint(String path) {
    int dot = path.lastIndexOf('.');
    String group = path.substring(0, dot + 1);
    boolean known = dot > 0 && ConfigKeys.isGroup(path.substring(0, dot));
    for (Key<?> key : ConfigKeys.all()) {
      boolean same = key.flag().equals("--" + path) || key.path().endsWith("." + path);
      if (same || (known && key.path().startsWith(path + "-"))) {
        return " (did you mean " + key.path() + "?)";
      }
    }
    if (known) {
      return Nearest.hint(
          path, ConfigKeys.paths().stream().filter(each -> each.startsWith(group)).toList());
    }
    List<String> names = new ArrayList<>(ConfigKeys.paths());
    ConfigKeys.paths().stream()
        .filter(each -> each.contains("."))
        .map(each -> each.substring(0, each.indexOf('.')))
        .distinct()
        .forEach(names::add);
    return Nearest.hint(path, names);
  }
}
