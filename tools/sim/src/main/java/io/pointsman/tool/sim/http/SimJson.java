package io.pointsman.tool.sim.http;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Reads and writes JSON. */
public final class SimJson {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private SimJson() {}

  public static ObjectNode object() {
    return MAPPER.createObjectNode();
  }

  public static ArrayNode array() {
    return MAPPER.createArrayNode();
  }

  /** Creates an array of numbers. */
  public static ArrayNode array(int[] values) {
    ArrayNode array = MAPPER.createArrayNode();
    for (int value : values) {
      array.add(value);
    }
    return array;
  }

  /** Returns a text as a JSON string, including quotes. */
  public static String quote(String text) {
    return MAPPER.getNodeFactory().textNode(text).toString();
  }

  /**
   * Parses a body.
   *
   * @throws RequestError 400 if it is not a JSON object or array
   */
  public static JsonNode parse(byte[] body) {
    JsonNode node;
    try {
      node = MAPPER.readTree(body);
    } catch (IOException e) {
      throw RequestError.malformed("body: not valid JSON (expected: a JSON object)", null);
    }
    if (node == null || !node.isContainerNode()) {
      throw RequestError.malformed("body: not an object (expected: a JSON object)", null);
    }
    return node;
  }

  /** Serialises a document. */
  public static byte[] bytes(JsonNode node) {
    try {
      return MAPPER.writeValueAsBytes(node);
    } catch (JsonProcessingException e) {
      return node.toString().getBytes(StandardCharsets.UTF_8);
    }
  }

  /** Creates an error in Anthropic's form. */
  public static ObjectNode anthropicError(String type, String message) {
    ObjectNode root = object().put("type", "error");
    root.putObject("error").put("type", type).put("message", message);
    return root;
  }

  /** Creates an error in OpenAI's form. */
  public static ObjectNode error(int status, String type, String message, @Nullable String param) {
    ObjectNode root = object();
    root.putObject("error")
        .put("message", message)
        .put("type", type)
        .put("param", param)
        .put("code", status);
    return root;
  }
}
