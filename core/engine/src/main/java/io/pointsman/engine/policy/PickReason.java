package io.pointsman.engine.policy;

/** The reason for choosing a worker. A closed set: it is a metric label and a header value. */
public enum PickReason {
  /** Random choice. */
  RANDOM,
  /** Round-robin order. */
  TURN,
  /** Fewest requests in flight, among all or among those compared. */
  LEAST_LOAD,
  /** First worker for the request's hash key. */
  HASH,
  /** A later worker for the request's hash key; those before it were full or not eligible. */
  HASH_SPILL,
  /** The session is bound to the worker. */
  STICKY_HIT,
  /** The session has just been bound to the worker. */
  STICKY_BIND,
  /** The session was moved to the worker, because its previous worker had too much load. */
  STICKY_MOVE,
  /**
   * The session's worker cannot serve this request. Another one serves it once, and the binding
   * stays.
   */
  STICKY_BYPASS,
  /** The session could not be stored: the maximum number is in use. */
  STICKY_FULL,
  /** The worker holds the longest known prefix of the prompt. */
  PREFIX_HIT,
  /** No worker holds enough of the prompt; fewest requests in flight. */
  PREFIX_MISS,
  /** Lowest predicted cost: time to first token plus the effect on other requests. */
  LEAST_COST,
  /** Loads were too unequal to follow the prefix; fewest requests in flight. */
  LOAD_IMBALANCE,
  /** Only this worker can serve the request. */
  PINNED,
  /** The policy failed; fewest requests in flight. */
  FALLBACK
}
