package io.pointsman.config;

import io.pointsman.config.value.Raw;
import java.io.IOException;
import java.nio.charset.MalformedInputException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
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

/** Parses YAML into values with their lines, without checking them against keys. */
public final class YamlTree {
  private final String name;
  private final int most;
  private final List<String> problems;

  private YamlTree(String name, int most, List<String> problems) {
    this.name = name;
    this.most = most;
    this.problems = problems;
  }

  /**
   * The text of a file.
   *
   * @throws ConfigException if the file cannot be read
   */
  public static String text(Path file) {
    try {
      return Files.readString(file);
    } catch (NoSuchFileException e) {
      throw new ConfigException(file + ": no such file (expected: a YAML file)");
    } catch (MalformedInputException e) {
      throw new ConfigException(file + ": not UTF-8 (expected: a YAML file)");
    } catch (IOException e) {
      throw new ConfigException(file + ": cannot be read: " + e.getMessage());
    }
  }

  /**
   * The tree of a text; empty if the text is empty.
   *
   * @param name name of the text in messages
   * @param depth maximum nesting depth
   * @param problems receives keys that are not scalars or appear twice
   * @throws ConfigException if the text is not YAML, or is nested too deeply
   */
  public static Optional<Raw> compose(String name, String text, int depth, List<String> problems) {
    return new YamlTree(name, depth, problems).compose(text);
  }

  private Optional<Raw> compose(String text) {
    LoadSettings settings =
        LoadSettings.builder().setLabel(name).setAllowNonScalarKeys(true).build();
    try {
      return new Compose(settings).composeString(text).map(node -> raw(node, most));
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
      throw new ConfigException(where + ": nested too deep (expected: at most " + most + ")");
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
        problems.add(where(tuple.getKeyNode()) + ": a key that is not a name (expected: a name)");
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
}
