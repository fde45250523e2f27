package io.pointsman.app.admin;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.proxy.local.LocalResponse;
import java.io.UncheckedIOException;

/** Answers in JSON. Never on a hot path. */
final class Json {
  static final ObjectMapper MAPPER = new ObjectMapper();

  private Json() {}

  static ObjectNode object() {
    return MAPPER.createObjectNode();
  }

  static LocalResponse answer(int status, JsonNode json) {
    try {
      return LocalResponse.json(status, MAPPER.writeValueAsString(json));
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** An error in OpenAI's shape. */
  static LocalResponse error(int status, String type, String code, String message) {
    ObjectNode error = object();
    error.put("message", message);
    error.put("type", type);
    error.putNull("param");
    error.put("code", code);
    ObjectNode body = object();
    body.set("error", error);
    return answer(status, body);
  }
}
