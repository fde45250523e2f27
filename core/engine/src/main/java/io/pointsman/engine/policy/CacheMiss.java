package io.pointsman.engine.policy;

/**
 * The reason why an engine computed prompt tokens that a cache could have provided. A closed set:
 * it is a metric label. docs/observing-decisions.md defines each reason exactly.
 */
public enum CacheMiss {
  /** No worker received them, as far as is remembered. */
  NEVER_SEEN,
  /** A worker had them and evicted them, or lost them for a reason that is not remembered. */
  EVICTED,
  /** Their holder has left, restarted, or is not eligible. */
  WORKER_GONE,
  /** Another worker has them, but it would have taken longer or is at its limit. */
  LOAD,
  /** They are known only for another model, adapter or salt, which has a separate cache. */
  OTHER_SALT,
  /** Another worker has them; the chosen one joined recently and takes its share of the work. */
  NEW_WORKER,
  /**
   * The chosen worker received them and had room for them, but did not find them. Its chat template
   * or tokeniser differs from the router's, or its prefix cache is disabled.
   */
  TOKENS_DIFFER
}
