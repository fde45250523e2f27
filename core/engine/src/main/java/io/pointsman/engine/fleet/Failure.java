package io.pointsman.engine.fleet;

/** The kind of failure of an attempt, if the worker caused it. */
public enum Failure {
  /** No connection: refused, unreachable or not accepted in time. The engine has probably ended. */
  CONNECT,
  /** An error response, or a connection that broke before or during the response. */
  ERROR,
  /** No response, or no further bytes of it, in time. */
  TIMEOUT
}
