package io.pointsman.engine;

/** Why no worker was chosen. A closed set: it is a metric label and decides the client's status. */
public enum RejectReason {
  /** Every worker has said which models it serves, and none serves this one. */
  UNKNOWN_MODEL,
  /** No worker is registered for it. */
  NO_WORKERS,
  /**
   * Workers are registered, but all are unhealthy, draining, stalled or left alone by their
   * breakers.
   */
  NONE_AVAILABLE,
  /**
   * Workers are available, but all are at their limit or rest after they said that they are busy.
   */
  ALL_BUSY,
  /** Each worker that could serve it has had an attempt of this request. */
  ALL_TRIED
}
