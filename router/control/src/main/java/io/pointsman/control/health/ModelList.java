package io.pointsman.control.health;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.pointsman.engine.fleet.ServedModels;
import java.io.IOException;
import java.util.HashSet;
import java.util.Set;

/** Reads models and adapters from a response to {@code GET /v1/models}. */
final class ModelList {
  /** Maximum number of names; further ones are ignored. */
  static final int MOST_MODELS = 10_000;

  private static final JsonFactory JSON = new JsonFactory();

  private final Set<String> names = new HashSet<>();
  private final Set<String> adapters = new HashSet<>();

  private ModelList() {}

  /**
   * The {@code id} of each element of {@code data}. An element with another {@code parent} is an
   * adapter.
   *
   * @return empty sets if the response contains no models
   * @throws IOException if {@code body} is not JSON
   */
  static ServedModels read(byte[] body) throws IOException {
    ModelList list = new ModelList();
    try (JsonParser json = JSON.createParser(body)) {
      if (json.nextToken() == JsonToken.START_OBJECT) {
        list.members(json);
      }
    }
    return ServedModels.told(list.names, list.adapters);
  }

  private void members(JsonParser json) throws IOException {
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      boolean data = json.currentName().equals("data");
      if (json.nextToken() == JsonToken.START_ARRAY && data) {
        elements(json);
      } else {
        json.skipChildren();
      }
    }
  }

  private void elements(JsonParser json) throws IOException {
    while (json.nextToken() != JsonToken.END_ARRAY) {
      if (json.currentToken() == JsonToken.START_OBJECT) {
        element(json);
      } else {
        json.skipChildren();
      }
    }
  }

  private void element(JsonParser json) throws IOException {
    String id = null;
    String parent = "";
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      String name = json.currentName();
      if (json.nextToken() == JsonToken.VALUE_STRING) {
        id = name.equals("id") ? json.getText() : id;
        parent = name.equals("parent") ? json.getText() : parent;
      }
      json.skipChildren();
    }
    if (id != null && names.size() < MOST_MODELS) {
      names.add(id);
      if (!parent.isEmpty() && !parent.equals(id)) {
        adapters.add(id);
      }
    }
  }
}
