package io.pointsman.control.discovery;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The names that a short name can mean, by the lines {@code search} and {@code options ndots} of
 * {@code resolv.conf}. In a pod, {@code engines.inference} means a Service.
 */
final class SearchPath {
  private static final int MOST_DOMAINS = 32;
  private static final Pattern BLANKS = Pattern.compile("\\s+");
  private static final String NDOTS = "ndots:";

  private final Path resolvConf;

  SearchPath(Path resolvConf) {
    this.resolvConf = resolvConf;
  }

  /** Complete names with a dot at the end, in the order in which to look them up. */
  List<String> names(String name) {
    if (name.endsWith(".")) {
      return List.of(name);
    }
    List<String> domains = new ArrayList<>();
    int ndots = 1;
    for (String line : lines()) {
      List<String> words = List.of(BLANKS.split(line.strip()));
      if (words.getFirst().equals("search") || words.getFirst().equals("domain")) {
        domains = words.subList(1, Math.min(words.size(), MOST_DOMAINS + 1));
      } else if (words.getFirst().equals("options")) {
        ndots = ndots(words, ndots);
      }
    }
    List<String> names = new ArrayList<>();
    for (String domain : domains) {
      names.add(name + "." + (domain.endsWith(".") ? domain : domain + "."));
    }
    boolean complete = name.chars().filter(c -> c == '.').count() >= ndots;
    names.add(complete ? 0 : names.size(), name + ".");
    return names;
  }

  private static int ndots(List<String> words, int usual) {
    for (String word : words) {
      if (word.matches(NDOTS + "\\d{1,2}")) {
        return Integer.parseInt(word.substring(NDOTS.length()));
      }
    }
    return usual;
  }

  private List<String> lines() {
    try {
      return Files.readAllLines(resolvConf);
    } catch (IOException _) {
      return List.of();
    }
  }
}
