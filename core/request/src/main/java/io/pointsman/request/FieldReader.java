package io.pointsman.request;

import io.pointsman.engine.policy.RequestFields;
import io.pointsman.engine.policy.WantedFields;
import io.pointsman.request.json.JsonCursor;
import io.pointsman.request.json.JsonValues;
import io.pointsman.request.json.StringScanner;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/**
 * Reader of the headers and body members that policies request. One thread; reused for all
 * requests.
 */
final class FieldReader {
  private final WantedFields wanted;
  private final JsonCursor json = new JsonCursor(StringScanner.best());

  FieldReader(WantedFields wanted) {
    this.wanted = wanted;
  }

  /**
   * Reads the wanted headers and members of one request.
   *
   * @param facts facts of the same request; {@code body} selects the bodies with members
   */
  RequestFields read(
      RequestFacts facts,
      RequestHeaders headers,
      byte[] body,
      int offset,
      int length,
      boolean truncated) {
    boolean object =
        switch (facts.body().kind()) {
          case OBJECT, TRUNCATED -> true;
          case EMPTY, OPAQUE, FORM, NOT_OBJECT, MALFORMED -> false;
        };
    Map<String, Object> members =
        object && !wanted.body().isEmpty() ? members(body, offset, length) : Map.of();
    return new RequestFields("", headers(headers), members, !truncated);
  }

  private Map<String, String> headers(RequestHeaders headers) {
    Map<String, String> found = new HashMap<>();
    if (!wanted.headers().isEmpty()) {
      headers.forEach(
          (name, value) -> {
            String lower = name.toString().toLowerCase(Locale.ROOT);
            if (wanted.wantsHeader(lower)) {
              found.putIfAbsent(lower, value.toString());
            }
          });
    }
    return found;
  }

  /** The wanted members. If a name occurs more than once, the last value counts, as in engines. */
  private Map<String, Object> members(byte[] body, int offset, int length) {
    Map<String, Object> found = new LinkedHashMap<>();
    json.reset(body, offset, offset + length);
    if (json.peek() == '{') {
      JsonValues values = new JsonValues(json, body, offset);
      for (boolean more = json.firstMember(); more; more = json.nextMember()) {
        member(values, found);
      }
    }
    json.release();
    return found;
  }

  private void member(JsonValues values, Map<String, Object> found) {
    String key = json.key();
    if (!wanted.wantsField(key)) {
      json.value();
      return;
    }
    Object value = values.next();
    // A value that is cut or invalid counts as absent.
    if (value == null || json.problem() != null) {
      found.remove(key);
    } else {
      found.put(key, value);
    }
  }
}
