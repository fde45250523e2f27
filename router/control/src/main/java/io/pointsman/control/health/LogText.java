package io.pointsman.control.health;

import java.util.Collection;
import java.util.stream.Collectors;

/** Text from engines in a form for logs and error messages: one line of limited length. */
public final class LogText {
  private static final int MOST_CHARS = 200;
  private static final int MOST_NAMES = 20;

  private LogText() {}

  /** The text with its control characters escaped, cut after 200 characters. */
  public static String of(String text) {
    StringBuilder out = new StringBuilder(Math.min(text.length(), MOST_CHARS) + 16);
    int at = 0;
    while (at < text.length()) {
      if (out.length() >= MOST_CHARS) {
        return out.append("...").toString();
      }
      int c = text.codePointAt(at);
      at += Character.charCount(c);
      if (invisible(c)) {
        out.append(String.format("\\u%04x", c));
      } else {
        out.appendCodePoint(c);
      }
    }
    return out.toString();
  }

  /** Characters that end a line, change the direction of text, or cannot be encoded. */
  private static boolean invisible(int c) {
    return switch (Character.getType(c)) {
      case Character.CONTROL,
          Character.FORMAT,
          Character.SURROGATE,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR ->
          true;
      default -> false;
    };
  }

  /** The names in sorted order, each as {@link #of} shows it; at most 20 of them. */
  public static String ofNames(Collection<String> names) {
    String shown =
        names.stream()
            .sorted()
            .limit(MOST_NAMES)
            .map(LogText::of)
            .collect(Collectors.joining(", "));
    int more = names.size() - MOST_NAMES;
    return "[" + shown + (more > 0 ? ", and " + more + " more" : "") + "]";
  }
}
