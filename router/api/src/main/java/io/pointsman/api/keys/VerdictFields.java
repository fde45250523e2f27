package io.pointsman.api.keys;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import io.pointsman.api.admin.Json;
import io.pointsman.config.value.Nearest;
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
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The client in the answer of a server that confirms keys: the object {@code pointsman} of a JSON
 * document, with the fields {@code name}, {@code role}, {@code models}, {@code limits} and {@code
 * priority} of a key in a file. An answer without this object names no client. If the object is in
 * the answer, but not readable without doubt, the answer is invalid: otherwise the client would
 * lose its limits.
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
   * @throws IllegalArgumentException if the answer is invalid; the message has no part of the key
   */
  public static @Nullable ClientIdentity client(byte[] body) {
    if (!mentions(body)) {
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
      throw new IllegalStateException(e); // the bytes are in memory
    }
    JsonNode fields = root.get(GROUP);
    if (fields == null || !fields.isObject()) {
      throw new IllegalArgumentException(GROUP + ": (expected: an object in the document)");
    }
    return client(fields);
  }

  /** True if the body has a member with the name of the object, in any encoding of Unicode. */
  private static boolean mentions(byte[] body) {
    String text = new String(body, StandardCharsets.ISO_8859_1).replace("\0", "");
    return MEMBER.matcher(text).find();
  }

  private static ClientIdentity client(JsonNode fields) {
    for (Map.Entry<String, JsonNode> each : fields.properties()) {
      if (!FIELDS.contains(each.getKey())) {
        throw new IllegalArgumentException(
            shown(each.getKey()) + ": unknown field" + Nearest.hint(shown(each.getKey()), FIELDS));
      }
    }
    String name = text(fields, "name");
    if (name == null || !NAME.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "name: missing or invalid (expected: at most 64 letters, digits, '.', '_', '@' and '-')");
    }
    String role = text(fields, "role");
    if (role != null && !role.equals(KeyRole.CLIENT.text())) {
      throw new IllegalArgumentException("role: " + shown(role) + " (expected: client)");
    }
    String priority = text(fields, "priority");
    return new ClientIdentity(
        ClientIdentity.Kind.CONFIRMED,
        PREFIX + name,
        models(fields.get("models")),
        new ClientQuotas(limits(fields.get("limits")), Map.of()),
        priority == null ? null : Priority.of(shown(priority)));
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
      if (!each.getValue().isIntegralNumber()) {
        throw new IllegalArgumentException(
            "limits: " + shown(each.getKey()) + ": (expected: a whole number)");
      }
      fields.put(shown(each.getKey()), each.getValue().asText());
    }
    return QuotaFields.of(fields);
  }

  /** A text of a server in a message. */
  private static String shown(String text) {
    String cut = text.length() <= 64 ? text : text.substring(0, 64) + "...";
    return new String(cut.getBytes(StandardCharsets.US_ASCII), StandardCharsets.US_ASCII)
        .replaceAll("[^ -~]", "?");
  }
}
