package io.pointsman.request;

import java.net.URLDecoder;
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

  private static String decoded(String value) {
    try {
      return URLDecoder.decode(value, StandardCharsets.UTF_8);
    } catch (IllegalArgumentException _) {
      return value; // a malformed escape is a part of the name
    }
  }
}
