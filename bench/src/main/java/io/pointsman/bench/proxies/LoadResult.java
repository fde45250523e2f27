package io.pointsman.bench.proxies;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.stream.Collectors;

/**
 * What the load generator saw.
 *
 * @param problem what went wrong, empty if nothing did
 * @param requestBytes of the bodies of requests that were answered, without heads
 * @param responseBytes of the bodies of answers, without heads and the framing of chunks
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

  /** Megabytes of bodies in both directions. */
  double bodyMb() {
    return (requestBytes + responseBytes) / 1e6;
  }

  /** CPU seconds that the generator itself used. */
  double cpuSeconds() {
    return json.path("cpu_seconds").asDouble();
  }

  /** A time of the generator in milliseconds, such as {@code latency_us}, {@code p99}. */
  double millis(String histogram, String which) {
    return json.path(histogram).path(which).asDouble() / 1000;
  }
}
