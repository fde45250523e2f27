package io.pointsman.engine.policy;

/**
 * Why an engine had to compute prompt tokens that a better known, larger or less busy fleet would
 * have found in a cache. A closed set: it is a metric label. What each means to the token stands in
 * docs/observing-decisions.md.
 */
public enum LostHit {
  /** Nobody was sent them, as far as is remembered. */
  NEVER_SEEN,
  /** A worker had them and needed the room. */
  EVICTED,
  /** Whoever had them has left, started anew, or may not be chosen. */
  WORKER_GONE,
  /** Another worker has them; it would have taken longer, or is at its limit. */
  LOAD,
  /** They are known by another model, adapter or salt only, which shares no cache. */
  OTHER_SALT,
  /** Another worker has them; the chosen one has joined lately and takes its part of the work. */
  NEW_WORKER,
  /**
   * The chosen worker was sent them, had room for all that it was sent, and did not find them: its
   * template or its tokenisation makes other tokens of the prompt than the router expects, or it
   * keeps no cache.
   */
  TOKENS_DIFFER
}
