package io.pointsman.engine;

/** What to do with a request for a model that no worker is known to serve. */
public enum UnknownModel {
  /** Refuse it. */
  REJECT,
  /** Place it on any worker and let the engine answer. */
  ANY_WORKER
}
