package io.pointsman.config.settings;

import java.util.regex.Pattern;

/** Syntax of Kubernetes namespaces and of the keys and values of labels. */
public final class LabelSyntax {
  private static final int LONGEST_PREFIX = 253;
  private static final Pattern PREFIX =
      Pattern.compile("[a-z0-9]([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*");
  private static final Pattern NAME =
      Pattern.compile("[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?");
  private static final Pattern NAMESPACE = Pattern.compile("[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?");

  private LabelSyntax() {}

  /** True for a valid key of a label: a name, optionally preceded by a domain and a slash. */
  public static boolean isKey(String text) {
    int slash = text.indexOf('/');
    return NAME.matcher(text.substring(slash + 1)).matches()
        && (slash < 0 || isPrefix(text.substring(0, slash)));
  }

  private static boolean isPrefix(String text) {
    return text.length() <= LONGEST_PREFIX && PREFIX.matcher(text).matches();
  }

  /** True for a valid value of a label, which may be empty. */
  public static boolean isValue(String text) {
    return text.isEmpty() || NAME.matcher(text).matches();
  }

  /** True for a valid name of a namespace. */
  public static boolean isNamespace(String text) {
    return NAMESPACE.matcher(text).matches();
  }
}
