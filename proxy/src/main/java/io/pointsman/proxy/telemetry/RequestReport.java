package io.pointsman.proxy.telemetry;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.request.Endpoint;
import org.jspecify.annotations.Nullable;

/**
 * What there is to say of a proxied request at its end. Valid only during the call that hands it
 * over. Times are in nanoseconds since the request's head was read; {@link #NEVER} where it did not
 * come to that.
 */
public interface RequestReport {
  /** The time of something that did not happen. */
  long NEVER = -1;

  Endpoint endpoint();

  String method();

  /** Path with query string, as it came. */
  String uri();

  /** The value of the {@code x-request-id} header of the answer. */
  String requestId();

  /** The model asked for; null if the request names none. Chosen by the client: not a label. */
  @Nullable String model();

  /** The status that the client got; 499 if it left before there was one. */
  int status();

  Blame blame();

  /** The worker of the last attempt; null if there was none. */
  @Nullable Worker worker();

  /** Attempts made on workers, resending over a stale connection not counted. */
  int attempts();

  /** Whether the answer was a stream of server-sent events. */
  boolean streamed();

  /** Whether the client left before the end. */
  boolean clientLeft();

  /** Time until the head of the answer came from the worker. */
  long nanosToHead();

  /**
   * Time until the first byte of the answer's body was handed to the client's socket, but for what
   * engines send of a stream before they compute: TTFT.
   */
  long nanosToFirstByte();

  /** Time until the end. */
  long nanosToEnd();

  /** Bytes of the request's body. */
  long bytesIn();

  /** Bytes of the answer handed to the client's socket, heads and framing included. */
  long bytesOut();

  /** Reads from the worker that were relayed; for a stream that is about one per token. */
  long chunksOut();
}
