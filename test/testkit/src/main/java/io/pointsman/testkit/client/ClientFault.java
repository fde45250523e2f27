package io.pointsman.testkit.client;

/** Faults of clients in sending, reading and leaving, by name. */
public enum ClientFault {
  /** Sends an endless head, byte by byte. */
  SLOW_HEAD,
  /** Sends the head and no body. */
  STOPS_WITHIN_BODY,
  /** Sends an endless body, byte by byte. */
  SLOW_BODY,
  /** Sends an endless body to a path that the router answers itself. */
  SLOW_BODY_TO_THE_ROUTER,
  /** Requests a large response and reads nothing. */
  NEVER_READS,
  /** Pipelines many requests and reads the responses later. */
  PIPELINES,
  /** Pipelines endless requests and never reads a response. */
  PIPELINES_AND_NEVER_READS,
  /** Sends endless data after a request that is not answered. */
  SENDS_AHEAD,
  /** Opens thousands of connections and sends nothing. */
  IDLES_IN_THOUSANDS,
  /** Leaves at each place in the bytes of a request or its response, see {@link Cut}. */
  LEAVES
}
