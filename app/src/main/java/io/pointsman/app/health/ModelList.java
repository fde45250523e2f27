package io.pointsman.app.health;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.LinkedHashSet;
import java.util.Set;

/** Reads the names of models, adapters included, from an answer to {@code GET /v1/models}. */
final class ModelList {
  /** Names beyond these are not taken: nobody serves that many. */
  static final int MOST_MODELS = 10_000;

  private static final JsonFactory JSON = new JsonFactory();

  private ModelList() {}

  /**
   * The {@code id} of each element of {@code data}; empty if there is none.
   *
   * @throws IOException if {@code body} is not JSON
   */
  static Set<String> read(byte[] body) throws IOException {
    Set<String> names = new LinkedHashSet<>();
    try (JsonParser json = JSON.createParser(body)) {
      if (json.nextToken() != JsonToken.START_OBJECT) {
        return names;
      }
      while (json.nextToken() == JsonToken.FIELD_NAME) {
        boolean data = json.currentName().equals("data");
        if (json.nextToken() == JsonToken.START_ARRAY && data) {
          elements(json, names);
        } else {
          json.skipChildren();
        }
      }
    }
    return names;
  }

  private static void elements(JsonParser json, Set<String> names) throws IOException {
    while (json.nextToken() != JsonToken.END_ARRAY) {
      if (json.currentToken() != JsonToken.START_OBJECT) {
        json.skipChildren();
        continue;
      }
      while (json.nextToken() == JsonToken.FIELD_NAME) {
        boolean id = json.currentName().equals("id");
        boolean text = json.nextToken() == JsonToken.VALUE_STRING;
        if (id && text && names.size() < MOST_MODELS) {
          names.add(json.getText());
        }
        json.skipChildren();
      }
    }
  }
}
