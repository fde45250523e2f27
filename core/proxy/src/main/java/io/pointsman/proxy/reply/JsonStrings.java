package io.pointsman.proxy.reply;

/** Text in a JSON string. */
final class JsonStrings {
  /** Maximum number of characters of a text. */
  private static final int LONGEST = 300;

  private JsonStrings() {}

  /**
   * The first 300 characters of {@code text}, with all characters outside printable ASCII escaped.
   */
  static String escape(String text) {
    StringBuilder out = new StringBuilder(text.length() + 16);
    for (int i = 0; i < Math.min(text.length(), LONGEST); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c >= ' ' && c <= '~') {
        out.append(c);
      } else {
        out.append("\\u").append(Character.forDigit(c >> 12, 16));
        out.append(Character.forDigit(c >> 8 & 15, 16));
        out.append(Character.forDigit(c >> 4 & 15, 16));
        out.append(Character.forDigit(c & 15, 16));
      }
    }
    return text.length() > LONGEST ? out.append("...").toString() : out.toString();
  }
}
