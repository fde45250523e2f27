package io.pointsman.kubernetes;

import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.pointsman.config.settings.KubernetesSettings;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The models and aliases in the annotations and labels of objects. An annotation wins over a label.
 * Each holds one or more names, separated by commas.
 */
final class DeclaredModels {
  /** Maximum number of names in one annotation. */
  static final int MOST_NAMES = 64;

  /** Maximum number of models, or of aliases, of all objects together. */
  private static final int MOST_OF_ALL = 4096;

  private static final int LONGEST_NAME = 512;

  private final String modelKey;
  private final String aliasesKey;

  DeclaredModels(KubernetesSettings settings) {
    modelKey = settings.modelKey();
    aliasesKey = settings.aliasesKey();
  }

  /**
   * An object with names.
   *
   * @param id namespace and name, for an order that does not change
   * @param aliases further names of the first model
   */
  record Declared(String id, List<String> models, List<String> aliases) {}

  /** The names of an object; of {@code template} if the object itself has none. */
  Declared of(ObjectMeta object, @Nullable ObjectMeta template) {
    return new Declared(
        object.getNamespace() + "/" + object.getName(),
        names(modelKey, object, template),
        names(aliasesKey, object, template));
  }

  /** The models of an object; empty if it names none. */
  Set<String> models(@Nullable ObjectMeta object) {
    return Set.copyOf(names(modelKey, object));
  }

  private static List<String> names(String key, @Nullable ObjectMeta... places) {
    for (ObjectMeta place : places) {
      String text = place == null || key.isEmpty() ? "" : value(place, key);
      List<String> names =
          Arrays.stream(text.split(","))
              .map(String::strip)
              .filter(name -> !name.isEmpty() && name.length() <= LONGEST_NAME)
              .distinct()
              .limit(MOST_NAMES)
              .toList();
      if (!names.isEmpty()) {
        return names;
      }
    }
    return List.of();
  }

  private static String value(ObjectMeta meta, String key) {
    return Stream.of(meta.getAnnotations(), meta.getLabels())
        .filter(Objects::nonNull)
        .map(all -> all.getOrDefault(key, ""))
        .filter(text -> !text.isBlank())
        .findFirst()
        .orElse("");
  }

  /** The models of all objects. */
  static Set<String> models(Collection<Declared> all) {
    Set<String> models = new TreeSet<>();
    for (Declared each : all) {
      if (models.size() < MOST_OF_ALL) {
        models.addAll(each.models());
      }
    }
    return models;
  }

  /**
   * The models by alias. The first object by its id wins. A name that is a model of an object is no
   * alias.
   */
  static Map<String, String> aliases(Collection<Declared> all) {
    List<Declared> sorted = new ArrayList<>(all);
    sorted.sort(Comparator.comparing(Declared::id));
    Set<String> models = models(all);
    Map<String, String> aliases = new TreeMap<>();
    for (Declared each : sorted) {
      if (!each.models().isEmpty() && aliases.size() < MOST_OF_ALL) {
        each.aliases().stream()
            .filter(alias -> !models.contains(alias))
            .forEach(alias -> aliases.putIfAbsent(alias, each.models().getFirst()));
      }
    }
    return aliases;
  }
}
