package io.pointsman.testkit;

/** Faults of a request that a prefill and a decode engine serve, by name. */
public enum SplitFault {
  /** Prefill answers 500. */
  PREFILL_FAILS,
  /** The connection to prefill breaks within the response head, after the prompt is computed. */
  PREFILL_BREAKS_OFF,
  /** Prefill never answers. */
  PREFILL_HANGS,
  /** Decode answers 500. Prefill has ended by then, unless it waits for decode. */
  DECODE_FAILS,
  /** No decode engine accepts a connection. */
  DECODES_REFUSE,
  /** Decode never answers and sends no head. */
  DECODE_HANGS,
  /** The client leaves while prefill runs. */
  CLIENT_LEAVES_IN_PREFILL,
  /** The client leaves after prefill, before a decode engine has the request. */
  CLIENT_LEAVES_BETWEEN,
  /** The client leaves after decode has begun to answer. */
  CLIENT_LEAVES_IN_STREAM
}
