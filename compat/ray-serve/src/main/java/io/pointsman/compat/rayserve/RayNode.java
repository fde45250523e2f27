package io.pointsman.compat.rayserve;

import io.pointsman.config.value.Nearest;
import io.pointsman.config.value.RawValue;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** A value of the file, with its path. An invalid value is reported and then treated as missing. */
final class RayNode {
  private static final Map<String, Boolean> FLAGS =
      Map.of("true", true, "True", true, "false", false, "False", false);

  private final String path;
  private final RawValue raw;
  private final RayReport report;

  RayNode(String path, RawValue raw, RayReport report) {
    this.path = path;
    this.raw = raw;
    this.report = report;
  }

  String path() {
    return path;
  }

  RawValue raw() {
    return raw;
  }

  /** True if the value is missing or null. */
  boolean absent() {
    return raw instanceof RawValue.Scalar(String text, _) && text.isEmpty();
  }

  /** Reports a problem with this value. */
  void wrong(String problem) {
    report.problems.add(raw.where() + ": " + path + ": " + problem);
  }

  /** Reports that this value has no effect, if it is present. */
  void idle(String why) {
    if (!absent()) {
      report.notes.add(path + ": no effect here: " + why);
    }
  }

  /** The value of a key; absent if the file does not contain it. */
  RayNode at(String key) {
    RawValue value = entries().get(key);
    String to = path.isEmpty() ? key : path + "." + key;
    return new RayNode(to, value == null ? new RawValue.Scalar("", raw.where()) : value, report);
  }

  boolean has(String key) {
    return !at(key).absent();
  }

  private Map<String, RawValue> entries() {
    return raw instanceof RawValue.Entries(Map<String, RawValue> entries, _) ? entries : Map.of();
  }

  /** The keys of this group in file order; empty if this is not a group. */
  Set<String> names() {
    return entries().keySet();
  }

  /**
   * Checks that this is a group of known keys.
   *
   * @param honoured keys that are read elsewhere
   * @param idle keys without effect, each with the reason
   */
  RayNode keys(List<String> honoured, Map<String, String> idle) {
    if (absent()) {
      return this;
    }
    if (!(raw instanceof RawValue.Entries)) {
      wrong("not a group of keys (expected: key: value)");
      return this;
    }
    List<String> known = Stream.concat(honoured.stream(), idle.keySet().stream()).sorted().toList();
    for (String key : entries().keySet()) {
      String why = idle.get(key);
      if (why != null) {
        at(key).idle(why);
      } else if (!honoured.contains(key)) {
        at(key).wrong("unknown key" + Nearest.hint(key, known));
      }
    }
    return this;
  }

  /** The elements of a list; empty if the list is missing or invalid. */
  List<RayNode> items() {
    if (absent()) {
      return List.of();
    }
    if (!(raw instanceof RawValue.Items(List<RawValue> items, _))) {
      wrong("not a list (expected: a list)");
      return List.of();
    }
    List<RayNode> nodes = new ArrayList<>();
    for (int i = 0; i < items.size(); i++) {
      nodes.add(new RayNode(path + "[" + i + "]", items.get(i), report));
    }
    return nodes;
  }

  /** The text; empty if it is missing or invalid. */
  String text() {
    if (raw instanceof RawValue.Scalar(String text, _)) {
      return text;
    }
    wrong("not a string (expected: a string)");
    return "";
  }

  Optional<Boolean> flag() {
    Boolean flag = absent() ? null : FLAGS.get(text());
    if (flag == null && !absent()) {
      wrong(text() + " (expected: true or false)");
    }
    return Optional.ofNullable(flag);
  }

  /** A whole number in a range. */
  Optional<Integer> whole(int least, int most) {
    return number(least, most)
        .filter(
            number -> {
              boolean whole = number == Math.rint(number);
              if (!whole) {
                wrong(text() + " (expected: a whole number)");
              }
              return whole;
            })
        .map(Double::intValue);
  }

  /** A number in a range, possibly infinite. */
  Optional<Double> number(double least, double most) {
    if (absent()) {
      return Optional.empty();
    }
    String text = text();
    try {
      String plain = text.replaceFirst("(?i)^([+-]?)\\.?inf(inity)?$", "$1Infinity");
      double number = Double.parseDouble(plain.replace("_", ""));
      if (number >= least && number <= most) {
        return Optional.of(number);
      }
    } catch (NumberFormatException e) {
      // Reported below, like a number out of range.
    }
    wrong(text + " (expected: a number from " + shown(least) + " to " + shown(most) + ")");
    return Optional.empty();
  }

  private static String shown(double bound) {
    return bound == Math.rint(bound) && Math.abs(bound) < 1e15
        ? Long.toString((long) bound)
        : Double.toString(bound);
  }

  /** A time in seconds, from {@code least} to one day. */
  Optional<Duration> seconds(Duration least) {
    double from = least.toNanos() / 1e9;
    return number(from, 86_400).map(seconds -> Duration.ofNanos(Math.round(seconds * 1e9)));
  }
}
