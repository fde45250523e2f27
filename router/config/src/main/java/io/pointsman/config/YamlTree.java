package io.pointsman.config;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.pointsman.config.value.RawValue;
import io.pointsman.engine.env.FileProblem;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.api.lowlevel.Compose;
import org.snakeyaml.engine.v2.common.ScalarStyle;
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
 * Parses YAML into values with their lines, without checking them against keys. Merge keys ({@code
 * <<}) are resolved: keys of a group win over merged ones, and earlier merged groups over later
 * ones.
 */
public final class YamlTree {
  /** Maximum number of values, counting those of an alias each time. */
  private static final int MOST_VALUES = 500_000;

  /** Maximum number of aliases of groups and lists; {@link #MOST_VALUES} limits their content. */
  private static final int MOST_ALIASES = 100_000;

  private static final String MERGE = "<<";

  private final String name;
  private final int most;
  private final List<String> problems;
  private final @Nullable Variables variables;
  private final String lenientGroup;
  private int values;

  private YamlTree(
      String name,
      int most,
      List<String> problems,
      @Nullable Variables variables,
      String lenientGroup) {
    this.name = name;
    this.most = most;
    this.problems = problems;
    this.variables = variables;
    this.lenientGroup = lenientGroup;
  }

  /**
   * The text of a file of at most 16 MiB.
   *
   * @throws ConfigException if the file cannot be read, or is larger
   */
  public static String text(Path file) {
    try {
      return UTF_8.newDecoder().decode(ByteBuffer.wrap(WatchedFile.bounded(file))).toString();
    } catch (WatchedFile.TooLarge e) {
      throw new ConfigException(file + ": too large (expected: at most 16 MiB)");
    } catch (NoSuchFileException e) {
      throw new ConfigException(file + ": no such file (expected: a YAML file)");
    } catch (CharacterCodingException e) {
      throw new ConfigException(file + ": not UTF-8 (expected: a YAML file)");
    } catch (IOException e) {
      throw new ConfigException(file + ": cannot be read: " + FileProblem.of(e));
    }
  }

  /**
   * The text of a file that is read again and again, as {@link #text}. A pipe would block its
   * reader.
   *
   * @throws ConfigException if the file is no regular file, cannot be read, or is too large
   */
  public static String watchedText(Path file) {
    if (WatchedFile.irregular(file)) {
      throw new ConfigException(file + ": not a regular file (expected: a YAML file)");
    }
    return text(file);
  }

  /**
   * The tree of a text; empty if the text is empty. References to variables remain as they are.
   *
   * @param name name of the text in messages
   * @param depth maximum nesting depth
   * @param problems receives keys that are not scalars or appear twice
   * @throws ConfigException if the text is not YAML, or is nested too deeply
   */
  public static Optional<RawValue> compose(
      String name, String text, int depth, List<String> problems) {
    return new YamlTree(name, depth, problems, null, "").compose(text);
  }

  /**
   * The tree of a text, with references to environment variables replaced.
   *
   * @param lenientGroup name of the group below which a variable that is not set counts as empty;
   *     empty: none
   * @see #compose(String, String, int, List)
   */
  public static Optional<RawValue> compose(
      String name,
      String text,
      int depth,
      Map<String, String> environment,
      String lenientGroup,
      List<String> problems) {
    Variables variables = new Variables(environment, problems);
    return new YamlTree(name, depth, problems, variables, lenientGroup).compose(text);
  }

  private Optional<RawValue> compose(String text) {
    LoadSettings settings =
        LoadSettings.builder()
            .setLabel(name)
            .setAllowNonScalarKeys(true)
            .setMaxAliasesForCollections(MOST_ALIASES)
            .build();
    try {
      return new Compose(settings).composeString(text).map(node -> raw(node, most, false));
    } catch (MarkedYamlEngineException e) {
      String line = e.getProblemMark().map(mark -> ":" + (mark.getLine() + 1)).orElse("");
      String hint = e.getProblemMark().map(mark -> hint(text, mark.getLine())).orElse("");
      throw new ConfigException(name + line + ": not YAML: " + e.getProblem() + hint);
    } catch (YamlEngineException e) {
      throw new ConfigException(name + ": not YAML: " + e.getMessage());
    } catch (StackOverflowError e) { // the parser has no limit of its own
      throw new ConfigException(name + ": nested too deep (expected: at most " + most + ")");
    }
  }

