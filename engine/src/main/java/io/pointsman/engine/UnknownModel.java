package io.pointsman.engine;

/** What to do with a request for a model that no worker is known to serve. */
public enum UnknownModel {
  /** Refuse it. */
  REJECT,
  /** Place it on any worker and let the engine answer. */
  ANY_WORKER,
  /**
   * Place {@code base:adapter} on the workers that serve {@code base}, on those first that are
   * known to have the adapter; refuse it if there are none.
   */
  BASE_MODEL
}
