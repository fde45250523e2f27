package io.pointsman.engine.fleet;

/** How an attempt on a worker failed, as far as the worker is to blame. */
public enum Failure {
  /**
   * No connection: refused, unreachable or not accepted in time. The engine is most likely gone.
   */
  CONNECT,
  /** An answer that is an error, or a connection that broke before or during the answer. */
  ERROR,
  /** No answer, or no further bytes of it, in time. */
  TIMEOUT
}
