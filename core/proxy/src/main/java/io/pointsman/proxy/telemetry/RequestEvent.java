package io.pointsman.proxy.telemetry;

import io.pointsman.engine.fleet.Worker;
import io.pointsman.engine.policy.AffinityKey;
import io.pointsman.proxy.identity.ClientIdentity;
import io.pointsman.proxy.quota.ClientLimit;
import io.pointsman.request.Endpoint;
import org.jspecify.annotations.Nullable;

/**
 * An event of the data plane about clients' requests, in about the order in which they happen.
 * Times are in nanoseconds.
 */
public sealed interface RequestEvent {
  /** The head of a request was read. Exactly one {@link RequestEnded} follows. */
  record RequestStarted(Endpoint endpoint) implements RequestEvent {}

  /** A limit of its client refuses a request. */
  record LimitReached(ClientIdentity client, ClientLimit limit) implements RequestEvent {}

  /**
   * A wait in the admission queue ended.
   *
   * @param nanos time in the queue
   * @param admitted false if the request timed out or its client left
   */
  record QueueWaitEnded(long nanos, boolean admitted) implements RequestEvent {}

  /**
   * A deferral ended. A request is deferred if all workers are full.
   *
   * @param nanos length of the deferral
   * @param decided false if the client left or the time expired before a decision
   */
  record DeferralEnded(long nanos, boolean decided) implements RequestEvent {}

  /**
   * A request begins or ends to wait because no worker is available. It may wait more than once.
   *
   * @param model model of the request; null if it names none
   */
  record WorkerAwaited(@Nullable String model, boolean begins) implements RequestEvent {}

  /**
   * A worker was chosen and gets the request, or a part of its work.
   *
   * @param session session of the request; null if it has none
   * @param nanos time since the request's head was read
   */
  record WorkerChosen(
      ClientRequest request, @Nullable AffinityKey session, Worker worker, long nanos)
      implements RequestEvent {}

  /**
   * A prefill worker has computed the prompt. The request then goes to a decode worker.
   *
   * @param nanos duration of the prefill
   */
  record PromptPrefilled(ClientRequest request, long nanos) implements RequestEvent {}

  /**
   * An attempt failed and another follows. After a stale connection the request is sent again to
   * the same worker.
   */
  record RequestRetried(Endpoint endpoint, RetryReason reason) implements RequestEvent {}

  /**
   * A worker answered that it does not serve a model that it had listed.
   *
   * @param model model of the request
   */
  record ModelMissing(Worker worker, String model) implements RequestEvent {}

  /** A request ended, on any path. */
  record RequestEnded(RequestReport report) implements RequestEvent {}

  /**
   * A client ended its session with a request, which has ended.
   *
   * @param session id of the session
   */
  record SessionEnded(String session) implements RequestEvent {}

  /**
   * The router answered a request itself, before any decision about workers: at one of its own
   * paths, or with a refusal. Reported only if {@link ProxyListener#receivesOwnAnswers}.
   */
  record RouterAnswered(RequestReport report) implements RequestEvent {}
}
