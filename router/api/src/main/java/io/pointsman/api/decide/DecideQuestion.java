package io.pointsman.api.decide;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import io.pointsman.api.admin.Json;
import io.pointsman.config.value.Nearest;
import io.pointsman.engine.choice.Alternatives;
import io.pointsman.engine.choice.ExternalLeaseSettings;
import io.pointsman.engine.choice.LeaseTerms;
import io.pointsman.engine.fleet.FleetSnapshot;
import io.pointsman.engine.fleet.Worker;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The body of {@code POST /v1/decide}, parsed in one pass. The client's body inside it is not
 * decoded but referenced by position. Its routing key is therefore computed from the original
 * bytes, as in the built-in proxy. Single use.
 */
final class DecideQuestion {
  /** Text length is unlimited here; {@code limits.max-buffered-body} limits the whole body. */
  private static final JsonFactory JSON =
      JsonFactory.builder()
          .streamReadConstraints(
              StreamReadConstraints.builder().maxStringLength(Integer.MAX_VALUE).build())
          .build();

  private static final byte[] NOTHING = {};
  private static final int MOST_NAMES = 1024;
  private static final List<String> FIELDS =
      List.of(
          "path",
          "method",
          "headers",
          "body",
          "truncated",
          "ttl_ms",
          "reserve",
          "lease",
          "alternatives",
          "exclude",
          "explain",
          "dry_run");

  private final byte[] bytes;
  private final ExternalLeaseSettings bounds;

  String path = "/v1/chat/completions";
  String method = "POST";
  final Map<String, List<String>> headers = new LinkedHashMap<>();

  /** The client's body: array, offset and length in bytes. */
  byte[] body = NOTHING;

  int from;
  int length;

  /** True if only the first part of the client's body is given. */
  boolean truncated;

  private Duration ttl;
  private boolean reserve = true;
  private @Nullable String lease;
  int alternatives = 2;

  /** True if the response must contain the policy's view of each worker. */
  boolean explain;

  /** True if nobody sends the request: the choice is shown and leaves no trace. */
  boolean dryRun;

  /** Ids of workers that must not be chosen. */
  List<String> exclude = List.of();

  private DecideQuestion(byte[] bytes, ExternalLeaseSettings bounds) {
    this.bytes = bytes;
    this.bounds = bounds;
    ttl = bounds.standardTtl();
  }

  /**
   * Parses a question.
   *
   * @throws IllegalArgumentException if it is malformed; the message names the field and the
   *     expected value
   */
  static DecideQuestion parse(byte[] bytes, ExternalLeaseSettings bounds) {
    DecideQuestion question = new DecideQuestion(bytes, bounds);
    try (JsonParser json = JSON.createParser(bytes)) {
      question.read(json);
    } catch (IOException e) {
      throw new IllegalArgumentException(Json.problem(e), e);
    }
    return question;
  }

  /** The excluded workers that are in the fleet. */
  List<Worker> excluded(FleetSnapshot snapshot) {
    List<Worker> workers = new ArrayList<>();
    for (String id : exclude) {
      Worker worker = snapshot.worker(id);
      if (worker != null) {
        workers.add(worker);
      }
    }
    return workers;
  }

  /**
   * The requested lease; null if the caller wants none.
   *
   * @param owner kind of the caller
   */
  @Nullable LeaseTerms terms(String owner) {
    return reserve ? new LeaseTerms(ttl, lease, owner) : null;
  }

