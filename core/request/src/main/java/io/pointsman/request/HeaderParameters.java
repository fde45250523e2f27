package io.pointsman.request;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The parameters after a header's value: {@code ; name=value} or {@code ; name="value"} (RFC 9110,
 * 5.6.6). A backslash in quotes protects a quote. It is strict where servers differ.
 */
final class HeaderParameters {
  /** Further characters that mean the same to all servers. */
  private static final String USUAL = "/:=?,()@[]{}";

  /** A file's name in another encoding, beside {@code filename} or in its place. */
  static final String ENCODED_FILE = "filename*";

  static final HeaderParameters NONE = new HeaderParameters("");

  private final String text;
  private final Map<String, String> values = new HashMap<>();
  private int at;

  private HeaderParameters(String text) {
    this.text = text;
  }

  /**
   * The parameters of a header.
   *
   * @param text the whole value of the header
   * @return null if the text is malformed, or if servers read it differently: for example, if it
   *     repeats a name, splits or encodes another value than a file's name (RFC 2231), has other
   *     white space than blanks and tabs, or two backslashes in a row
   */
  static @Nullable HeaderParameters of(String text) {
    HeaderParameters parameters = new HeaderParameters(text);
    int end = text.indexOf(';');
    parameters.at = end < 0 ? text.length() : end;
    boolean kind = isToken(text.substring(0, parameters.at).strip().replace("/", ""));
    return kind && parameters.readAll() ? parameters : null;
  }

  /** The value of a parameter; null if it is absent. */
  @Nullable String value(String lowerCaseName) {
    return values.get(lowerCaseName);
  }

  private boolean readAll() {
    while (at < text.length()) {
      at++; // the semicolon
      skipBlanks();
      if (at == text.length()) {
        return true;
      }
      if (!readOne()) {
        return false;
      }
      skipBlanks();
      if (at < text.length() && text.charAt(at) != ';') {
        return false;
      }
    }
    return true;
  }

  private boolean readOne() {
    int equals = text.indexOf('=', at);
    if (equals < 0) {
      return false;
    }
    String name = text.substring(at, equals).toLowerCase(Locale.ROOT);
    at = equals + 1;
    String value = at < text.length() && text.charAt(at) == '"' ? quoted() : plain();
    if (!isToken(name) || value == null) {
      return false;
    }
    boolean usual = name.indexOf('*') < 0 || name.equals(ENCODED_FILE);
    return usual && values.put(name, value) == null;
  }

  private @Nullable String plain() {
    int from = at;
    while (at < text.length() && " \t;".indexOf(text.charAt(at)) < 0) {
      at++;
    }
    String value = text.substring(from, at);
    boolean usual = value.chars().allMatch(c -> isTokenCharacter(c) || USUAL.indexOf(c) >= 0);
    return usual && !value.isEmpty() ? value : null;
  }

  private @Nullable String quoted() {
    StringBuilder value = new StringBuilder();
    for (at++; at < text.length(); at++) {
      char c = text.charAt(at);
      if (c == '"') {
        at++;
        return value.toString();
      }
      char next = c == '\\' && at + 1 < text.length() ? text.charAt(at + 1) : 0;
      if (next == '\\') {
        return null; // some servers count the second one too, and see the end of the text elsewhere
      }
      if (next == '"') {
        at++;
      }
      value.append(text.charAt(at));
    }
    return null;
  }

  private void skipBlanks() {
    while (at < text.length() && " \t".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
  }

  /** True if all characters are valid in a name (RFC 9110, tchar). */
  static boolean isToken(String text) {
    return !text.isEmpty() && text.chars().allMatch(HeaderParameters::isTokenCharacter);
  }

  private static boolean isTokenCharacter(int c) {
    return (c >= '0' && c <= '9')
        || (c >= 'a' && c <= 'z')
        || (c >= 'A' && c <= 'Z')
        || "!#$%&'*+-.^_`|~".indexOf(c) >= 0;
  }
}
