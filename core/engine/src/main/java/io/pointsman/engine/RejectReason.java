package io.pointsman.engine;

/**
 * The reason why no worker was chosen. A closed set: it is a metric label and determines the
 * client's HTTP status.
 */
public enum RejectReason {
  /**
   * The workers that reported their models do not serve this one, and no other worker is expected
   * to report.
   */
  UNKNOWN_MODEL,
  /** No worker is known to serve this model, but some have not reported their models yet. */
  MODELS_PENDING,
  /** No worker is registered for the role. */
  NO_WORKERS,
  /**
   * Workers are registered, but all are unhealthy, draining, stalled or excluded by their circuit
   * breakers.
   */
  NONE_AVAILABLE,
  /**
   * Workers are available, but all are at their limit or rest after they reported that they are
   * busy.
   */
  ALL_BUSY,
  /** Every worker that could serve the request has already been tried for it. */
  ALL_TRIED,
  /**
   * The request cannot be split into prefill and decode. Its model has only prefill and decode
   * workers, and none of them may serve whole requests.
   */
  UNSPLITTABLE
}
