package io.pointsman.api.admin;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.reply.ProxyError;
import java.io.UncheckedIOException;

/** JSON responses of the router's own endpoints; not for hot paths. */
public final class Json {
  public static final ObjectMapper MAPPER = new ObjectMapper();

  private Json() {}

  public static ObjectNode object() {
    return MAPPER.createObjectNode();
  }

  public static LocalResponse answer(int status, JsonNode json) {
    try {
      return LocalResponse.json(status, MAPPER.writeValueAsString(json));
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** An error of the router in OpenAI's format, with its status, type and code. */
  public static LocalResponse error(ProxyError error, String message) {
    return error(error.status(), error.type(), error.code(), message);
  }

  /** An error response in OpenAI's format. */
  public static LocalResponse error(int status, String type, String code, String message) {
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
