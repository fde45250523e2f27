package io.pointsman.engine;

/** Action for a request if no worker is known to serve its model. */
public enum UnknownModel {
  /** Reject the request. */
  REJECT,
  /** Place the request on any worker; the engine then answers. */
  ANY_WORKER,
  /**
   * Place {@code base:adapter} on the workers that serve {@code base}, preferably on those known to
   * have the adapter. Reject the request if there are none.
   */
  BASE_MODEL
}
