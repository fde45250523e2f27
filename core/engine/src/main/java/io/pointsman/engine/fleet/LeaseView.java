package io.pointsman.engine.fleet;

/**
 * A lease as learners, listeners and logs see it: the properties of its request, and the token
 * counts reported so far. Only the holder has the {@link Lease}, and so can report or settle.
 */
public sealed interface LeaseView permits Lease {
  Worker worker();

  /** Returns true if the response shows no progress before its end. */
  boolean whole();

  /** Estimated number of prompt tokens. */
  int promptTokens();

  /** Number of prompt tokens that were expected in the worker's cache at placement. */
  int cachedTokens();

  /** Time of the placement by the engine's ticker. */
  long placedAt();

  /** Token counts that the worker has reported so far. */
  Usage usage();

  boolean settled();
}
