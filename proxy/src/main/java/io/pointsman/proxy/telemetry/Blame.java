package io.pointsman.proxy.telemetry;

/** Whose fault it is that a request did not end well. A closed set: it is a metric label. */
public enum Blame {
  /** Nobody's: the request was served. */
  NONE,
  /** The client's: a wrong request, or it left. */
  CLIENT,
  /** The worker's: an error, a broken connection, no answer in time. */
  UPSTREAM,
  /** The router's: no worker, a full queue, draining. */
  ROUTER
}
