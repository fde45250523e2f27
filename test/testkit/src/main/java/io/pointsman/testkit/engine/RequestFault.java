package io.pointsman.testkit.engine;

/** Faults of engines that follow requests, their clients or the load, not one engine. */
public enum RequestFault {
  /** One request ends each engine that gets it, before the head of its response. */
  POISON,
  /** As {@link #POISON}, after the head of a stream and before its first token. */
  POISON_IN_STREAM,
  /** One request ends each prefill engine that gets it. */
  POISON_IN_PREFILL,
  /** One request ends each decode engine that gets it. */
  POISON_IN_DECODE,
  /** All engines answer 500 to the requests of some clients, and serve the others. */
  FAILING_CLIENTS,
  /** All engines answer 500 to most requests. */
  FAILING_FLEET,
  /** All engines but one answer 529, or 500 because they shut down. */
  OVERLOADED
}
