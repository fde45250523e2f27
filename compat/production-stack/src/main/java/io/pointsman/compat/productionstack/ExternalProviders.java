package io.pointsman.compat.productionstack;

import io.pointsman.compat.vllmrouter.Translation;
import io.pointsman.compat.vllmrouter.Urls;
import io.pointsman.config.YamlTree;
import io.pointsman.config.key.AccessKeys;
import io.pointsman.config.key.ForwardKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.value.Nearest;
import io.pointsman.config.value.RawValue;
import io.pointsman.engine.fleet.WorkerSpec;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Translates the file of {@code --external-providers-config}. A provider becomes a worker that
 * serves the configured models, with its own key.
 */
final class ExternalProviders {
  static final String FLAG = "--external-providers-config";

  private static final String GROUP = "external_providers";
  private static final String STANDARD_VARIABLE = "OPENAI_API_KEY";
  private static final int MOST_DEPTH = 10;
  private static final Set<String> OF_PROVIDER =
      Set.of(
          "name",
          "type",
          "api_base",
          "api_key_env_var",
          "timeout",
          "max_retries",
          "custom_headers",
          "models");
  private static final Set<String> OF_MODEL = Set.of("id", "type", "aliases");

  /** Members that apply to all engines alike here. */
  private static final List<String> OF_ALL = List.of("timeout", "max_retries");

  private final Map<String, String> environment;
  private final Translation into;
  private final List<WorkerSpec> workers;
  private final Map<String, String> keys = new LinkedHashMap<>();
  private final Map<String, String> aliases;

  /** Providers by model, and the name of this router's own engines for theirs. */
  private final Map<String, String> servers = new HashMap<>();

  private ExternalProviders(Map<String, String> environment, Translation into) {
    this.environment = environment;
    this.into = into;
    workers = new ArrayList<>(into.values().get(RoutingKeys.WORKERS));
    aliases = new LinkedHashMap<>(into.values().get(RoutingKeys.MODEL_ALIASES));
    for (WorkerSpec worker : workers) {
      worker.models().forEach(model -> servers.put(model, StackFlags.MODELS));
    }
  }

  /** Adds the providers to the engines, if there is a file. */
  static void settle(Wishes wishes, Map<String, String> environment, Translation into) {
    if (!wishes.has(FLAG) || !into.problems().isEmpty()) {
      return;
    }
    if (StackLogic.splits(wishes)) {
      into.problems()
          .add(
              FLAG
                  + ": given with "
                  + wishes.text(StackFlags.LOGIC)
                  + " (expected: another logic; providers do not split requests)");
      return;
    }
    new ExternalProviders(environment, into).read(Path.of(wishes.text(FLAG)));
  }

  private void read(Path file) {
    RawValue tree =
        YamlTree.compose(
                file.toString(), YamlTree.text(file), MOST_DEPTH, environment, "", into.problems())
            .orElse(new RawValue.Scalar("", file.toString()));
    Map<String, RawValue> members = entries(tree);
    known(members, Set.of(GROUP));
    if (members.get(GROUP) instanceof RawValue.Items(List<RawValue> providers, _)
        && !providers.isEmpty()) {
      providers.forEach(this::provider);
    } else {
      into.problems().add(tree.where() + ": no " + GROUP + " (expected: a list of providers)");
    }
    into.values().set(RoutingKeys.WORKERS, workers);
    into.values().set(RoutingKeys.MODEL_ALIASES, aliases);
    into.values().set(ForwardKeys.WORKER_KEYS, keys);
    // Other paths of a provider, with the operator's key, are not for clients.
    into.values().set(AccessKeys.ALLOWED_PATHS, List.of("api"));
  }

  private void provider(RawValue given) {
    Map<String, RawValue> members = entries(given);
    known(members, OF_PROVIDER);
    String name = text(given, members, "name", null);
    String type = text(given, members, "type", null);
    String url = Urls.trimmed(text(given, members, "api_base", null));
    String variable = text(given, members, "api_key_env_var", STANDARD_VARIABLE);
    if (!type.isEmpty() && !type.equals("openai")) {
      problem(given, "type: " + type + " (expected: openai)");
    }
    if (!url.isEmpty() && !Urls.valid(url)) {
      problem(given, "api_base: " + WorkerSpec.shown(url) + " (expected: https://host)");
      return;
    }
    String key = environment.getOrDefault(variable, "").strip();
    if (key.isEmpty()) {
      problem(given, "api_key_env_var: " + variable + " is not set (expected: a key)");
    }
    if (!entries(members.getOrDefault("custom_headers", new RawValue.Scalar("", ""))).isEmpty()) {
      problem(given, "custom_headers: not supported (expected: none; set them in a proxy)");
    }
    for (String each : OF_ALL) {
      if (members.containsKey(each)) {
        into.notes()
            .add(
                FLAG
                    + ": "
                    + name
                    + ": "
                    + each
                    + " has no effect; the router's timeouts and retries apply");
      }
    }
    Set<String> models = models(given, members.get("models"), name);
    if (!models.isEmpty() && into.problems().isEmpty()) {
      workers.add(WorkerSpec.of(url).withModels(models).withLabels(Map.of("provider", name)));
      keys.put(url, key);
    }
  }

  private Set<String> models(RawValue provider, @Nullable RawValue given, String name) {
    Set<String> models = new HashSet<>();
    if (!(given instanceof RawValue.Items(List<RawValue> items, _)) || items.isEmpty()) {
      problem(provider, "models: missing (expected: a list of models, each with an id)");
      return models;
    }
    for (RawValue item : items) {
      Map<String, RawValue> members = entries(item);
      known(members, OF_MODEL);
      String id = text(item, members, "id", null);
      String before = servers.put(id, name);
      if (before != null) {
        problem(item, id + ": of " + before + " and " + name + " (expected: each model once)");
      }
      models.add(id);
      if (members.get("aliases") instanceof RawValue.Items(List<RawValue> names, _)) {
        names.forEach(alias -> alias(alias, id));
      }
    }
    return models;
  }

  private void alias(RawValue alias, String model) {
    if (alias instanceof RawValue.Scalar(String name, _) && !name.isBlank()) {
      String before = aliases.put(name.strip(), model);
      if (before != null && !before.equals(model)) {
        problem(alias, name + ": an alias of " + before + " and " + model);
      }
    } else {
      problem(alias, "aliases: not a text");
    }
  }

  private void known(Map<String, RawValue> members, Set<String> names) {
    members.forEach(
        (key, value) -> {
          if (!names.contains(key)) {
            problem(value, key + ": unknown key" + Nearest.hint(key, names));
          }
        });
  }

  private static Map<String, RawValue> entries(RawValue given) {
    return given instanceof RawValue.Entries(Map<String, RawValue> members, _) ? members : Map.of();
  }

  /**
   * A member as text.
   *
   * @param standard its default; null if the member is required
   */
  private String text(
      RawValue group, Map<String, RawValue> members, String name, @Nullable String standard) {
    RawValue given = members.get(name);
    if (given == null && standard != null) {
      return standard;
    }
    if (given instanceof RawValue.Scalar(String text, _) && !text.isBlank()) {
      return text.strip();
    }
    problem(group, name + ": missing (expected: a text)");
    return "";
  }

  private void problem(RawValue where, String text) {
    into.problems().add(where.where() + ": " + text);
  }
}
