package io.pointsman.sim.failure;

import java.util.Locale;

/**
 * One way for an engine to misbehave. Times are milliseconds of wall time unless they say
 * otherwise.
 */
public sealed interface Fault {
  /** The name used in JSON and on the command line, such as {@code reset_after_bytes}. */
  default String kind() {
    return getClass().getSimpleName().replaceAll("(?<!^)([A-Z])", "_$1").toLowerCase(Locale.ROOT);
  }

  /**
   * The listener is closed and idle connections with it; requests in flight go on.
   *
   * @param forMillis after which it opens again, at least 1
   */
  record Refuse(long forMillis) implements Fault {}

  /**
   * The connection breaks after part of the response.
   *
   * @param bytes of the response, head included, that are sent first; 0: none
   * @param orderly whether it ends with FIN, as a truncated stream does, or with RST
   */
  record ResetAfterBytes(long bytes, boolean orderly) implements Fault {}

  /**
   * Nothing is answered, not even headers.
   *
   * @param forMillis after which the request is served after all; 0: never
   */
  record Hang(long forMillis) implements Fault {}

  /**
   * The request reaches the scheduler late; a stream has its headers by then.
   *
   * @param millis of engine time
   */
  record SlowFirstToken(long millis) implements Fault {}

  /**
   * An error is answered at once.
   *
   * @param code HTTP status, 400 to 599
   * @param retryAfterSeconds value of {@code Retry-After}; 0: no such header
   */
  record Status(int code, int retryAfterSeconds) implements Fault {}

  /** The response is chunked and its first chunk is followed by bytes that are no chunk. */
  record MalformedChunk() implements Fault {}

  /**
   * Health endpoints answer 200 and 503 in turns.
   *
   * @param upMillis of each healthy period, which comes first; 0: never healthy
   * @param downMillis of each unhealthy period, at least 1
   */
  record FlappingHealth(long upMillis, long downMillis) implements Fault {}
}
