package io.pointsman.tool.bench.proxies;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.stream.Collectors;

/**
 * Result of the load generator.
 *
 * @param problem the error; empty if there is none
 * @param seconds duration of the measurement in seconds
 * @param requests answered requests
 * @param events received stream events
 * @param requestBytes bytes of the bodies of answered requests
 * @param responseBytes bytes of the response bodies, without chunk framing
 * @param json all figures of the generator
 */
record LoadResult(
    String problem,
    double seconds,
    long requests,
    long events,
    long requestBytes,
    long responseBytes,
    JsonNode json) {
  private static final ObjectMapper JSON = new ObjectMapper();

  /**
   * Parses the generator's output.
   *
   * @param line one line of JSON
   */
  static LoadResult parse(String line) throws IOException {
    JsonNode json = JSON.readTree(line);
    String problem = "";
    if (!json.path("valid").asBoolean()) {
      problem =
          json.path("errors").properties().stream()
              .filter(error -> error.getValue().asLong() > 0)
              .map(error -> error.getValue().asLong() + " " + error.getKey())
              .collect(Collectors.joining(", "));
      String sample = json.path("sample").asText();
      problem = problem.isEmpty() ? "nothing answered" : problem;
      problem += sample.isEmpty() ? "" : " (" + sample.strip() + ")";
    }
    return new LoadResult(
        problem,
        json.path("seconds").asDouble(),
        json.path("requests").asLong(),
        json.path("events").asLong(),
        json.path("request_bytes").asLong(),
        json.path("response_bytes").asLong(),
        json);
  }

  /** Bodies in both directions, in MB. */
  double bodyMb() {
    return (requestBytes + responseBytes) / 1e6;
  }

  /** CPU time of the generator, in seconds. */
  double cpuSeconds() {
    return json.path("cpu_seconds").asDouble();
  }

  /**
   * A percentile of a histogram, in milliseconds.
   *
   * @param histogram for example {@code latency_us}
   * @param which for example {@code p99}
   */
  double millis(String histogram, String which) {
    return json.path(histogram).path(which).asDouble() / 1000;
  }
}
