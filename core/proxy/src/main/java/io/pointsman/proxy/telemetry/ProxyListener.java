package io.pointsman.proxy.telemetry;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.quota.ClientLimit;
import io.pointsman.request.Endpoint;
import org.jspecify.annotations.Nullable;

/**
 * Receiver of the data plane's events for requests to workers. Called on event loops, by several
 * threads; must not block, throw or allocate.
 */
public interface ProxyListener {
  /** Ignores all events. */
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
        public void awaitsWorker(@Nullable String model, boolean begins) {}

        @Override
        public void ended(RequestReport report) {}
      };

  /** Reports that the head of a request was read. Exactly one {@link #ended} follows. */
  void started(Endpoint endpoint);

  /**
   * Reports that a worker was chosen and gets the request, or a part of its work.
   *
   * @param session session of the request; null if it has none
   * @param nanos time since the request's head was read, in nanoseconds
   */
  default void chosen(
      RequestReport report, @Nullable AffinityKey session, Worker worker, long nanos) {}

  /**
   * Reports that a prefill worker has computed the prompt. The request then goes to a decode
   * worker.
   *
   * @param nanos duration of the prefill in nanoseconds
   */
  default void prefilled(RequestReport report, long nanos) {}

  /**
   * Reports that the client ends its session with this request, which has ended.
   *
   * @param session id of the session
   */
  default void sessionEnded(String session) {}

  /**
   * Reports that an attempt failed and another follows. After a stale connection the request is
   * sent again to the same worker.
   */
  void retried(Endpoint endpoint, RetryReason reason);

  /**
   * Reports the end of a wait in the admission queue.
   *
   * @param nanos time in the queue in nanoseconds
   * @param admitted false if the request timed out or its client left
   */
  void waited(long nanos, boolean admitted);

  /**
   * Reports the end of a deferral because all workers were full.
   *
   * @param nanos length of the deferral in nanoseconds
   * @param decided false if the client left or the time expired before a decision
   */
  void heldBack(long nanos, boolean decided);

  /**
   * Reports that a request begins or ends to wait because no worker is available. A request may
   * wait more than once.
   *
   * @param model model of the request; null if it names none
   */
  void awaitsWorker(@Nullable String model, boolean begins);

  /** Reports that a limit of its client refuses a request. */
  default void limited(ClientIdentity client, ClientLimit limit) {}

  /** Reports the end of the request, on every path. {@code report} must not be kept. */
  void ended(RequestReport report);

  /** True if reports need the token counts of every answer, which costs time. */
  default boolean readsUsage() {
    return false;
  }

  /** True if {@link #answered} is called. */
  default boolean receivesOwnAnswers() {
    return false;
  }

  /**
   * Reports a request that the router answered itself, before any decision about workers: at one of
   * its own paths, or a refusal. Called only if {@link #receivesOwnAnswers}. {@code report} must
   * not be kept.
   */
  default void answered(RequestReport report) {}
}