  private void read(JsonParser json) throws IOException {
    if (json.nextToken() != JsonToken.START_OBJECT) {
      throw new IllegalArgumentException(
          "request body: not an object (expected: a JSON object with path, headers and body)");
    }
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      String field = json.currentName();
      JsonToken value = json.nextToken();
      if (value != JsonToken.VALUE_NULL) {
        field(field, value, json);
      } else if (!FIELDS.contains(field)) {
        throw unknown(field);
      }
    }
    if (json.nextToken() != null) {
      throw new IllegalArgumentException(
          "request body: more data after its end (expected: one JSON object)");
    }
    if (dryRun && lease != null) {
      throw new IllegalArgumentException("lease: set (expected: no lease if dry_run is true)");
    }
    if (!reserve && lease != null) {
      throw new IllegalArgumentException("lease: set (expected: no lease if reserve is false)");
    }
  }

  private void field(String field, JsonToken value, JsonParser json) throws IOException {
    switch (field) {
      case "path" -> path = path(text(field, value, json));
      case "method" -> method = text(field, value, json);
      case "headers" -> headers(value, json);
      case "body" -> body(value, json);
      case "truncated" -> truncated = flag(field, value, json);
      case "ttl_ms" -> ttl = Duration.ofMillis(whole(field, value, json, millis()));
      case "reserve" -> reserve = flag(field, value, json);
      case "lease" -> lease = new LeaseTerms(ttl, text(field, value, json)).id();
      case "alternatives" -> alternatives = (int) whole(field, value, json, Alternatives.MOST);
      case "explain" -> explain = flag(field, value, json);
      case "dry_run" -> dryRun = flag(field, value, json);
      case "exclude" -> exclude = texts(field, value, json);
      default -> throw unknown(field);
    }
    if (ttl.isZero()) {
      throw new IllegalArgumentException("ttl_ms: 0 (expected: 1 to " + millis() + ")");
    }
  }

  private long millis() {
    return bounds.maxTtl().toMillis();
  }

  private static IllegalArgumentException unknown(String field) {
    if (field.equals("hold")) {
      return new IllegalArgumentException(field + ": former name (expected: reserve)");
    }
    return new IllegalArgumentException(field + ": unknown field" + Nearest.hint(field, FIELDS));
  }

  private static String path(String path) {
    if (!path.startsWith("/")) {
      throw new IllegalArgumentException("path: " + path + " (expected: begins with /)");
    }
    return path;
  }

  private void headers(JsonToken value, JsonParser json) throws IOException {
    if (value != JsonToken.START_OBJECT) {
      throw wrong("headers", "names, each with a string or a list of strings");
    }
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      String name = json.currentName();
      JsonToken token = json.nextToken();
      if (headers.size() >= MOST_NAMES) {
        throw wrong("headers", "at most " + MOST_NAMES + " names");
      }
      if (token == JsonToken.START_ARRAY) {
        headers.put(name, texts("headers." + name, token, json));
      } else if (token != JsonToken.VALUE_NULL) {
        headers.put(name, List.of(text("headers." + name, token, json)));
      }
    }
  }

  /** Reads the client's body. A text contains the body; an object or array is the body itself. */
  private void body(JsonToken value, JsonParser json) throws IOException {
    switch (value) {
      case VALUE_STRING -> {
        body = json.getText().getBytes(StandardCharsets.UTF_8);
        from = 0;
        length = body.length;
      }
      case START_OBJECT, START_ARRAY -> {
        long first = json.currentTokenLocation().getByteOffset();
        json.skipChildren();
        long behind = json.currentLocation().getByteOffset();
        if (first < 0 || behind > bytes.length) {
          throw new IllegalArgumentException("request body: not UTF-8 (expected: UTF-8)");
        }
        body = bytes;
        from = (int) first;
        length = (int) (behind - first);
      }
      default -> throw wrong("body", "the client's body, as JSON or as a string that contains it");
    }
  }

  private static String text(String field, JsonToken value, JsonParser json) throws IOException {
    if (value != JsonToken.VALUE_STRING) {
      throw wrong(field, "a string");
    }
    return json.getText();
  }

  private static boolean flag(String field, JsonToken value, JsonParser json) throws IOException {
    if (!value.isBoolean()) {
      throw wrong(field, "true or false");
    }
    return json.getBooleanValue();
  }

  private static long whole(String field, JsonToken value, JsonParser json, long most)
      throws IOException {
    String expected = "a whole number, at most " + most;
    if (value != JsonToken.VALUE_NUMBER_INT) {
      throw wrong(field, expected);
    }
    String digits = json.getText();
    long number = digits.length() > 18 ? Long.MAX_VALUE : Long.parseLong(digits);
    if (number < 0 || number > most) {
      throw new IllegalArgumentException(field + ": " + digits + " (expected: " + expected + ")");
    }
    return number;
  }

  private static List<String> texts(String field, JsonToken value, JsonParser json)
      throws IOException {
    if (value != JsonToken.START_ARRAY) {
      throw wrong(field, "a list of strings");
    }
    List<String> texts = new ArrayList<>();
    while (json.nextToken() != JsonToken.END_ARRAY) {
      if (texts.size() >= MOST_NAMES) {
        throw wrong(field, "at most " + MOST_NAMES + " texts");
      }
      texts.add(text(field, json.currentToken(), json));
    }
    return texts;
  }

  private static IllegalArgumentException wrong(String field, String expected) {
    return new IllegalArgumentException(field + ": of another type (expected: " + expected + ")");
  }
}
