package io.pointsman.compat.productionstack;

import io.pointsman.compat.vllmrouter.Given;
import io.pointsman.compat.vllmrouter.Translation;
import io.pointsman.compat.vllmrouter.Urls;
import io.pointsman.config.key.FleetKeys;
import io.pointsman.config.key.Key;
import io.pointsman.config.key.KubernetesKeys;
import io.pointsman.config.key.RoutingKeys;
import io.pointsman.config.settings.HealthRequestLabel;
import io.pointsman.config.settings.KubernetesSettings.Find;
import io.pointsman.engine.fleet.Role;
import io.pointsman.engine.fleet.WorkerSpec;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Translates the engines, or their discovery; labels determine their roles. */
final class StackFleet {
  private static final String STANDARD_LABEL = "default";

  /** Statuses of a server that has no such path or requires a key for it. */
  private static final List<Integer> WITHOUT_HEALTH = List.of(401, 403, 404, 405);

  /** The pod label that the stack's router compares. */
  private static final String POD_LABEL = "model";

  private final Wishes wishes;
  private final Translation into;
  private final List<String> prefill;
  private final List<String> decode;

  private StackFleet(Wishes wishes, Translation into) {
    this.wishes = wishes;
    this.into = into;
    prefill = wishes.items(StackFlags.PREFILL_LABELS);
    decode = wishes.items(StackFlags.DECODE_LABELS);
  }

  /** Sets the engines, or their discovery, in the configuration. */
  static void settle(Wishes wishes, Translation into) {
    StackFleet fleet = new StackFleet(wishes, into);
    fleet.labels();
    fleet.aliases();
    switch (wishes.text(StackFlags.DISCOVERY)) {
      case "static" -> fleet.listed();
      case "k8s" -> fleet.pods();
      case "external-only" -> fleet.external();
      default -> {
        if (wishes.has(ExternalProviders.FLAG)) {
          fleet.external();
        } else {
          into.problems().add(StackFlags.DISCOVERY + ": missing (expected: static or k8s)");
        }
      }
    }
  }

  private boolean split() {
    return StackLogic.splits(wishes);
  }

  private void labels() {
    if (split()) {
      if (prefill.isEmpty() || decode.isEmpty()) {
        into.problems()
            .add(
                wishes.text(StackFlags.LOGIC)
                    + ": given without "
                    + (prefill.isEmpty() ? StackFlags.PREFILL_LABELS : StackFlags.DECODE_LABELS));
      }
      prefill.stream()
          .filter(decode::contains)
          .forEach(
              label ->
                  into.problems()
                      .add(
                          StackFlags.PREFILL_LABELS
                              + ": "
                              + label
                              + " is one of "
                              + StackFlags.DECODE_LABELS
                              + " too"));
    }
  }

  private void aliases() {
    Map<String, String> models = new LinkedHashMap<>();
    for (String item : wishes.items(StackFlags.ALIASES)) {
      String[] parts = item.split(":", -1);
      if (parts.length != 2 || parts[0].isBlank() || parts[1].isBlank()) {
        into.problems()
            .add(
                StackFlags.ALIASES
                    + ": "
                    + item
                    + " (expected: alias:model; for a model with a colon use --model-aliases"
                    + " alias=model)");
      } else {
        models.put(parts[0].strip(), parts[1].strip());
      }
    }
    into.values().set(RoutingKeys.MODEL_ALIASES, models);
  }

  private void external() {
    probesOfListed();
    if (!wishes.has(ExternalProviders.FLAG)) {
      into.problems().add(ExternalProviders.FLAG + ": missing (expected: a file)");
    }
  }

  private void probesOfListed() {
    probes(StackFlags.STATIC_TIMEOUT);
    into.values().set(FleetKeys.HEALTH_ACCEPTED_STATUSES, WITHOUT_HEALTH);
    Translation.time(ChronoUnit.SECONDS, FleetKeys.HEALTH_INTERVAL)
        .apply(wishes.as(StackFlags.STATIC_INTERVAL), into);
  }

  private void listed() {
    probesOfListed();
    List<String> urls = wishes.items(StackFlags.BACKENDS);
    List<String> models = wishes.items(StackFlags.MODELS);
    List<String> labels = wishes.items(StackFlags.LABELS);
    if (urls.isEmpty()) {
      into.problems().add(StackFlags.BACKENDS + ": missing (expected: URLs of engines)");
    }
    asMany(StackFlags.MODELS, models.size(), urls.size());
    if (!labels.isEmpty() || split()) {
      asMany(StackFlags.LABELS, labels.size(), urls.size());
    }
    List<String> types = types(urls.size());
    if (into.problems().isEmpty()) {
      into.values().set(RoutingKeys.WORKERS, workers(urls, models, labels, types));
    }
  }

