package io.pointsman.testkit;

/** What can happen to a request that a prefill and a decode engine serve, by name. */
public enum SplitFault {
  /** Prefill answers 500. */
  PREFILL_FAILS,
  /** The connection to prefill breaks when it has computed the prompt, within its answer's head. */
  PREFILL_BREAKS_OFF,
  /** Prefill never answers. */
  PREFILL_HANGS,
  /** Decode answers 500; prefill has ended by then, unless it waits for decode. */
  DECODE_FAILS,
  /** No decode engine accepts a connection. */
  DECODES_REFUSE,
  /** Decode never answers, not even with headers. */
  DECODE_HANGS,
  /** The client leaves while prefill runs. */
  CLIENT_LEAVES_IN_PREFILL,
  /** The client leaves when prefill has ended and no decode engine has the request. */
  CLIENT_LEAVES_BETWEEN,
  /** The client leaves when decode has begun to answer. */
  CLIENT_LEAVES_IN_STREAM
}
