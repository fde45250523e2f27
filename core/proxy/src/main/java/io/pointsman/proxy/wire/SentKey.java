package io.pointsman.proxy.wire;

/** The key that a worker gets with a request. */
public enum SentKey {
  /** The client's own key. */
  CLIENT,
  /** A key of the router, which all clients share. */
  ROUTER,
  NONE
}
