package io.pointsman.compat.productionstack;

import static java.util.stream.Collectors.joining;

import io.pointsman.compat.vllmrouter.Flag;
import io.pointsman.compat.vllmrouter.Flag.Shape;
import io.pointsman.compat.vllmrouter.FlagTable;
import io.pointsman.compat.vllmrouter.Given;
import io.pointsman.config.ConfigException;
import io.pointsman.config.YamlTree;
import io.pointsman.config.value.Nearest;
import io.pointsman.config.value.RawValue;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The file of {@code --dynamic-config-yaml} or {@code --dynamic-config-json}. Its keys are flags
 * with underscores; JSON is a subset of YAML. {@code static_models} can be a group of models with
 * their backends, and {@code static_aliases} a group of {@code alias: model}.
 */
final class DynamicConfig {
  static final String YAML = "--dynamic-config-yaml";
  static final String JSON = "--dynamic-config-json";

  private static final int MOST_DEPTH = 6;
  private static final String MODELS = "static_models";
  private static final String ALIASES = "static_aliases";
  private static final String BACKENDS = "static_backends";
  private static final String TYPE = "static_model_type";
  private static final String TYPES = "static_model_types";

  /** Settings that the original reads again while it runs. */
  private static final List<String> FIELDS =
      List.of(
          "service_discovery",
          "routing_logic",
          BACKENDS,
          MODELS,
          ALIASES,
          "static_model_labels",
          TYPES,
          "static_backend_health_checks",
          "static_backend_health_check_interval",
          "static_backend_health_check_timeout_seconds",
          "prefill_model_labels",
          "decode_model_labels",
          "k8s_port",
          "k8s_namespace",
          "k8s_label_selector",
          "session_key");

  private final Map<String, Flag> flags = new TreeMap<>();
  private final List<String> problems = new ArrayList<>();
  private final List<String> args = new ArrayList<>();

  private DynamicConfig(List<Flag> all) {
    for (Flag flag : all) {
      if (!flag.name().equals(YAML) && !flag.name().equals(JSON)) {
        flags.put(flag.name().substring(2).replace('-', '_'), flag);
      }
    }
  }

  /** The file that a command line names; null if there is none. YAML wins, as in the original. */
  static @Nullable Path named(Map<String, Given> given) {
    Given named = given.getOrDefault(YAML, given.get(JSON));
    return named == null ? null : Path.of(named.value());
  }

  /**
   * The file as flags.
   *
   * @param environment values of <code>${NAME}</code> in the file
   * @throws ConfigException with all problems, if it cannot be read or has unknown keys
   */
  static List<String> flags(Path file, List<Flag> all, Map<String, String> environment) {
    DynamicConfig reader = new DynamicConfig(all);
    Optional<RawValue> tree =
        YamlTree.compose(
            file.toString(), YamlTree.text(file), MOST_DEPTH, environment, "", reader.problems);
    if (tree.isPresent()
        && tree.get() instanceof RawValue.Entries(Map<String, RawValue> entries, _)) {
      entries.forEach(reader::entry);
    } else {
      reader.problems.add(file + ": no keys (expected: key: value)");
    }
    if (!reader.problems.isEmpty()) {
      throw new ConfigException(reader.problems);
    }
    return reader.args;
  }

  private void entry(String key, RawValue value) {
    Flag flag = flags.get(key);
    if (flag == null) {
      problems.add(
          value.where() + ": " + key + ": unknown key" + Nearest.hint(key, flags.keySet()));
    } else if (key.equals(MODELS)
        && value instanceof RawValue.Entries(Map<String, RawValue> models, _)) {
      models(models);
    } else if (key.equals(ALIASES)
        && value instanceof RawValue.Entries(Map<String, RawValue> names, _)) {
      add(
          flag,
          names.entrySet().stream()
              .map(each -> each.getKey() + ":" + text(each.getValue()))
              .collect(joining(",")));
    } else if (flag.shape() == Shape.SWITCH) {
      turn(flag, value);
    } else {
      add(flag, text(value));
    }
  }

  private void turn(Flag flag, RawValue value) {
    switch (text(value)) {
      case "true", "True" -> args.add(flag.name());
      case "false", "False", "" -> {
        // The default of every switch.
      }
      default -> problems.add(value.where() + ": " + text(value) + " (expected: true or false)");
    }
  }

  /** A model per entry, with its backends and type. */
  private void models(Map<String, RawValue> models) {
    List<String> urls = new ArrayList<>();
    List<String> names = new ArrayList<>();
    List<String> types = new ArrayList<>();
    models.forEach(
        (name, settings) -> {
          Map<String, RawValue> members =
              settings instanceof RawValue.Entries(Map<String, RawValue> given, _)
                  ? given
                  : Map.of();
          RawValue backends = members.get(BACKENDS);
          if (backends == null) {
            problems.add(settings.where() + ": " + name + ": no " + BACKENDS);
            return;
          }
          RawValue type = members.get(TYPE);
          members.forEach(
              (key, each) -> {
                if (!key.equals(BACKENDS) && !key.equals(TYPE)) {
                  problems.add(each.where() + ": " + name + ": " + key + ": unknown key");
                }
              });
          for (String url : text(backends).split(",", -1)) {
            urls.add(url.strip());
            names.add(name);
            types.add(type == null ? "" : text(type));
          }
        });
    add(BACKENDS, String.join(",", urls));
    add(MODELS, String.join(",", names));
    if (types.stream().anyMatch(type -> !type.isEmpty())) {
      add(TYPES, String.join(",", types));
    }
  }

  private void add(String key, String value) {
    Flag flag = flags.get(key);
    if (flag != null) {
      add(flag, value);
    }
  }

  private void add(Flag flag, String value) {
    if (!value.isEmpty()) {
      args.add(flag.name() + "=" + value);
    }
  }

  /** A scalar, or a list as one text with commas. */
  private String text(RawValue value) {
    return switch (value) {
      case RawValue.Scalar(String text, _) -> text.strip();
      case RawValue.Items(List<RawValue> items, _) ->
          items.stream().map(this::text).collect(joining(","));
      case RawValue.Entries(_, String where) -> {
        problems.add(where + ": a group of keys (expected: a value or a list)");
        yield "";
      }
    };
  }

  /** The settings in force that the original shows, by their names in the file. */
  static Map<String, String> shown(FlagTable table, List<String> args) {
    Map<String, Given> given = table.given(args);
    Map<String, String> shown = new LinkedHashMap<>();
    for (Flag flag : table.flags()) {
      String field = flag.name().substring(2).replace('-', '_');
      if (FIELDS.contains(field)) {
        Given value = given.get(flag.name());
        String standard = flag.shape() == Shape.SWITCH ? "false" : flag.standard();
        shown.put(
            field, value == null ? standard : value.values().isEmpty() ? "true" : value.value());
      }
    }
    return shown;
  }
}
