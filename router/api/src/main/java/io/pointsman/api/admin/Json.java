package io.pointsman.api.admin;

import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.core.io.JsonEOFException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.reply.ErrorCode;
import java.io.IOException;
import java.io.UncheckedIOException;

/** JSON responses of the router's own endpoints; not for hot paths. */
public final class Json {
  public static final ObjectMapper MAPPER = new ObjectMapper();

  private Json() {}

  public static ObjectNode object() {
    return MAPPER.createObjectNode();
  }

  /**
   * A document.
   *
   * @param status status of a success, or of an engine's answer; others come from an {@link
   *     ErrorCode}
   */
  public static LocalResponse answer(int status, JsonNode json) {
    try {
      return LocalResponse.json(status, MAPPER.writeValueAsString(json));
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** An error with a document in the form of the API that the endpoint follows. */
  public static LocalResponse answer(ErrorCode error, JsonNode json) {
    return answer(error.status(), json);
  }

  /**
   * The problem of a body that is not JSON, for its sender. The words are the router's, because the
   * parser names its own classes and settings.
   *
   * @param e the failure of the parser on bytes in memory
   */
  public static String problem(IOException e) {
    String what =
        switch (e) {
          case JsonEOFException _ -> "ends too early";
          case StreamConstraintsException _ -> "nested too deep, or a number is too long";
          case JsonProcessingException _ -> "unexpected character";
          default -> "not UTF-8";
        };
    JsonLocation at = e instanceof JsonProcessingException json ? json.getLocation() : null;
    String where = at == null ? "" : " at line " + at.getLineNr() + ", column " + at.getColumnNr();
    return "request body: " + what + where + " (expected: valid JSON)";
  }

  /** An error of the router in OpenAI's format, with its status, type and code. */
  public static LocalResponse error(ErrorCode error, String message) {
    ObjectNode fields = object();
    fields.put("message", message);
    fields.put("type", error.type());
    fields.putNull("param");
    fields.put("code", error.code());
    ObjectNode body = object();
    body.set("error", fields);
    return answer(error, body);
  }
}
