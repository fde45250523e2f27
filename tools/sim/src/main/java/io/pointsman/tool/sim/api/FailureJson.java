package io.pointsman.tool.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.pointsman.tool.sim.failure.FailureTable;
import io.pointsman.tool.sim.failure.Fault;
import io.pointsman.tool.sim.failure.ScheduledFault;
import io.pointsman.tool.sim.http.RequestError;
import io.pointsman.tool.sim.http.SimJson;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** Failures as JSON, for the admin endpoint and the command line. */
public final class FailureJson {
  private static final Set<String> COMMON = Set.of("kind", "probability", "count", "path");

  private FailureJson() {}

  /**
   * Parses one failure, for example {@code {"kind":"status","status":503,"count":3}}.
   *
   * @throws IllegalArgumentException if it is no failure
   */
  public static ScheduledFault parse(String text) {
    try {
      return one(SimJson.parse(text.getBytes(StandardCharsets.UTF_8)));
    } catch (RequestError e) {
      throw new IllegalArgumentException(e.text(), e);
    }
  }

  /** Reads one failure or a list of them. */
  static List<ScheduledFault> read(JsonNode node) {
    List<ScheduledFault> failures = new ArrayList<>();
    if (node.isArray()) {
      node.forEach(item -> failures.add(one(item)));
    } else {
      failures.add(one(node));
    }
    return failures;
  }

  static ObjectNode write(FailureTable.Active active) {
    ScheduledFault failure = active.failure();
    ObjectNode node = SimJson.object().put("id", active.id()).put("kind", failure.fault().kind());
    node.put("probability", failure.probability()).put("count", failure.count());
    node.put("path", failure.path()).put("struck", active.struck());
    switch (failure.fault()) {
      case Fault.Refuse f -> node.put("for_ms", f.forMillis());
      case Fault.ResetAfterBytes f -> node.put("bytes", f.bytes()).put("orderly", f.orderly());
      case Fault.Hang f -> node.put("for_ms", f.forMillis());
      case Fault.SlowFirstToken f -> node.put("ms", f.millis());
      case Fault.Status f -> node.put("status", f.code()).put("retry_after", f.retryAfterSeconds());
      case Fault.Poison f -> node.put("text", f.text());
      case Fault.MalformedChunk f -> {}
      case Fault.FlappingHealth f -> node.put("up_ms", f.upMillis()).put("down_ms", f.downMillis());
    }
    return node;
  }

  private static ScheduledFault one(JsonNode node) {
    Reader reader = new Reader(node);
    try {
      Fault fault = fault(reader);
      reader.refuseUnknown();
      return new ScheduledFault(
          fault,
          node.path("probability").asDouble(1),
          node.path("count").asInt(0),
          node.path("path").asText(""));
    } catch (IllegalArgumentException e) {
      throw RequestError.badRequest(String.valueOf(e.getMessage()), null);
    }
  }

  private static Fault fault(Reader reader) {
    String kind = reader.node.path("kind").asText("").toLowerCase(Locale.ROOT);
    return switch (kind) {
      case "refuse" -> new Fault.Refuse(reader.number("for_ms", 1000, 1));
      case "reset_after_bytes" ->
          new Fault.ResetAfterBytes(reader.number("bytes", 0, 0), reader.flag("orderly"));
      case "hang" -> new Fault.Hang(reader.number("for_ms", 0, 0));
      case "slow_first_token" -> new Fault.SlowFirstToken(reader.number("ms", 1000, 0));
      case "status" ->
          new Fault.Status(
              (int) reader.number("status", 500, 400), (int) reader.number("retry_after", 0, 0));
      case "poison" -> new Fault.Poison(reader.text("text"));
      case "malformed_chunk" -> new Fault.MalformedChunk();
      case "flapping_health" ->
          new Fault.FlappingHealth(
              reader.number("up_ms", 1000, 0), reader.number("down_ms", 1000, 1));
      case "" -> throw new IllegalArgumentException("kind: missing (expected: a failure)");
      default ->
          throw new IllegalArgumentException(
              "kind: "
                  + kind
                  + " (expected: refuse, reset_after_bytes, hang, slow_first_token, status,"
                  + " poison, malformed_chunk or flapping_health)");
    };
  }

  /** Reads the fields of one failure and records their names. */
  private static final class Reader {
    final JsonNode node;
    private final List<String> known = new ArrayList<>(COMMON);

    Reader(JsonNode node) {
      this.node = node;
    }

    long number(String field, long otherwise, long least) {
      known.add(field);
      JsonNode value = node.path(field);
      long number = value.isMissingNode() ? otherwise : value.asLong(Long.MIN_VALUE);
      if (number < least) {
        throw new IllegalArgumentException(
            field + ": " + value + " (expected: at least " + least + ")");
      }
      return number;
    }

    String text(String field) {
      known.add(field);
      return node.path(field).asText("");
    }

    boolean flag(String field) {
      known.add(field);
      return node.path(field).asBoolean(false);
    }

    void refuseUnknown() {
      node.fieldNames()
          .forEachRemaining(
              name -> {
                if (!known.contains(name)) {
                  throw new IllegalArgumentException(
                      name + ": unknown (expected: one of " + known + ")");
                }
              });
    }
  }
}
