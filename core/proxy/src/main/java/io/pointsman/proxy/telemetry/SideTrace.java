package io.pointsman.proxy.telemetry;

import org.jspecify.annotations.Nullable;

/**
 * Trace of a request to a worker with an answer that the router reads itself, for example a
 * prefill. It ends once, possibly after the client's request. Called on an event loop; must not
 * block or throw.
 */
public interface SideTrace {
  /** Purpose of the request. A closed set, used as an attribute of spans. */
  enum Purpose {
    /** Computes a prompt. */
    PREFILL,
    /** Frees blocks that no request waits for. */
    RELEASE
  }

  /** Trace headers for the request, in place of the client's. */
  TraceContext context();

  /**
   * Reports the end of the request.
   *
   * @param status status of the answer; 0 for none
   * @param failure reason why there is no complete answer; null if there is one
   */
  void ended(int status, @Nullable RetryReason failure);

  /** Reports that the request was cancelled because its answer is not needed. */
  void aborted();
}