  /** The type of each backend's requests; empty if backends get no real requests. */
  private List<String> types(int urls) {
    List<String> types = wishes.items(StackFlags.TYPES);
    for (String type : types) {
      if (!HealthRequestLabel.kinds().contains(type)) {
        into.problems()
            .add(
                StackFlags.TYPES
                    + ": "
                    + type
                    + " (expected: one of "
                    + String.join(", ", HealthRequestLabel.kinds())
                    + ")");
      }
    }
    if (!wishes.has(StackFlags.CHECKS)) {
      return List.of();
    }
    if (types.isEmpty()) {
      into.problems()
          .add(
              StackFlags.TYPES
                  + ": missing (expected: one for each backend, because of "
                  + StackFlags.CHECKS
                  + ")");
    } else {
      asMany(StackFlags.TYPES, types.size(), urls);
    }
    return types;
  }

  private void asMany(String flag, int found, int urls) {
    if (found != urls) {
      into.problems().add(flag + ": " + found + " (expected: " + urls + ", one for each backend)");
    }
  }

  private List<WorkerSpec> workers(
      List<String> urls, List<String> models, List<String> labels, List<String> types) {
    Map<String, Map<String, Set<String>>> checked = new HashMap<>();
    Map<String, Set<String>> served = new LinkedHashMap<>();
    Map<String, String> labelled = new HashMap<>();
    for (int i = 0; i < urls.size(); i++) {
      String url = Urls.trimmed(urls.get(i));
      if (!Urls.valid(url)) {
        into.problems()
            .add(
                StackFlags.BACKENDS
                    + ": "
                    + WorkerSpec.shown(url)
                    + " (expected: http://host:port)");
        continue;
      }
      served.computeIfAbsent(url, _ -> new HashSet<>()).add(models.get(i));
      if (!types.isEmpty()) {
        checked
            .computeIfAbsent(url, _ -> new HashMap<>())
            .computeIfAbsent(models.get(i), _ -> new HashSet<>())
            .add(types.get(i));
      }
      String label = labels.isEmpty() ? STANDARD_LABEL : labels.get(i);
      String before = labelled.put(url, label);
      if (before != null && !before.equals(label)) {
        into.problems().add(StackFlags.LABELS + ": " + before + " and " + label + " for " + url);
      }
    }
    List<WorkerSpec> workers = new ArrayList<>();
    served.forEach(
        (url, names) -> {
          String label = String.valueOf(labelled.get(url));
          Role role = role(label);
          if (role != null) {
            workers.add(
                WorkerSpec.of(url)
                    .withModels(names)
                    .withRole(role)
                    .withLabels(labels(label, checked.getOrDefault(url, Map.of()))));
          }
        });
    return workers;
  }

  private static Map<String, String> labels(String label, Map<String, Set<String>> checked) {
    return checked.isEmpty()
        ? Map.of(POD_LABEL, label)
        : Map.of(POD_LABEL, label, HealthRequestLabel.NAME, HealthRequestLabel.value(checked));
  }

  private @Nullable Role role(String label) {
    if (!split()) {
      return Role.REGULAR;
    }
    if (prefill.contains(label)) {
      return Role.PREFILL;
    }
    if (decode.contains(label)) {
      return Role.DECODE;
    }
    into.problems()
        .add(
            StackFlags.LABELS
                + ": "
                + label
                + " (expected: one of "
                + StackFlags.PREFILL_LABELS
                + " or "
                + StackFlags.DECODE_LABELS
                + ", because other engines would not be used)");
    return null;
  }

  private void pods() {
    probes(StackFlags.POD_TIMEOUT);
    if (wishes.has(ExternalProviders.FLAG)) {
      into.values().set(FleetKeys.HEALTH_ACCEPTED_STATUSES, WITHOUT_HEALTH);
    }
    if (wishes.text(StackFlags.DISCOVERY_TYPE).equals("service-name")) {
      into.values().set(KubernetesKeys.FIND, Find.SERVICES);
    }
    if (split()) {
      partsOfPods();
    } else if (!wishes.has(StackFlags.SELECTOR)) {
      into.problems()
          .add(
              StackFlags.SELECTOR
                  + ": missing (expected: labels, for example app=vllm; without labels, each pod of"
                  + " the namespace would be an engine)");
    } else {
      Translation.as(KubernetesKeys.SELECTOR).apply(wishes.as(StackFlags.SELECTOR), into);
    }
  }

  /** Pods of a role match the common labels and one label of the role. */
  private void partsOfPods() {
    Translation.as(KubernetesKeys.SELECTOR).apply(wishes.as(StackFlags.SELECTOR), into);
    KubernetesKeys.findNone(into.values(), KubernetesKeys.SELECTOR);
    if (into.problems().isEmpty()) {
      role(KubernetesKeys.PREFILL_SELECTOR, StackFlags.PREFILL_LABELS, prefill);
      role(KubernetesKeys.DECODE_SELECTOR, StackFlags.DECODE_LABELS, decode);
    }
  }

  private void role(Key<?> key, String flag, List<String> labels) {
    String common = wishes.has(StackFlags.SELECTOR) ? wishes.text(StackFlags.SELECTOR) + "," : "";
    String own = POD_LABEL + " in (" + String.join(",", labels) + ")";
    Translation.as(key).apply(new Given(flag, List.of(common + own)), into);
  }

  private void probes(String flag) {
    Translation.time(ChronoUnit.SECONDS, FleetKeys.HEALTH_TIMEOUT).apply(wishes.as(flag), into);
  }
}
