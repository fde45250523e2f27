package io.pointsman.batch;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Check of the input of a batch, before any of its requests is sent. */
final class InputCheck {
  /** Maximum number of errors that are reported. */
  private static final int MOST_ERRORS = 100;

  private static final int LONGEST_ID = 512;

  private final String endpoint;
  private final int mostRequests;
  private final Set<String> ids = new HashSet<>();
  private final ArrayNode errors = Answers.MAPPER.createArrayNode();
  private int total;

  /**
   * @param endpoint path of all requests
   */
  InputCheck(String endpoint, int mostRequests) {
    this.endpoint = endpoint;
    this.mostRequests = mostRequests;
  }

  /** Reads the file, up to the maximum number of errors. */
  InputCheck read(Path file) throws IOException {
    try (Lines lines = new Lines(file)) {
      for (String line = lines.next(); line != null; line = lines.next()) {
        if (errors.size() >= MOST_ERRORS) {
          return this;
        }
        if (++total > mostRequests) {
          error(
              "too_many_requests",
              "more than " + mostRequests + " requests (batch.max-requests)",
              null,
              lines.number());
          return this;
        }
        check(line, lines);
      }
    }
    if (total == 0) {
      error("empty_file", "the file has no requests", null, 0);
    }
    return this;
  }

  /** Number of requests. */
  int total() {
    return total;
  }

  /** The errors of the API; empty if the input is good. */
  ArrayNode errors() {
    return errors;
  }

  private void check(String line, Lines lines) {
    int number = lines.number();
    if (lines.tooLong()) {
      error("line_too_long", "more than " + Lines.LONGEST + " bytes", null, number);
      return;
    }
    JsonNode request;
    try {
      request = Answers.MAPPER.readTree(line);
    } catch (JsonProcessingException e) {
      error("invalid_json_line", "not a JSON object", null, number);
      return;
    }
    if (!request.isObject()) {
      error("invalid_json_line", "not a JSON object", null, number);
      return;
    }
    JsonNode id = request.path("custom_id");
    if (!id.isTextual() || id.asText().isEmpty() || id.asText().length() > LONGEST_ID) {
      error(
          "missing_required_parameter", "no custom_id of 1 to 512 characters", "custom_id", number);
    } else if (!ids.add(id.asText())) {
      error("duplicate_custom_id", "a line before it has the same custom_id", "custom_id", number);
    }
    if (!request.path("method").asText("POST").equals("POST")) {
      error("invalid_method", "the method is not POST", "method", number);
    }
    if (!request.path("url").asText(endpoint).equals(endpoint)) {
      error("mismatched_url", "the url is not the batch's endpoint " + endpoint, "url", number);
    }
    JsonNode body = request.path("body");
    if (!body.isObject()) {
      error("missing_required_parameter", "no body that is an object", "body", number);
    } else if (body.path("stream").asBoolean()) {
      error("invalid_parameter", "a batch has no streams", "body.stream", number);
    }
  }

  private void error(String code, String message, @Nullable String parameter, int line) {
    ObjectNode error = errors.addObject();
    error.put("code", code);
    error.put("message", line == 0 ? message : "line " + line + ": " + message);
    error.put("param", parameter);
    if (line == 0) {
      error.putNull("line");
    } else {
      error.put("line", line);
    }
  }
}
