package io.pointsman.compat.productionstack;

import io.pointsman.compat.vllmrouter.Effect;
import io.pointsman.compat.vllmrouter.Given;
import io.pointsman.compat.vllmrouter.Translation;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Values of flags that depend on each other; applied after all flags are read. Confined to one
 * thread.
 */
final class Wishes {
  private final Map<String, String> given = new HashMap<>();

  /** An action that stores the flag's value. */
  Effect.Action keep() {
    return (flag, _) -> given.put(flag.flag(), flag.values().isEmpty() ? "" : flag.value());
  }

  /** An action that stores the flag's value if it is allowed. */
  Effect.Action keep(String... allowed) {
    return (flag, into) -> {
      if (Arrays.asList(allowed).contains(flag.value())) {
        given.put(flag.flag(), flag.value());
      } else {
        into.problem(flag, flag.value(), "one of " + String.join(", ", allowed));
      }
    };
  }

  /** Stores that a switch is on. */
  void note(String flag) {
    given.put(flag, "on");
  }

  /** The flag's value or default; null if it has none. */
  @Nullable String get(String flag) {
    return given.get(flag);
  }

  /** The flag's value or default; empty if it has none. */
  String text(String flag) {
    return given.getOrDefault(flag, "");
  }

  boolean has(String flag) {
    return !text(flag).isEmpty();
  }

  /** The items of a comma-separated list, without empty ones. */
  List<String> items(String flag) {
    return Arrays.stream(text(flag).split(",", -1))
        .map(String::strip)
        .filter(item -> !item.isEmpty())
        .toList();
  }

  /** The flag in the form that an {@link Effect.Action} takes. */
  Given as(String flag) {
    return new Given(flag, List.of(text(flag)));
  }

  /** Runs the action with the flag's value, if there is one. */
  void apply(String flag, Effect.Action action, Translation into) {
    if (has(flag)) {
      action.apply(as(flag), into);
    }
  }
}
