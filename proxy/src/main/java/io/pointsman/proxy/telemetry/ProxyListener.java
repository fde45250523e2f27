package io.pointsman.proxy.telemetry;

import io.pointsman.request.Endpoint;

/**
 * Hears of what the data plane does with requests that are meant for workers. Called on event
 * loops, many at once: must not block, throw, or allocate.
 */
public interface ProxyListener {
  /** Hears nothing. */
  ProxyListener NONE =
      new ProxyListener() {
        @Override
        public void started(Endpoint endpoint) {}

        @Override
        public void retried(Endpoint endpoint, RetryReason reason) {}

        @Override
        public void waited(long nanos, boolean admitted) {}

        @Override
        public void heldBack(long nanos, boolean decided) {}

        @Override
        public void ended(RequestReport report) {}
      };

  /** The head of a request has been read. Followed by exactly one {@link #ended}. */
  void started(Endpoint endpoint);

  /** An attempt was given up and another one follows; by a stale connection, it is sent again. */
  void retried(Endpoint endpoint, RetryReason reason);

  /**
   * A request has waited in the admission queue.
   *
   * @param admitted false if it timed out or its client left
   */
  void waited(long nanos, boolean admitted);

  /**
   * A request was held back because every worker was full.
   *
   * @param decided false if its client left, or its time was over, before it was decided on
   */
  void heldBack(long nanos, boolean decided);

  /** The request is over, on whatever path. {@code report} must not be kept. */
  void ended(RequestReport report);
}
