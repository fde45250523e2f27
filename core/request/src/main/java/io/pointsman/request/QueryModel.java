package io.pointsman.request;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** The parameter {@code model} in the query string of a request target. */
final class QueryModel {
  private static final String NAME = "model=";

  private QueryModel() {}

  /**
   * The decoded model; null if there is none. Of several parameters the last one counts, as in
   * engines (Starlette).
   */
  static @Nullable String of(String target) {
    int query = target.indexOf('?');
    if (query < 0) {
      return null;
    }
    String model = null;
    for (String parameter : target.substring(query + 1).split("&", -1)) {
      if (parameter.startsWith(NAME)) {
        model = decoded(parameter.substring(NAME.length()));
      }
    }
    return model == null || model.isEmpty() ? null : model;
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
