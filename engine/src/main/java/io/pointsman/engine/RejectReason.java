package io.pointsman.engine;

/** Why no worker was chosen. A closed set: it is a metric label and decides the client's status. */
public enum RejectReason {
  /**
   * None of the workers that have said which models they serve serves this one, and no other is
   * expected to say so.
   */
  UNKNOWN_MODEL,
  /** None is known to serve this model, but some have not been asked for theirs yet. */
  MODELS_PENDING,
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
  ALL_TRIED,
  /**
   * Two workers cannot serve this request, and for its model there are only prefill and decode
   * workers, none of which may serve it whole.
   */
  UNSPLITTABLE
}
