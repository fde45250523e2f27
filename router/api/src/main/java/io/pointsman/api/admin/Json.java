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
    ObjectNode fields = object();
    fields.put("message", message);
    fields.put("type", error.type());
    fields.putNull("param");
    fields.put("code", error.code());
    ObjectNode body = object();
    body.set("error", fields);
    return answer(error.status(), body);
  }
}