  /** In {@code [a, b]} and {@code {a: b}} the brace of a reference begins a group. */
  private static String hint(String text, int line) {
    String written = text.lines().skip(line).findFirst().orElse("");
    return written.contains("${")
        ? " (expected: quotes around a value with ${ in a list or group on one line)"
        : "";
  }

  private RawValue raw(Node node, int depth, boolean lenient) {
    String where = where(node);
    if (++values > MOST_VALUES) {
      throw new ConfigException(where + ": more than " + MOST_VALUES + " values, with aliases");
    }
    if (depth == 0) {
      throw new ConfigException(where + ": nested too deep (expected: at most " + most + ")");
    }
    return switch (node) {
      case ScalarNode scalar ->
          new RawValue.Scalar(
              scalar.getTag().equals(Tag.NULL) ? "" : text(scalar.getValue(), where, lenient),
              where);
      case SequenceNode sequence ->
          new RawValue.Items(
              sequence.getValue().stream().map(item -> raw(item, depth - 1, lenient)).toList(),
              where);
      case MappingNode mapping -> entries(mapping, depth, lenient);
      case AnchorNode anchor -> raw(anchor.getRealNode(), depth - 1, lenient);
      default -> throw new ConfigException(where + ": " + node.getTag() + " (expected: a value)");
    };
  }

  private String text(String text, String where, boolean lenient) {
    return variables == null ? text : variables.replaced(text, where, lenient);
  }

  private RawValue entries(MappingNode mapping, int depth, boolean lenient) {
    Map<String, RawValue> entries = new LinkedHashMap<>();
    RawValue merged = null;
    for (NodeTuple tuple : mapping.getValue()) {
      if (!(tuple.getKeyNode() instanceof ScalarNode key)) {
        problems.add(where(tuple.getKeyNode()) + ": a key that is not a name (expected: a name)");
        continue;
      }
      boolean merge = isMerge(key);
      if (entries.containsKey(key.getValue()) || (merge && merged != null)) {
        problems.add(where(key) + ": " + key.getValue() + ": appears twice (expected: once)");
        continue;
      }
      boolean below = lenient || (!lenientGroup.isEmpty() && key.getValue().equals(lenientGroup));
      RawValue value = raw(tuple.getValueNode(), depth - 1, below);
      if (merge) {
        merged = value;
      } else {
        entries.put(key.getValue(), value);
      }
    }
    if (merged != null) {
      merge(merged, entries);
    }
    return new RawValue.Entries(entries, where(mapping));
  }

  private static boolean isMerge(ScalarNode key) {
    return key.getValue().equals(MERGE) && key.getScalarStyle() == ScalarStyle.PLAIN;
  }

  /** Adds the keys of a group, or of a list of groups, that are not in {@code entries}. */
  private void merge(RawValue merged, Map<String, RawValue> entries) {
    switch (merged) {
      case RawValue.Entries(Map<String, RawValue> others, _) ->
          others.forEach(entries::putIfAbsent);
      case RawValue.Items(List<RawValue> groups, _)
          when groups.stream().allMatch(RawValue.Entries.class::isInstance) ->
          groups.forEach(group -> merge(group, entries));
      case RawValue.Items _, RawValue.Scalar _ ->
          problems.add(
              merged.where()
                  + ": "
                  + MERGE
                  + ": not a group (expected: a group, or a list of groups)");
    }
  }

  private String where(Node node) {
    return node.getStartMark().map(mark -> name + ":" + (mark.getLine() + 1)).orElse(name);
  }
}
