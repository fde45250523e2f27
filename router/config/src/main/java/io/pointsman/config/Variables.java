package io.pointsman.config;

import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Replaces <code>${NAME}</code> in the values of a file by environment variables. <code>$${</code>
 * stands for <code>${</code>. Replaced text is not searched again.
 */
final class Variables {
  /** Maximum number of problems that are reported. */
  private static final int MOST_PROBLEMS = 100;

  private static final Pattern REFERENCE =
      Pattern.compile("\\$\\$\\{|\\$\\{(?:([A-Za-z_][A-Za-z0-9_]*)})?");

  private final Map<String, String> environment;
  private final List<String> problems;

  /**
   * @param problems receives references that cannot be replaced
   */
  Variables(Map<String, String> environment, List<String> problems) {
    this.environment = environment;
    this.problems = problems;
  }

  /** The text in which a reference is only a text. */
  static String escaped(String text) {
    return text.replace("${", "$${");
  }

  /**
   * The text with its references replaced.
   *
   * @param where position of the text
   * @param lenient true if a variable that is not set counts as empty
   */
  String replaced(String text, String where, boolean lenient) {
    if (!text.contains("${")) {
      return text;
    }
    return REFERENCE
        .matcher(text)
        .replaceAll(
            found ->
                Matcher.quoteReplacement(value(found.group(), found.group(1), where, lenient)));
  }

  private String value(String written, @Nullable String name, String where, boolean lenient) {
    if (written.startsWith("$$")) {
      return "${";
    }
    if (name == null) {
      problem(where + ": ${ without a name (expected: ${NAME}, or $${ for the text itself)");
      return "";
    }
    String value = environment.get(name);
    if (value == null && !lenient) {
      problem(where + ": ${" + name + "}: not set in the environment (expected: a value)");
    }
    return value == null ? "" : value;
  }

  /** Adds a problem, once for a value that aliases repeat. */
  private void problem(String problem) {
    if (problems.size() < MOST_PROBLEMS && !problems.contains(problem)) {
      problems.add(problem);
    }
  }
}
