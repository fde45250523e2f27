package io.pointsman.app.compat.ray;

import io.pointsman.app.config.value.Nearest;
import io.pointsman.app.config.value.Raw;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * One value of the file with the path that leads to it. What is not as it should be goes into the
 * report, and reading goes on as if it were not there.
 */
final class RayNode {
  private static final Map<String, Boolean> FLAGS =
      Map.of("true", true, "True", true, "false", false, "False", false);

  private final String path;
  private final Raw raw;
  private final RayReport report;

  RayNode(String path, Raw raw, RayReport report) {
    this.path = path;
    this.raw = raw;
    this.report = report;
  }

  String path() {
    return path;
  }

  Raw raw() {
    return raw;
  }

  /** Whether nothing is written here, or null. */
  boolean absent() {
    return raw instanceof Raw.Scalar(String text, _) && text.isEmpty();
  }

  /** Says what is wrong with this value. */
  void wrong(String problem) {
    report.problems.add(raw.where() + ": " + path + ": " + problem);
  }

  /** Says that this value has no effect here, unless there is none. */
  void idle(String why) {
    if (!absent()) {
      report.notes.add(path + ": no effect here: " + why);
    }
  }

  /** The value of a key; absent if it is not written. */
  RayNode at(String key) {
    Raw value = entries().get(key);
    String to = path.isEmpty() ? key : path + "." + key;
    return new RayNode(to, value == null ? new Raw.Scalar("", raw.where()) : value, report);
  }

  boolean has(String key) {
    return !at(key).absent();
  }

  private Map<String, Raw> entries() {
    return raw instanceof Raw.Entries(Map<String, Raw> entries, _) ? entries : Map.of();
  }

  /** The keys of this group, in the order in which they are written; none if it is none. */
  Set<String> names() {
    return entries().keySet();
  }

  /**
   * Checks that this is a group of known keys.
   *
   * @param honoured keys that are read elsewhere
   * @param idle keys that mean nothing here, each with the reason
   */
  RayNode keys(List<String> honoured, Map<String, String> idle) {
    if (absent()) {
      return this;
    }
    if (!(raw instanceof Raw.Entries)) {
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

  /** The elements of a list; none if nothing is written. */
  List<RayNode> items() {
    if (absent()) {
      return List.of();
    }
    if (!(raw instanceof Raw.Items(List<Raw> items, _))) {
      wrong("not a list (expected: a list)");
      return List.of();
    }
    List<RayNode> nodes = new ArrayList<>();
    for (int i = 0; i < items.size(); i++) {
      nodes.add(new RayNode(path + "[" + i + "]", items.get(i), report));
    }
    return nodes;
  }

  /** A text; empty if nothing is written, or something else. */
  String text() {
    if (raw instanceof Raw.Scalar(String text, _)) {
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

  /** A whole number within a range. */
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

  /** A number within a range, which may reach up to infinity. */
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
      // Told below, as for a number out of range.
    }
    wrong(text + " (expected: a number from " + shown(least) + " to " + shown(most) + ")");
    return Optional.empty();
  }

  private static String shown(double bound) {
    return bound == Math.rint(bound) && Math.abs(bound) < 1e15
        ? Long.toString((long) bound)
        : Double.toString(bound);
  }

  /** A time in seconds, of at least {@code least}. */
  Optional<Duration> seconds(Duration least) {
    double from = least.toNanos() / 1e9;
    return number(from, 86_400).map(seconds -> Duration.ofNanos(Math.round(seconds * 1e9)));
  }
}
