package io.pointsman.app.config;

import io.pointsman.app.config.key.ConfigKeys;
import io.pointsman.app.config.key.Key;
import io.pointsman.app.config.value.Nearest;
import io.pointsman.app.config.value.Raw;
import java.io.IOException;
import java.nio.charset.MalformedInputException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.api.lowlevel.Compose;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.nodes.AnchorNode;
import org.snakeyaml.engine.v2.nodes.MappingNode;
import org.snakeyaml.engine.v2.nodes.Node;
import org.snakeyaml.engine.v2.nodes.NodeTuple;
import org.snakeyaml.engine.v2.nodes.ScalarNode;
import org.snakeyaml.engine.v2.nodes.SequenceNode;
import org.snakeyaml.engine.v2.nodes.Tag;

/**
 * Reads the configuration file. Strict: every key must be known and appear once, every value must
 * be of its key's type; everything that is wrong is reported at once, with its line.
 */
public final class YamlConfig {
  private static final int MAX_DEPTH = 8;

  private final String name;
  private final ConfigValues values = new ConfigValues();
  private final List<String> problems = new ArrayList<>();

  private YamlConfig(String name) {
    this.name = name;
  }

  /**
   * The values that a file chooses.
   *
   * @throws ConfigException if the file cannot be read or is not a valid configuration
   */
  public static ConfigValues read(Path file) {
    try {
      return parse(file.toString(), Files.readString(file));
    } catch (NoSuchFileException e) {
      throw new ConfigException(file + ": no such file (expected: a YAML file)");
    } catch (MalformedInputException e) {
      throw new ConfigException(file + ": not UTF-8 (expected: a YAML file)");
    } catch (IOException e) {
      throw new ConfigException(file + ": cannot be read: " + e.getMessage());
    }
  }

  /**
   * The values that a text chooses.
   *
   * @param name what the text is called in errors
   * @throws ConfigException if it is not a valid configuration
   */
  public static ConfigValues parse(String name, String text) {
    YamlConfig reader = new YamlConfig(name);
    reader.compose(text).ifPresent(root -> reader.group("", root));
    if (!reader.problems.isEmpty()) {
      throw new ConfigException(reader.problems);
    }
    return reader.values;
  }

  private Optional<Raw> compose(String text) {
    LoadSettings settings =
        LoadSettings.builder().setLabel(name).setAllowNonScalarKeys(true).build();
    try {
      return new Compose(settings).composeString(text).map(node -> raw(node, MAX_DEPTH));
    } catch (MarkedYamlEngineException e) {
      String line = e.getProblemMark().map(mark -> ":" + (mark.getLine() + 1)).orElse("");
      throw new ConfigException(name + line + ": not YAML: " + e.getProblem());
    } catch (YamlEngineException e) {
      throw new ConfigException(name + ": not YAML: " + e.getMessage());
    }
  }

  private Raw raw(Node node, int depth) {
    String where = where(node);
    if (depth == 0) {
      throw new ConfigException(where + ": nested too deep (expected: at most " + MAX_DEPTH + ")");
    }
    return switch (node) {
      case ScalarNode scalar ->
          new Raw.Scalar(scalar.getTag().equals(Tag.NULL) ? "" : scalar.getValue(), where);
      case SequenceNode sequence ->
          new Raw.Items(
              sequence.getValue().stream().map(item -> raw(item, depth - 1)).toList(), where);
      case MappingNode mapping -> entries(mapping, depth);
      case AnchorNode anchor -> raw(anchor.getRealNode(), depth - 1);
      default -> throw new ConfigException(where + ": " + node.getTag() + " (expected: a value)");
    };
  }

  private Raw entries(MappingNode mapping, int depth) {
    Map<String, Raw> entries = new LinkedHashMap<>();
    for (NodeTuple tuple : mapping.getValue()) {
      if (!(tuple.getKeyNode() instanceof ScalarNode key)) {
        problems.add(where(tuple.getKeyNode()) + ": a key that is not a word (expected: a name)");
        continue;
      }
      if (entries.containsKey(key.getValue())) {
        problems.add(where(key) + ": " + key.getValue() + ": appears twice (expected: once)");
        continue;
      }
      entries.put(key.getValue(), raw(tuple.getValueNode(), depth - 1));
    }
    return new Raw.Entries(entries, where(mapping));
  }

  private String where(Node node) {
    return node.getStartMark().map(mark -> name + ":" + (mark.getLine() + 1)).orElse(name);
  }

  private void group(String path, Raw raw) {
    switch (raw) {
      case Raw.Entries(Map<String, Raw> entries, _) ->
          entries.forEach((key, value) -> entry(path.isEmpty() ? key : path + "." + key, value));
      case Raw.Scalar(String text, _) when text.isEmpty() -> {}
      case Raw.Scalar _, Raw.Items _ ->
          problems.add(
              raw.where()
                  + ": "
                  + (path.isEmpty() ? "" : path + ": ")
                  + "no group of keys"
                  + " (expected: key: value)");
    }
  }

  private void entry(String path, Raw value) {
    Key<?> key = ConfigKeys.at(path);
    if (key != null) {
      try {
        values.read(key, value);
      } catch (ConfigException e) {
        problems.addAll(e.problems());
      }
    } else if (ConfigKeys.isGroup(path)) {
      group(path, value);
    } else {
      problems.add(value.where() + ": " + path + ": unknown key" + hint(path));
    }
  }

  /**
   * The path that was probably meant: the one whose flag or last name this is, or the first that
   * goes on where this ends; else the nearest, compared as a whole and, below a known group, with
   * that group's alone.
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
