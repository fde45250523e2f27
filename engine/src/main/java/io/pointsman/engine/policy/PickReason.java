package io.pointsman.engine.policy;

/** Why a worker was chosen. A closed set: it is a metric label and a header value. */
public enum PickReason {
  /** By chance. */
  RANDOM,
  /** It was its turn. */
  TURN,
  /** It had the fewest requests in flight, of all or of those compared. */
  LEAST_LOAD,
  /** Its place for the request's key. */
  HASH,
  /** Its place for the request's key was full or out; the next one. */
  HASH_SPILL,
  /** The session is bound to it. */
  STICKY_HIT,
  /** The session was bound to it just now. */
  STICKY_BIND,
  /** The session was moved to it, because the worker that it was bound to had too much load. */
  STICKY_MOVE,
  /** The session's worker cannot serve this request; served elsewhere once, the session stays. */
  STICKY_BYPASS,
  /** The session could not be kept: as many as may be are in use. */
  STICKY_FULL,
  /** It holds the longest known prefix of the prompt. */
  PREFIX_HIT,
  /** No worker holds enough of the prompt; it had the fewest requests in flight. */
  PREFIX_MISS,
  /** It had the least predicted cost: time to first token and what the work does to others. */
  LEAST_COST,
  /** Loads were too unequal to follow the prefix; it had the fewest requests in flight. */
  LOAD_IMBALANCE,
  /** The request can be served there only. */
  PINNED,
  /** The policy failed; it had the fewest requests in flight. */
  FALLBACK
}
