package io.pointsman.proxy.telemetry;

import org.jspecify.annotations.Nullable;

/**
 * Follows a request to a worker whose answer the router reads itself, such as a prefill. Ends once,
 * maybe after the client's request. Called on an event loop: must not block or throw.
 */
public interface SideTrace {
  /** What the request is for. A closed set: an attribute of spans. */
  enum Purpose {
    /** To have a prompt computed. */
    PREFILL,
    /** To have blocks freed that nobody waits for any more. */
    RELEASE
  }

  /** What the request carries in place of the client's own. */
  TraceContext context();

  /**
   * It has been answered, or has failed.
   *
   * @param status of the answer; 0 for none
   * @param failure why there is no whole answer; null if there is one
   */
  void ended(int status, @Nullable RetryReason failure);

  /** It was given up: nobody needs its answer. */
  void aborted();
}
