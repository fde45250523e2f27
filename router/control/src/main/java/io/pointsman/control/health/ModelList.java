package io.pointsman.control.health;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.pointsman.engine.fleet.ServedModels;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Reads models and adapters from a response to {@code GET /v1/models}. */
final class ModelList {
  /** Maximum number of names; further ones are ignored. */
  static final int MOST_MODELS = 10_000;

  /** Maximum length of a name in characters. Others are ignored: metrics and lists have it. */
  static final int LONGEST_NAME = 512;

  private static final JsonFactory JSON = new JsonFactory();

  private final Set<String> names = new HashSet<>();
  private final Set<String> adapters = new HashSet<>();

  private ModelList() {}

  /**
   * The {@code id} of each element of {@code data}, and its {@code aliases} (llama.cpp). An element
   * with another {@code parent} is an adapter.
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
    return ServedModels.reported(list.names, list.adapters);
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
    List<String> aliases = new ArrayList<>();
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      String name = json.currentName();
      JsonToken value = json.nextToken();
      if (value == JsonToken.VALUE_STRING) {
        id = name.equals("id") ? json.getText() : id;
        parent = name.equals("parent") ? json.getText() : parent;
      } else if (value == JsonToken.START_ARRAY && name.equals("aliases")) {
        texts(json, aliases);
      } else {
        json.skipChildren();
      }
    }
    if (id != null) {
      boolean adapter = !parent.isEmpty() && !parent.equals(id);
      add(id, adapter);
      for (String alias : aliases) {
        add(alias, adapter);
      }
    }
  }

  private void add(String name, boolean adapter) {
    if (names.size() < MOST_MODELS && !name.isBlank() && name.length() <= LONGEST_NAME) {
      names.add(name);
      if (adapter) {
        adapters.add(name);
      }
    }
  }

  /** Adds the strings of a list, as many as can be used. */
  private static void texts(JsonParser json, List<String> texts) throws IOException {
    while (json.nextToken() != JsonToken.END_ARRAY) {
      if (json.currentToken() == JsonToken.VALUE_STRING && texts.size() < MOST_MODELS) {
        texts.add(json.getText());
      }
      json.skipChildren();
    }
  }
}
