package io.pointsman.proxy.telemetry;

/** Why an attempt was given up in favour of another. A closed set: it is a metric label. */
public enum RetryReason {
  /** No connection to the worker. */
  CONNECT,
  /** The connection broke before the head of an answer. */
  RESET,
  /** The same, more than a second after the request was sent: the worker may have begun with it. */
  LATE_RESET,
  /** What came back was not HTTP. */
  PROTOCOL,
  /** No head of an answer in time. */
  TIMEOUT,
  /** An answer with a status that stands for a fault of the worker: 408, 500, 502, 503, 504. */
  STATUS,
  /** The worker said that it is busy: 429, or 503 with a sign that it is its queue. */
  BUSY,
  /** The worker does not keep the stored response that the request is about. */
  NOT_THERE,
  /** A pooled connection turned out to be closed; sent again to the same worker. */
  STALE
}
