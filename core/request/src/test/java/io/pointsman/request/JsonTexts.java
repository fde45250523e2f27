package io.pointsman.request;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.Tuple;

/** Generator of request bodies. It also writes one body in many equivalent forms. */
public final class JsonTexts {
  public static final ObjectMapper MAPPER = new ObjectMapper();
  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
  private static final List<String> NAMES =
      List.of("model", "stream", "user", "session_id", "user_id", "session_params", "prompt");

  private JsonTexts() {}

  /** Any object. Many of its members have names that the reader knows. */
  public static Arbitrary<ObjectNode> bodies() {
    return object(value(3), 6);
  }

  /** A chat of one to six messages, with tools and sampling parameters. */
  static Arbitrary<ObjectNode> chats() {
    Arbitrary<JsonNode> text = text(150).map(NODES::textNode);
    Arbitrary<JsonNode> part = text.map(t -> NODES.objectNode().put("type", "text").set("text", t));
    Arbitrary<JsonNode> image =
        text(20)
            .map(
                url -> NODES.objectNode().put("type", "image_url").put("image_url", "http:" + url));
    Arbitrary<JsonNode> parts = array(Arbitraries.oneOf(part, image), 1, 3);
    Arbitrary<JsonNode> content = Arbitraries.oneOf(text, parts);
    Arbitrary<String> roles = Arbitraries.of("user", "assistant", "system", "tool");
    Arbitrary<JsonNode> message =
        Combinators.combine(roles, content, value(2))
            .as(
                (role, body, extra) ->
                    NODES
                        .objectNode()
                        .put("role", role)
                        .<ObjectNode>set("content", body)
                        .set("tool_calls", extra));
    return Combinators.combine(array(message, 1, 6), array(value(3), 0, 3))
        .as(
            (messages, tools) ->
                NODES
                    .objectNode()
                    .put("model", "m")
                    .<ObjectNode>set("messages", messages)
                    .set("tools", tools));
  }

  /** The chat with cache marks, nulls, empty lists and empty texts at random places. */
  static ObjectNode marked(ObjectNode chat, Random random) {
    ObjectNode copy = chat.deepCopy();
    copy.forEach(value -> mark(value, random));
    for (JsonNode message : copy.get("messages")) {
      if (random.nextBoolean()) {
        ((ObjectNode) message).put("refusal", "").putArray("annotations");
      }
    }
    return copy;
  }

  private static void mark(JsonNode node, Random random) {
    node.forEach(inner -> mark(inner, random));
    if (node instanceof ObjectNode object && random.nextBoolean()) {
      object.putObject("cache_control").put("type", "ephemeral");
      object.putNull("nothing");
    }
  }

  /** The body as text, with members in random order and random white space. */
  public static String write(JsonNode node, Random random) {
    StringBuilder out = new StringBuilder();
    write(node, random, out);
    return out.toString();
  }

  private static void write(JsonNode node, Random random, StringBuilder out) {
    space(random, out);
    switch (node) {
      case ObjectNode object -> {
        List<String> names = new ArrayList<>();
        object.fieldNames().forEachRemaining(names::add);
        Collections.shuffle(names, random);
        out.append('{');
        for (String name : names) {
          separate(out, '{');
          space(random, out);
          out.append(NODES.textNode(name));
          space(random, out);
          out.append(':');
          write(object.get(name), random, out);
        }
        out.append('}');
      }
      case ArrayNode array -> {
        out.append('[');
        for (JsonNode element : array) {
          separate(out, '[');
          write(element, random, out);
        }
        out.append(' ').append(']');
      }
      default -> out.append(node);
    }
    space(random, out);
  }

  private static void separate(StringBuilder out, char open) {
    if (out.charAt(out.length() - 1) != open) {
      out.append(',');
    }
  }

  private static void space(Random random, StringBuilder out) {
    if (random.nextInt(4) == 0
        && !out.isEmpty()
        && "{[".indexOf(out.charAt(out.length() - 1)) < 0) {
      out.append(" \n\r\t".charAt(random.nextInt(4)));
    }
  }

  private static Arbitrary<JsonNode> value(int depth) {
    Arbitrary<JsonNode> leaf =
        Arbitraries.oneOf(
            text(30).map(NODES::textNode),
            Arbitraries.longs().map(NODES::numberNode),
            Arbitraries.bigIntegers().map(NODES::numberNode),
            Arbitraries.doubles().map(NODES::numberNode),
            Arbitraries.of(true, false).map(NODES::booleanNode),
            Arbitraries.just(NODES.nullNode()));
    if (depth == 0) {
      return leaf;
    }
    Arbitrary<JsonNode> object = object(value(depth - 1), 4).map(node -> node);
    return Arbitraries.frequencyOf(
        Tuple.of(3, leaf), Tuple.of(1, object), Tuple.of(1, array(value(depth - 1), 0, 4)));
  }

  private static Arbitrary<ObjectNode> object(Arbitrary<JsonNode> values, int members) {
    Arbitrary<String> names = Arbitraries.oneOf(Arbitraries.of(NAMES), text(12));
    return Arbitraries.maps(names, values)
        .ofMaxSize(members)
        .map(m -> NODES.objectNode().setAll(m));
  }

  private static Arbitrary<JsonNode> array(Arbitrary<JsonNode> elements, int min, int max) {
    return elements
        .list()
        .ofMinSize(min)
        .ofMaxSize(max)
        .map(list -> NODES.arrayNode().addAll(list));
  }

  private static Arbitrary<String> text(int length) {
    return Arbitraries.strings()
        .withCharRange(' ', '~')
        .withChars('"', '\\', '\n', '\u0001', 'é', '中', '\u2028')
        .ofMaxLength(length);
  }
}
