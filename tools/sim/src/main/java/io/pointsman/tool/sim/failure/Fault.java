package io.pointsman.tool.sim.failure;

import java.util.Locale;

/** One fault of an engine. Times are milliseconds of wall time unless noted otherwise. */
public sealed interface Fault {
  /** The name used in JSON and on the command line, for example {@code reset_after_bytes}. */
  default String kind() {
    return getClass().getSimpleName().replaceAll("(?<!^)([A-Z])", "_$1").toLowerCase(Locale.ROOT);
  }

  /**
   * The listener and idle connections are closed; requests in flight continue.
   *
   * @param forMillis time until it opens again, at least 1
   */
  record Refuse(long forMillis) implements Fault {}

  /**
   * The connection breaks after a part of the response.
   *
   * @param bytes of the response, including the head, that are sent first; 0: none
   * @param orderly true: ends with FIN, like a truncated stream; false: ends with RST
   */
  record ResetAfterBytes(long bytes, boolean orderly) implements Fault {}

  /**
   * There is no response, not even headers.
   *
   * @param forMillis time until the request is served after all; 0: never
   */
  record Hang(long forMillis) implements Fault {}

  /**
   * The request reaches the scheduler late; a stream's headers are sent before.
   *
   * @param millis of engine time
   */
  record SlowFirstToken(long millis) implements Fault {}

  /**
   * The response is an error, at once.
   *
   * @param code HTTP status, 400 to 599
   * @param retryAfterSeconds value of {@code Retry-After}; 0: no such header
   */
  record Status(int code, int retryAfterSeconds) implements Fault {}

  /**
   * A request with this text in its body ends the engine. It and all requests in progress get 500,
   * then nobody listens.
   *
   * @param text any text, not empty
   */
  record Poison(String text) implements Fault {
    public Poison {
      if (text.isEmpty()) {
        throw new IllegalArgumentException("text: empty (expected: a text)");
      }
    }
  }

  /** The response is chunked, and invalid bytes follow its first chunk. */
  record MalformedChunk() implements Fault {}

  /**
   * Health endpoints alternate between 200 and 503.
   *
   * @param upMillis length of each healthy period, which comes first; 0: never healthy
   * @param downMillis length of each unhealthy period, at least 1
   */
  record FlappingHealth(long upMillis, long downMillis) implements Fault {}
}
