package io.pointsman.testkit.client;

/** What a client can do to a router by the way it sends, reads and leaves, by name. */
public enum ClientFault {
  /** Sends a head a byte at a time, without end. */
  SLOW_HEAD,
  /** Sends the head and then nothing of the body. */
  STOPS_WITHIN_BODY,
  /** Sends a body a byte at a time, without end. */
  SLOW_BODY,
  /** The same to a path that the router answers itself. */
  SLOW_BODY_TO_THE_ROUTER,
  /** Asks for a large answer and reads nothing of it. */
  NEVER_READS,
  /** Sends many requests at once and reads their answers later. */
  PIPELINES,
  /** Sends requests without end and never reads an answer. */
  PIPELINES_AND_NEVER_READS,
  /** Sends without end behind a request that is not answered. */
  SENDS_AHEAD,
  /** Opens very many connections and says nothing. */
  IDLES_IN_THOUSANDS,
  /** Leaves, in each place where the bytes of a request or of its answer can be cut. */
  LEAVES
}
