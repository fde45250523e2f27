package io.pointsman.batch;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.proxy.local.LocalRequest;
import io.pointsman.proxy.local.LocalResponse;
import io.pointsman.proxy.reply.ErrorCode;
import io.pointsman.proxy.reply.LocalError;
import io.pointsman.proxy.reply.ProxyError;
import java.io.UncheckedIOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** JSON answers of the endpoints for files and batches. */
final class Answers {
  static final ObjectMapper MAPPER = new ObjectMapper();

  /** Maximum number of items in a list, and the number without {@code limit}. */
  private static final int LONGEST_LIST = 100;

  private static final int USUAL_LIST = 20;

  private Answers() {}

  static ObjectNode object() {
    return MAPPER.createObjectNode();
  }

  /** A document on one line. */
  static String text(JsonNode json) {
    try {
      return MAPPER.writeValueAsString(json);
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }

  static LocalResponse ok(JsonNode json) {
    return LocalResponse.json(200, text(json));
  }

  /** An error in OpenAI's form. */
  static LocalResponse error(ErrorCode error, String message, @Nullable String parameter) {
    ObjectNode fields = object();
    fields.put("message", message);
    fields.put("type", error.type());
    fields.put("param", parameter);
    fields.put("code", error.code());
    ObjectNode body = object();
    body.set("error", fields);
    return LocalResponse.json(error.status(), text(body));
  }

  static LocalResponse missing(String parameter) {
    String message = "Missing required parameter '" + parameter + "'";
    return error(LocalError.MISSING_PARAMETER, message, parameter);
  }

  static LocalResponse notFound(String kind, String id) {
    return error(ProxyError.NOT_FOUND, kind + " " + shown(id) + " not found", "id");
  }

  /** An id as it may stand in an answer. */
  private static String shown(String id) {
    String plain = id.replaceAll("[^\\x20-\\x7e]", "?");
    return plain.length() > 100 ? plain.substring(0, 100) + "..." : plain;
  }

  /** The number of items that a request for a list asks for; 0 if the parameter is invalid. */
  static int limit(LocalRequest request) {
    String given = request.parameter("limit");
    if (given == null || given.isEmpty()) {
      return USUAL_LIST;
    }
    try {
      int limit = Integer.parseInt(given);
      return limit < 1 ? 0 : Math.min(limit, LONGEST_LIST);
    } catch (NumberFormatException e) {
      return 0;
    }
  }

  static LocalResponse badLimit() {
    return error(ProxyError.INVALID_PARAMETER, "limit: invalid (expected: 1 to 100)", "limit");
  }

  /**
   * A page of a list.
   *
   * @param items one more than {@code limit} if there is a further page
   */
  static LocalResponse list(List<ObjectNode> items, int limit) {
    ObjectNode body = object();
    body.put("object", "list");
    ArrayNode data = body.putArray("data");
    items.stream().limit(limit).forEach(data::add);
    body.put("first_id", data.isEmpty() ? null : data.get(0).path("id").asText());
    body.put("last_id", data.isEmpty() ? null : data.get(data.size() - 1).path("id").asText());
    body.put("has_more", items.size() > limit);
    return ok(body);
  }
}
