package io.pointsman.it.golden;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Names, types, labels and buckets of the metrics on a page, without values. */
final class MetricFamilies {
  private static final Pattern LABEL = Pattern.compile("([a-z_]+)=\"((?:[^\"\\\\]|\\\\.)*)\"");
  private static final Pattern PART = Pattern.compile("_(bucket|sum|count)$");

  private static final class Family {
    final String type;
    final SortedSet<String> labels = new TreeSet<>();
    final List<String> buckets = new ArrayList<>();

    Family(String type) {
      this.type = type;
    }
  }

  private final Map<String, Family> families = new TreeMap<>();

  /** Adds the metrics of a page in Prometheus' text format. */
  void add(String page) {
    for (String line : page.lines().toList()) {
      String[] words = line.split(" ", -1);
      if (line.startsWith("# TYPE ")) {
        families.putIfAbsent(words[2], new Family(words[3]));
      } else if (!line.startsWith("#")) {
        series(line);
      }
    }
  }

  private void series(String line) {
    String name = line.replaceFirst("[{ ].*", "");
    Family family = families.get(name);
    if (family == null) {
      family = families.get(PART.matcher(name).replaceFirst(""));
    }
    if (family == null) {
      throw new AssertionError(line + " (expected: a TYPE before it)");
    }
    Matcher labels = LABEL.matcher(line);
    while (labels.find()) {
      if (!labels.group(1).equals("le")) {
        family.labels.add(labels.group(1));
      } else if (!family.buckets.contains(labels.group(2))) {
        family.buckets.add(labels.group(2));
      }
    }
  }

  /** A line for each metric: name, type, labels, upper ends of buckets. */
  String text() {
    StringBuilder text = new StringBuilder();
    families.forEach(
        (name, family) -> {
          text.append(name).append(' ').append(family.type);
          text.append(" {").append(String.join(",", family.labels)).append('}');
          if (!family.buckets.isEmpty()) {
            text.append(" le ").append(String.join(" ", family.buckets));
          }
          text.append('\n');
        });
    return text.toString();
  }
}
