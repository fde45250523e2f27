package io.pointsman.api.keys;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import io.pointsman.api.admin.Json;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.identity.ClientQuota;
import io.pointsman.proxy.identity.ClientQuotas;
import io.pointsman.proxy.identity.KeyRole;
import io.pointsman.proxy.identity.Priority;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The client in the answer of a server that confirms keys: the object {@code pointsman} of a JSON
 * document, with the fields {@code name}, {@code role}, {@code models}, {@code limits} and {@code
 * priority} of a key in a file. An answer without this object names no client. If the object is
 * ambiguous or invalid, or the answer is no text, the answer is invalid: otherwise the client would
 * lose its limits. Messages name fields, never a value of the answer, which can contain the key.
 */
public final class VerdictFields {
  /** Maximum size of an answer with the object. */
  static final int MOST_BYTES = 64 << 10;

  /**
   * Start of the names of such clients. Names in a file contain no colon, so a server cannot give a
   * name of the file.
   */
  public static final String PREFIX = "confirmed:";

  private static final String GROUP = "pointsman";
  private static final Pattern MEMBER =
      Pattern.compile("\"pointsman\"\\s*:", Pattern.CASE_INSENSITIVE);
  private static final Pattern ESCAPED = Pattern.compile("\\\\u00([2-7][0-9a-fA-F])");

  /** A character that no text contains; compressed answers do. */
  private static final Pattern BINARY = Pattern.compile("[\\x01-\\x08\\x0b\\x0e-\\x1f\\x7f]");

  private static final ObjectReader STRICT =
      Json.MAPPER
          .reader()
          .with(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .with(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
  private static final int MOST_MODELS = 100;
  private static final int LONGEST_MODEL = 256;
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._@-]{0,63}");
  private static final List<String> FIELDS =
      List.of("name", "role", "models", "limits", "priority");

  private VerdictFields() {}

  /**
   * The client that an answer names.
   *
   * @return null if it names none
   * @throws IllegalArgumentException if the answer is invalid; the message has no part of it
   */
  public static @Nullable ClientIdentity client(byte[] body) {
    String text = new String(body, StandardCharsets.ISO_8859_1).replace("\0", "");
    if (BINARY.matcher(text).find()) {
      throw new IllegalArgumentException("body: compressed or binary (expected: a text)");
    }
    if (!mentions(text)) {
      return null;
    }
    if (body.length > MOST_BYTES) {
      throw new IllegalArgumentException(
          "body: " + body.length + " bytes (expected: at most " + MOST_BYTES + ")");
    }
    JsonNode root;
    try {
      root = STRICT.readTree(body);
    } catch (JsonProcessingException e) {
      // The message of the cause can contain the key.
      throw new IllegalArgumentException(
          "body: invalid at character " + e.getLocation().getCharOffset() + " (expected: JSON)");
    } catch (IOException e) {
      throw new IllegalArgumentException("body: invalid Unicode (expected: JSON)");
    }
    JsonNode fields = root.get(GROUP);
    if (fields == null || !fields.isObject()) {
      throw new IllegalArgumentException(GROUP + ": (expected: an object in the document)");
    }
    return client(fields);
  }

  /**
   * True if the body has a member with the name of the object, in any encoding of Unicode, and with
   * any letters escaped.
   */
  private static boolean mentions(String text) {
    String plain =
        ESCAPED
            .matcher(text)
            .replaceAll(
                found ->
                    Matcher.quoteReplacement(
                        Character.toString(Integer.parseInt(found.group(1), 16))));
    return MEMBER.matcher(plain).find();
  }

  private static ClientIdentity client(JsonNode fields) {
    for (Map.Entry<String, JsonNode> each : fields.properties()) {
      if (!FIELDS.contains(each.getKey())) {
        throw new IllegalArgumentException(
            GROUP + ": unknown field (expected: " + String.join(", ", FIELDS) + ")");
      }
    }
    String name = text(fields, "name");
    if (name == null || !NAME.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "name: missing or invalid (expected: at most 64 letters, digits, '.', '_', '@' and '-')");
    }
    String role = text(fields, "role");
    if (role != null && !role.equals(KeyRole.CLIENT.text())) {
      throw new IllegalArgumentException("role: (expected: client)");
    }
    String priority = text(fields, "priority");
    return new ClientIdentity(
        ClientIdentity.Kind.CONFIRMED,
        PREFIX + name,
        models(fields.get("models")),
        new ClientQuotas(limits(fields.get("limits")), Map.of()),
        priority == null ? null : priority(priority));
  }

  private static Priority priority(String text) {
    Priority found = Priority.find(text);
    if (found == null) {
      throw new IllegalArgumentException("priority: (expected: high, normal or low)");
    }
    return found;
  }

  private static @Nullable String text(JsonNode fields, String name) {
    JsonNode found = fields.get(name);
    if (found == null) {
      return null;
    }
    if (!found.isTextual()) {
      throw new IllegalArgumentException(name + ": (expected: a text)");
    }
    return found.asText();
  }

  private static Set<String> models(@Nullable JsonNode found) {
    if (found == null) {
      return Set.of();
    }
    // An empty list could be meant as no model; a missing one means all.
    if (!found.isArray() || found.isEmpty() || found.size() > MOST_MODELS) {
      throw new IllegalArgumentException(
          "models: (expected: a list of 1 to " + MOST_MODELS + " names)");
    }
    Set<String> models = new HashSet<>();
    for (JsonNode each : found) {
      if (!each.isTextual() || each.asText().isBlank() || each.asText().length() > LONGEST_MODEL) {
        throw new IllegalArgumentException(
            "models: (expected: names of at most " + LONGEST_MODEL + " characters)");
      }
      models.add(each.asText());
    }
    return models;
  }

  private static ClientQuota limits(@Nullable JsonNode found) {
    if (found == null) {
      return ClientQuota.INHERITED;
    }
    if (!found.isObject()) {
      throw new IllegalArgumentException("limits: (expected: an object)");
    }
    Map<String, String> fields = new HashMap<>();
    for (Map.Entry<String, JsonNode> each : found.properties()) {
      if (!QuotaFields.NAMES.contains(each.getKey())) {
        throw new IllegalArgumentException(
            "limits: unknown limit (expected: " + String.join(", ", QuotaFields.NAMES) + ")");
      }
      JsonNode value = each.getValue();
      if (!value.isIntegralNumber() || !value.canConvertToInt() || value.asInt() < 0) {
        throw new IllegalArgumentException(
            "limits: " + each.getKey() + ": (expected: a whole number from 0 to 2147483647)");
      }
      fields.put(each.getKey(), value.asText());
    }
    return QuotaFields.of(fields);
  }
}
