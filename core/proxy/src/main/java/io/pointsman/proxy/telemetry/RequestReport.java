package io.pointsman.proxy.telemetry;

import io.pointsman.engine.fleet.Usage;
import io.pointsman.engine.fleet.Worker;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.request.Endpoint;
import org.jspecify.annotations.Nullable;

/**
 * Report about a proxied request at its end. Valid only during the call that passes it. Times are
 * in nanoseconds since the request's head was read; {@link #NEVER} if the event did not happen.
 */
public interface RequestReport {
  /** Time of an event that did not happen. */
  long NEVER = -1;

  Endpoint endpoint();

  String method();

  /** Path with query string, unchanged. */
  String uri();

  /** Value of the answer's header {@code x-request-id}. */
  String requestId();

  /** Model of the request; null if it names none. The client chooses it, so it is not a label. */
  @Nullable String model();

  /** Status that the client received; 499 if it left before. */
  int status();

  Blame blame();

  /** Worker of the last attempt; null if there was none. */
  @Nullable Worker worker();

  /** Number of attempts. A repetition after a stale connection does not count. */
  int attempts();

  /** True if the answer was an event stream. */
  boolean streamed();

  /** True if the client left before the end. */
  boolean clientLeft();

  /** Time to the head of the worker's answer. */
  long nanosToHead();

  /**
   * Time to first token: until the first byte of the body was written to the client's socket.
   * Events that engines send before they compute do not count.
   */
  long nanosToFirstByte();

  /** Time to the end. */
  long nanosToEnd();

  /** Size of the request's body in bytes. */
  long bytesIn();

  /** Bytes of the answer written to the client's socket, including heads and framing. */
  long bytesOut();

  /** The client that sent the request. */
  default ClientIdentity identity() {
    return ClientIdentity.UNKNOWN;
  }

  /** Address of the client without its port; {@code unknown} if it has none. */
  default String client() {
    return "unknown";
  }

  /** True if the request came to the admin listener. */
  default boolean admin() {
    return false;
  }

  /** Code of the router's own error, in place of an answer or in it; null if there is none. */
  default @Nullable String reason() {
    return null;
  }

  /**
   * Token counts of the worker; unknown unless {@link ProxyListener#readsUsage} or a learner needs
   * them.
   */
  default Usage usage() {
    return Usage.UNKNOWN;
  }

  /** Number of relayed reads from the worker; about one per token in a stream. */
  long chunksOut();
}
