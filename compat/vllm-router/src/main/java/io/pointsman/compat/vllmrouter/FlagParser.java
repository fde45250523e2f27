package io.pointsman.compat.vllmrouter;

import io.pointsman.config.key.FormerKeys;
import io.pointsman.config.value.Nearest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Parses a command line like vllm-router's two launchers. Accepts {@code --flag value}, {@code
 * --flag=value}, lists up to the next flag, and unambiguous prefixes of names. If enabled, most
 * names may have the prefix {@code --router-}. Our own flags must be written in full.
 */
final class FlagParser {
  private static final String PREFIX = "--router-";
  private static final List<String> NEVER_PREFIXED = List.of("--host", "--port", "--worker-urls");

  private final Map<String, Flag> byName = new LinkedHashMap<>();
  private final Map<String, Flag> own = new HashMap<>();
  private final boolean prefixed;
  private final List<String> problems;

  /**
   * @param flags flags of the other router
   * @param own our own flags, with other names
   * @param prefixed true if names may have the prefix {@code --router-}
   * @param problems receives each problem as one line
   */
  FlagParser(List<Flag> flags, List<Flag> own, boolean prefixed, List<String> problems) {
    this.prefixed = prefixed;
    this.problems = problems;
    for (Flag flag : flags) {
      for (String name : flag.names()) {
        byName.put(name, flag);
      }
    }
    own.forEach(flag -> this.own.put(flag.name(), flag));
  }

  /** The given flags with their values, in order of first occurrence. */
  Map<Flag, Given> parse(List<String> args) {
    Map<Flag, Given> given = new LinkedHashMap<>();
    int at = 0;
    while (at < args.size()) {
      String arg = args.get(at++);
      if (!isFlag(arg)) {
        problems.add("argument: " + arg + " (expected: a flag)");
        continue;
      }
      int equals = arg.indexOf('=');
      String name = equals < 0 ? arg : arg.substring(0, equals);
      int end = at;
      while (end < args.size() && !isFlag(args.get(end))) {
        end++;
      }
      List<String> following =
          equals < 0 ? args.subList(at, end) : List.of(arg.substring(equals + 1));
      Flag flag = find(name);
      if (flag == null) {
        at = end;
        continue;
      }
      int taken = taken(flag, name, following, equals >= 0);
      add(given, flag, following.subList(0, taken));
      at += equals < 0 ? taken : 0;
    }
    return given;
  }

  /** Number of following values that belong to the flag. */
  private int taken(Flag flag, String name, List<String> following, boolean joined) {
    return switch (flag.shape()) {
      case SWITCH -> {
        if (joined) {
          problems.add(name + "=" + following.getFirst() + " (expected: no value)");
        }
        yield 0;
      }
      case VALUE, REPEATED -> {
        if (following.isEmpty()) {
          problems.add(name + ": missing (expected: a value)");
        }
        yield Math.min(1, following.size());
      }
      case LIST -> following.size();
      case GROUPS -> {
        if (following.isEmpty()) {
          problems.add(name + ": missing (expected: one value or more)");
        }
        yield following.size();
      }
    };
  }

  private static void add(Map<Flag, Given> given, Flag flag, List<String> values) {
    boolean value = flag.shape() == Flag.Shape.VALUE || flag.shape() == Flag.Shape.REPEATED;
    if (value && values.isEmpty()) {
      return;
    }
    Given before = given.get(flag);
    boolean adds = flag.shape() != Flag.Shape.VALUE;
    List<String> all = new ArrayList<>(before != null && adds ? before.values() : List.of());
    all.addAll(values);
    given.put(flag, new Given(flag.name(), all));
  }

  /** True if the argument is a flag; a negative number is a value. */
  private static boolean isFlag(String word) {
    return word.length() > 1 && word.charAt(0) == '-' && !Character.isDigit(word.charAt(1));
  }

  private @Nullable Flag find(String name) {
    Flag exact = byName.get(name);
    if (exact != null) {
      return exact;
    }
    if (prefixed && name.startsWith(PREFIX)) {
      String bare = "--" + name.substring(PREFIX.length());
      Flag flag = byName.get(bare);
      if (flag != null && !NEVER_PREFIXED.contains(bare)) {
        return flag;
      }
    }
    return abbreviated(name);
  }

  private List<String> known() {
    return Stream.concat(byName.keySet().stream(), own.keySet().stream()).toList();
  }

  private @Nullable Flag abbreviated(String name) {
    TreeSet<String> fitting = new TreeSet<>();
    Flag found = null;
    for (Map.Entry<String, Flag> each : byName.entrySet()) {
      if (name.length() > 2 && each.getKey().startsWith(name)) {
        fitting.add(each.getKey());
        found = each.getValue();
      }
    }
    if (fitting.size() == 1) {
      return found;
    }
    Flag ours = own.get(name);
    if (ours != null) {
      return ours;
    }
    problems.add(
        fitting.isEmpty()
            ? FormerKeys.problemOfFlag(name)
                .orElseGet(() -> name + ": unknown flag" + Nearest.hint(name, known()))
            : name + ": ambiguous (expected: one of " + String.join(", ", fitting) + ")");
    return null;
  }
}
