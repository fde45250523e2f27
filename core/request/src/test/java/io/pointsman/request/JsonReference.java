package io.pointsman.request;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.request.BodyVerdict.Kind;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Reference model of a body: Jackson reads it into maps and lists. Slow and simple. The one-pass
 * reader must find the same facts.
 */
final class JsonReference {
  /** A number or literal with its original characters. */
  record Literal(String text) {}

  private static final JsonFactory JACKSON =
      JsonFactory.builder()
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(Integer.MAX_VALUE)
                  .maxNumberLength(Integer.MAX_VALUE)
                  .maxNameLength(Integer.MAX_VALUE)
                  .build())
          .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
          .disable(StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION)
          .build();

  /** A string, or a run of bytes that can be part of a number or literal. */
  private static final Pattern TOKEN =
      Pattern.compile("\"(?:[^\"\\\\]|\\\\.)*+\"|[^ \\t\\n\\r,:\\]}\\[{\"]++", Pattern.DOTALL);

  private static final Pattern NUMBER = Pattern.compile("-?[0-9][0-9+.eE-]*");

  /** Values that Jackson accepts as numbers and engines do not. */
  private static final Set<String> ONLY_JACKSONS = Set.of("+Infinity", "INF", "+INF", "-INF");

  private JsonReference() {}

  /**
   * The kind of a body by its structure. Contents of strings and the form of numbers do not count,
   * so Jackson reads a copy with harmless ones.
   */
  static Kind kind(byte[] body) {
    String text = new String(withoutMark(body), ISO_8859_1);
    if (text.replaceAll("[ \\t\\n\\r]", "").isEmpty()) {
      return Kind.EMPTY;
    }
    String harmless =
        TOKEN.matcher(text).replaceAll(token -> Matcher.quoteReplacement(harmless(token.group())));
    try {
      return parse(harmless) instanceof Map ? Kind.OBJECT : Kind.NOT_OBJECT;
    } catch (IOException e) {
      return Kind.MALFORMED;
    }
  }

  private static String harmless(String token) {
    if (token.startsWith("\"")) {
      return "\"\"";
    }
    return NUMBER.matcher(token).matches() ? "0" : token;
  }

  /** The same body with other white space between its tokens. */
  static byte[] respaced(byte[] body) {
    String text = new String(withoutMark(body), ISO_8859_1);
    StringBuilder out = new StringBuilder();
    Matcher tokens = TOKEN.matcher(text);
    int behind = 0;
    while (tokens.find()) {
      out.append(text.substring(behind, tokens.start()).replaceAll("\\s", ""));
      out.append("\n ").append(tokens.group()).append('\t');
      behind = tokens.end();
    }
    out.append(text.substring(behind).replaceAll("\\s", "")).append("\r\n");
    return out.toString().getBytes(ISO_8859_1);
  }

  /** The object in a body, by the strict standard; null if there is none. */
  static @Nullable Map<?, ?> object(byte[] body) {
    try {
      String text = UTF_8.newDecoder().decode(ByteBuffer.wrap(withoutMark(body))).toString();
      return parse(text) instanceof Map<?, ?> object ? object : null;
    } catch (CharacterCodingException notText) {
      return null;
    } catch (IOException notJson) {
      return null;
    }
  }

  private static byte[] withoutMark(byte[] body) {
    String text = new String(body, ISO_8859_1);
    return text.startsWith("\u00EF\u00BB\u00BF") ? text.substring(3).getBytes(ISO_8859_1) : body;
  }

  /** Maps, lists, strings and {@link Literal}s. The last of duplicate members counts. */
  private static Object parse(String text) throws IOException {
    Deque<Object> open = new ArrayDeque<>();
    Deque<String> names = new ArrayDeque<>();
    List<Object> root = new ArrayList<>();
    open.push(root);
    try (JsonParser parser = JACKSON.createParser(text)) {
      for (JsonToken token = parser.nextToken(); token != null; token = parser.nextToken()) {
        switch (token) {
          case FIELD_NAME -> names.push(parser.getText());
          case START_OBJECT -> open.push(put(open, names, new LinkedHashMap<String, Object>()));
          case START_ARRAY -> open.push(put(open, names, new ArrayList<>()));
          case END_OBJECT, END_ARRAY -> open.pop();
          case VALUE_STRING -> put(open, names, parser.getText());
          default -> put(open, names, literal(parser.getText()));
        }
      }
    }
    if (root.size() != 1) {
      throw new IOException(root.size() + " values (expected: 1)");
    }
    return root.getFirst();
  }

  private static Literal literal(String text) throws IOException {
    if (ONLY_JACKSONS.contains(text)) {
      throw new IOException(text + " (expected: NaN, Infinity or -Infinity)");
    }
    return new Literal(text);
  }

  @SuppressWarnings("unchecked") // only this class puts elements into these lists
  private static Object put(Deque<Object> open, Deque<String> names, Object value) {
    if (open.element() instanceof List<?> list) {
      ((List<Object>) list).add(value);
    } else {
      ((Map<String, Object>) open.element()).put(names.pop(), value);
    }
    return value;
  }

  /** The string at {@code name}; null if it is absent or empty. */
  static @Nullable String text(Map<?, ?> object, String name) {
    return object.get(name) instanceof String text && !text.isEmpty() ? text : null;
  }

  /** True if {@code name} is true, or a number or text that pydantic reads as true. */
  static boolean isTrue(Map<?, ?> object, String name) {
    Object value = object.get(name);
    return value instanceof Literal literal
        ? literal.text().matches("true|1|1\\.0")
        : value instanceof String text && text.matches("(?i)true|t|yes|y|on|1");
  }

  /** The identity in the body, by the order of precedence of its fields. */
  static @Nullable AffinityKey affinity(Map<?, ?> object) {
    String[][] places = {
      {"vllm_xargs", "agentic_context"},
      {"agent_hint", "session_id"},
      {"session_params", "session_id"},
      {"conversation", "id"},
      {"conversation"},
      {"prompt_cache_key"},
      {"user"},
      {"session_id"},
      {"user_id"},
      {"metadata", "user_id"},
      {"session_params", "user_id"},
      {"safety_identifier"}
    };
    for (String[] place : places) {
      Object value = object.get(place[0]);
      if (place.length > 1) {
        value = value instanceof Map<?, ?> inner ? inner.get(place[1]) : null;
      }
      String id = place[0].equals("vllm_xargs") ? agentic(value) : scalar(value);
      if (!id.isBlank()) {
        return Identities.key(AffinityKey.Kind.SESSION, "body:" + String.join(".", place), id);
      }
    }
    return null;
  }

  /**
   * True if Jackson can read the identity. It cannot if the text of an agentic context is a
   * malformed object; the reader uses the part before the error.
   */
  static boolean namesAffinity(Map<?, ?> object) {
    return !(object.get("vllm_xargs") instanceof Map<?, ?> inner
        && inner.get("agentic_context") instanceof String text
        && text.stripLeading().startsWith("{")
        && object(text.getBytes(UTF_8)) == null);
  }

  private static String agentic(@Nullable Object value) {
    Object context = value instanceof String text ? object(text.getBytes(UTF_8)) : value;
    if (!(context instanceof Map<?, ?> object)) {
      return "";
    }
    String program = scalar(object.get("program_id"));
    if (!program.isBlank()) {
      return program;
    }
    String task = scalar(object.get("task_id"));
    String run = task.isBlank() ? scalar(object.get("session_id")) : task;
    String agent = scalar(object.get("agent_id"));
    return run.isBlank() || agent.isBlank() ? run : run + "/" + agent;
  }

  private static String scalar(@Nullable Object value) {
    if (value instanceof String text) {
      return text;
    }
    return value instanceof Literal literal && literal.text().matches("-?[0-9].*")
        ? literal.text()
        : "";
  }
}
