package io.pointsman.engine.env;

import java.util.Collection;
import java.util.stream.Collectors;

/**
 * Text from outside in a form for logs and error messages: one line of limited length. Engines,
 * clients and other systems choose such text.
 */
public final class LogText {
  private static final int MOST_CHARS = 200;
  private static final int MOST_NAMES = 20;

  private LogText() {}

  /** The text with its control characters escaped, cut after 200 characters. */
  public static String of(String text) {
    return of(text, MOST_CHARS);
  }

  /** The text with its control characters escaped, cut after {@code most} characters. */
  public static String of(String text, int most) {
    if (text.length() <= most && plain(text)) {
      return text;
    }
    StringBuilder out = new StringBuilder(Math.min(text.length(), most) + 16);
    int at = 0;
    while (at < text.length()) {
      if (out.length() >= most) {
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

  /** True if all characters are printable ASCII, as in most texts. */
  private static boolean plain(String text) {
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c < ' ' || c > '~') {
        return false;
      }
    }
    return true;
  }

  /** The description of a failure. Its message may come from outside. */
  public static String of(Throwable failure) {
    return of(failure.toString());
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
