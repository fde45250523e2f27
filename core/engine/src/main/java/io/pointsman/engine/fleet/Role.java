package io.pointsman.engine.fleet;

/** The part of a request that a worker serves. */
public enum Role {
  /** Serves whole requests. */
  REGULAR,
  /** Computes the prompt's KV blocks and transfers them. */
  PREFILL,
  /** Generates tokens from transferred KV blocks. */
  DECODE
}
