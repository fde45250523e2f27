package io.pointsman.app.compat.stack;

import io.pointsman.app.compat.Effect;
import io.pointsman.app.compat.Given;
import io.pointsman.app.compat.Translation;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Flags that mean something only together with others, kept until all have been read. Used by one
 * thread.
 */
final class Wishes {
  private final Map<String, String> given = new HashMap<>();

  /** Keeps what is given for a flag. */
  Effect.Action keep() {
    return (flag, _) -> given.put(flag.flag(), flag.values().isEmpty() ? "" : flag.value());
  }

  /** Keeps it if it is one of these. */
  Effect.Action keep(String... allowed) {
    return (flag, into) -> {
      if (Arrays.asList(allowed).contains(flag.value())) {
        given.put(flag.flag(), flag.value());
      } else {
        into.problem(flag, flag.value(), "one of " + String.join(", ", allowed));
      }
    };
  }

  /** Keeps that a switch is on. */
  void note(String flag) {
    given.put(flag, "on");
  }

  /** What was given, or the flag's default; null if there is neither. */
  @Nullable String get(String flag) {
    return given.get(flag);
  }

  /** The same; empty if there is neither. */
  String text(String flag) {
    return given.getOrDefault(flag, "");
  }

  boolean has(String flag) {
    return !text(flag).isEmpty();
  }

  /** The items of a list with commas; empty ones do not count. */
  List<String> items(String flag) {
    return Arrays.stream(text(flag).split(",", -1))
        .map(String::strip)
        .filter(item -> !item.isEmpty())
        .toList();
  }

  /** A flag as it was given, for an action of another one's. */
  Given as(String flag) {
    return new Given(flag, List.of(text(flag)));
  }

  /** Lets an action take what was given for a flag, if anything was. */
  void apply(String flag, Effect.Action action, Translation into) {
    if (has(flag)) {
      action.apply(as(flag), into);
    }
  }
}
