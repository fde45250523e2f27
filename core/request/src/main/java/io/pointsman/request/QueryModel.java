package io.pointsman.request;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The parameter {@code model} in the query string of a request target.
 *
 * @param model the decoded model; null if there is none. Of several parameters the last one counts,
 *     as in engines (Starlette)
 * @param further models that another server can read in the same query: of an earlier parameter, of
 *     a name in upper case, or behind a semicolon
 */
record QueryModel(@Nullable String model, Set<String> further) {
  private static final String NAME = "model";
  private static final QueryModel NONE = new QueryModel(null, Set.of());

  /** Maximum number of further models; the last of more is the empty name. */
  private static final int MOST_FURTHER = 16;

  static QueryModel of(String target) {
    int query = target.indexOf('?');
    if (query < 0) {
      return NONE;
    }
    String model = null;
    Set<String> all = new LinkedHashSet<>();
    for (String parameter : target.substring(query + 1).split("&", -1)) {
      if (name(parameter).equals(NAME)) {
        model = value(parameter);
      }
      for (String each : parameter.split(";", -1)) {
        if (name(each).equalsIgnoreCase(NAME)) {
          all.add(all.size() < MOST_FURTHER ? value(each) : "");
        }
      }
    }
    if (model == null) {
      return all.isEmpty() ? NONE : new QueryModel(null, all);
    }
    all.remove(model);
    return new QueryModel(model.isEmpty() ? null : model, all);
  }

  /**
   * The target with another model in its last parameter {@code model}, and the rest unchanged.
   *
   * @param model not encoded
   */
  static String renamed(String target, String model) {
    int query = target.indexOf('?');
    String[] parameters = target.substring(query + 1).split("&", -1);
    for (int i = parameters.length - 1; query >= 0 && i >= 0; i--) {
      if (name(parameters[i]).equals(NAME)) {
        String encoded = URLEncoder.encode(model, StandardCharsets.UTF_8).replace("+", "%20");
        parameters[i] = NAME + '=' + encoded;
        return target.substring(0, query + 1) + String.join("&", parameters);
      }
    }
    return target;
  }

  private static String name(String parameter) {
    int equals = parameter.indexOf('=');
    return decoded(equals < 0 ? parameter : parameter.substring(0, equals));
  }

  private static String value(String parameter) {
    int equals = parameter.indexOf('=');
    return equals < 0 ? "" : decoded(parameter.substring(equals + 1));
  }

  /** Decodes percent escapes and {@code +}. A malformed escape is a part of the name. */
  private static String decoded(String value) {
    byte[] from = value.getBytes(StandardCharsets.UTF_8);
    byte[] to = new byte[from.length];
    int length = 0;
    for (int i = 0; i < from.length; i++) {
      byte each = from[i];
      int escaped = each == '%' && i + 2 < from.length ? hex(from[i + 1], from[i + 2]) : -1;
      if (escaped >= 0) {
        i += 2;
        to[length++] = (byte) escaped;
      } else {
        to[length++] = each == '+' ? (byte) ' ' : each;
      }
    }
    return new String(to, 0, length, StandardCharsets.UTF_8);
  }

  /** The value of two hexadecimal digits; negative if one is none. */
  private static int hex(byte high, byte low) {
    int first = Character.digit(high, 16);
    int second = Character.digit(low, 16);
    return first < 0 || second < 0 ? -1 : 16 * first + second;
  }
}
