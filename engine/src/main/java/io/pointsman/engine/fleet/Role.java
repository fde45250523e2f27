package io.pointsman.engine.fleet;

/** What part of a request a worker can serve. */
public enum Role {
  /** Serves whole requests. */
  REGULAR,
  /** Computes the prompt's KV blocks and hands them over. */
  PREFILL,
  /** Continues from handed-over KV blocks. */
  DECODE
}
