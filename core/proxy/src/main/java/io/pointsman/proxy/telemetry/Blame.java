package io.pointsman.proxy.telemetry;

/** The side that caused a request to fail. A closed set, used as a metric label. */
public enum Blame {
  /** No side: the request was served. */
  NONE,
  /** The client: an invalid request, or it left. */
  CLIENT,
  /** The worker: an error, a broken connection, or a timeout. */
  UPSTREAM,
  /** The router: no worker, a full queue, or draining. */
  ROUTER
}
