package io.pointsman.proxy.telemetry;

/** Reason for another attempt. A closed set, used as a metric label. */
public enum RetryReason {
  /** The connection to the worker failed. */
  CONNECT,
  /** The connection broke before the head of an answer. */
  RESET,
  /**
   * As {@link #RESET}, more than a second after the request was sent. The worker may have started
   * the request.
   */
  LATE_RESET,
  /** The worker answered no probes any more, and no byte of an answer had arrived. */
  LOST,
  /** The worker's answer was not valid HTTP. */
  PROTOCOL,
  /** The head of the answer did not arrive in time. */
  TIMEOUT,
  /** The answer has a status that means a failure of the worker: 408, 500, 502, 503 or 504. */
  STATUS,
  /** The engine shut down and aborted the request before its answer was complete. */
  ABORTED,
  /**
   * The worker is busy: status 429 or 529, or 503 with a sign of a full queue; or it shuts down.
   */
  BUSY,
  /** The worker does not have the stored response, or does not serve the model any more. */
  NOT_THERE,
  /** A pooled connection was closed. The request is sent again to the same worker. */
  STALE
}
